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
	writing, reading *connection
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
func (n *availabilitySession) connect(ctx context.Context, to **connection, config *pgx.ConnConfig) (refused workload.Reply, ok bool) {
	if *to != nil {
		return workload.Reply{}, true
	}
	l, err := n.store.dialTo(ctx, config, availabilityTexts()...)
	if err != nil {
		return workload.Reply{Outcome: history.Failed, Class: workload.ClassConnect, Err: err, Broken: true}, false
	}
	*to = l
	return workload.Reply{}, true
}

// Insert implements availability.Session.
func (n *availabilitySession) Insert(ctx context.Context, row availability.Row) availability.Reply {
	if refused, ok := n.connect(ctx, &n.writing, n.store.writers); !ok {
		return availability.Reply{Reply: refused}
	}
	p := n.writing.conn.StartPipeline(ctx)
	n.writing.send(p, insertEntry, row.Key, row.Value)
	return availability.Reply{Reply: n.writing.insertOne(p)}
}

// Get implements availability.Session.
func (n *availabilitySession) Get(ctx context.Context, key int64) availability.Reply {
	to, config := &n.writing, n.store.writers
	if n.store.read != workload.ReadPrimary {
		to, config = &n.reading, n.store.readers
	}
	if refused, ok := n.connect(ctx, to, config); !ok {
		return availability.Reply{Reply: refused}
	}
	l := *to
	var r availability.Reply
	p := l.conn.StartPipeline(ctx)
	l.send(p, getEntry, key)
	ended := l.query("get", p, func(columns [][]byte) error {
		r.Found, r.Row.Key = true, key
		return bigints(columns, &r.Row.Value)
	})
	if ended.Outcome != history.Committed {
		return availability.Reply{Reply: ended}
	}
	r.Reply = ended
	return r
}

// Close implements availability.Session.
func (n *availabilitySession) Close() {
	for _, l := range []*connection{n.writing, n.reading} {
		if l != nil {
			l.Close()
		}
	}
}
