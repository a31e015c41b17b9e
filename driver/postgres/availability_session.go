package postgres

import (
	"context"

	"github.com/jackc/pgx/v5"

	"assay/history"
	"assay/workload"
	"assay/workload/availability"
)

// The statements of the workload. Each is a transaction of its own.
const (
	insertEntry = ownStatements + iota
	getEntry
)

func availabilityTexts() []text {
	return []text{
		insertEntry - ownStatements: {"assay_insert", `INSERT INTO ` + availabilitySchema + `.entry (key, value) VALUES ($1, $2)`},
		getEntry - ownStatements:    {"assay_get", `SELECT value FROM ` + availabilitySchema + `.entry WHERE key = $1`},
	}
}

// availabilitySession implements availability.Session on one connection to
// insert and, unless the primary answers reads as well, one to read.
type availabilitySession struct {
	store *availabilityStore
	// writing and reading are nil until they are needed.
	writing, reading *line
}

// Session implements availability.Store. Where another server than the primary
// answers reads, a session connects only when it is used, so that who reads
// does not wait for a primary.
func (s *availabilityStore) Session(ctx context.Context) (availability.Session, error) {
	n := &availabilitySession{store: s}
	if s.read != workload.ReadPrimary {
		return n, nil
	}
	var err error
	if n.writing, err = s.dialTo(ctx, s.writers, availabilityTexts()...); err != nil {
		return nil, err
	}
	return n, nil
}

// connect makes sure that there is a connection; the reply says why there is
// none, and nothing was sent then.
func (n *availabilitySession) connect(ctx context.Context, to **line, config *pgx.ConnConfig) (availability.Reply, bool) {
	if *to != nil {
		return availability.Reply{}, true
	}
	l, err := n.store.dialTo(ctx, config, availabilityTexts()...)
	if err != nil {
		return availability.Reply{Reply: workload.Reply{Outcome: history.Failed, Class: workload.ClassConnect, Err: err, Broken: true}}, false
	}
	*to = l
	return availability.Reply{}, true
}

// Insert implements availability.Session.
//
// The statement is its own transaction, which the server commits at the Sync
// that follows; only what it says after that ends it ("ReadyForQuery"; manual,
// "Frontend/Backend Protocol", "Extended Query"). An error that answers the
// statement itself is proof of no effect, unless the dialect commits by then, and
// one that answers the Sync is judged as that of a COMMIT; see rule.
func (n *availabilitySession) Insert(ctx context.Context, row availability.Row) availability.Reply {
	if refused, ok := n.connect(ctx, &n.writing, n.store.writers); !ok {
		return refused
	}
	l := n.writing
	l.unreplicated = false
	p := l.conn.StartPipeline(ctx)
	l.send(p, insertEntry, row.Key, row.Value)
	_, at, err := l.endAlone(p)
	switch {
	case err != nil:
		return refusedInsert(l, err, at)
	case l.unreplicated:
		return availability.Reply{Reply: workload.Reply{Class: classNotReplicated, Err: errNotReplicated, Broken: true}}
	default:
		return availability.Reply{Reply: workload.Reply{Outcome: history.Committed, Broken: l.conn.IsClosed()}}
	}
}

// refusedInsert says how an insert ended that was not acknowledged.
func refusedInsert(l *line, err error, at stage) availability.Reply {
	ruling := rule(err, at)
	r := availability.Reply{Reply: workload.Reply{Outcome: ruling.outcome, Class: ruling.class, Err: operation("insert", err)}}
	if r.Outcome == history.Failed && hasCode(err, codeUniqueViolation) {
		r.Duplicate, r.Class = true, workload.ClassDuplicate
	}
	r.Broken = r.Outcome != history.Failed || useless(l, r.Class)
	return r
}

// useless reports whether a session is to look for a server anew: its
// connection is gone, or its server takes no writes or no more calls.
func useless(l *line, class string) bool {
	return l.conn.IsClosed() || l.conn.TxStatus() != idle || class == workload.ClassReadOnly || class == workload.ClassShutdown
}

// Get implements availability.Session.
func (n *availabilitySession) Get(ctx context.Context, key int64) availability.Reply {
	to, config := &n.writing, n.store.writers
	if n.store.read != workload.ReadPrimary {
		to, config = &n.reading, n.store.readers
	}
	if refused, ok := n.connect(ctx, to, config); !ok {
		return refused
	}
	l := *to
	r := availability.Reply{Reply: workload.Reply{Outcome: history.Committed}}
	p := l.conn.StartPipeline(ctx)
	l.send(p, getEntry, key)
	err := p.Sync()
	if err == nil {
		_, err = readRows(p, func(columns [][]byte) error {
			r.Found, r.Row.Key = true, key
			return bigints(columns, &r.Row.Value)
		})
	}
	if ended := p.Close(); err == nil {
		err = ended
	}
	if err != nil {
		class := rule(err, working).class
		return availability.Reply{Reply: workload.Reply{Outcome: history.Failed, Class: class, Err: operation("get", err), Broken: useless(l, class)}}
	}
	r.Broken = l.conn.IsClosed()
	return r
}

// Close implements availability.Session.
func (n *availabilitySession) Close() {
	for _, l := range []*line{n.writing, n.reading} {
		if l != nil {
			l.Close()
		}
	}
}
