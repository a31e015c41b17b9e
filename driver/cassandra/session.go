package cassandra

import (
	"context"
	"errors"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"assay/history"
	"assay/store"
)

// writers bounds the rows of a call in flight.
const writers = 32

// session is a store.Session. All sessions share the database's connections.
type session struct {
	*database
	plans []*plan
}

// Session implements store.Database. It makes no round trip, and so does not look for the mark.
func (d *database) Session(_ context.Context, statements []store.Statement) (store.Session, error) {
	if err := d.schema.Check(statements); err != nil {
		return nil, err
	}
	n := &session{database: d}
	for i := range statements {
		p, err := d.compile(&statements[i])
		if err != nil {
			return nil, err
		}
		n.plans = append(n.plans, p)
	}
	return n, nil
}

func (n *session) Close() {}

// Waiting implements store.Session. No statement waits for another.
func (n *session) Waiting(context.Context) (waiting, known bool, err error) { return false, false, nil }

// Run implements store.Session. An UPDATE makes a missing row (Cassandra documentation, "UPDATE"),
// so it always counts as one changed row.
func (n *session) Run(ctx context.Context, call store.Call) store.Reply {
	p := n.plans[call.Statement]
	if p.query != nil {
		return n.ask(ctx, p, &call)
	}
	var r store.Reply
	rows := max(p.Rows, 1)
	if p.inserts != nil {
		r = n.insert(ctx, p.inserts, rows, func(i int) []any {
			values := make([]any, len(p.Columns))
			for c := range values {
				values[c] = valueOf(p.Value(i, c), call.Parameters)
			}
			return values
		})
	} else {
		r = n.writeOne(ctx, p.write, resolve(p.args, call.Parameters))
	}
	if r.Outcome == history.Committed {
		r.Affected = int64(rows)
	}
	return r
}

// ask runs a query. gocql asks for its pages one after the other.
func (n *session) ask(ctx context.Context, p *plan, call *store.Call) store.Reply {
	found, given := newRow(len(p.Columns)+1), 0
	if p.Verb == store.Read {
		found = newRow(len(p.Columns))
	}
	var stopped error
	err := p.query.each(call.Parameters, func(values []any) error {
		iter := n.database.session.Query(p.query.text, values...).Consistency(n.reads).IterContext(ctx)
		for stopped == nil && iter.Scan(found.scan...) {
			given++
			stopped = call.Row(found)
		}
		return errors.Join(stopped, iter.Close())
	})
	if stopped == nil && err == nil {
		stopped = call.Wanted(given)
	}
	switch {
	case stopped != nil:
		return store.Reply{Outcome: history.Failed, Class: store.ClassOther, Err: failed(p.Name, stopped)}
	case err != nil:
		return unread(failed(p.Name, err))
	}
	return store.Reply{Outcome: history.Committed}
}

// Insert implements store.Session by single inserts, many in flight, since the documentation
// advises against batches over partitions. They are no transaction.
func (n *session) Insert(ctx context.Context, rows store.Rows) store.Reply {
	return n.insertRows(ctx, rows)
}

// Load implements store.Session by Insert. A batch is one coordinator's work and no faster over
// several partitions (Cassandra documentation, "BATCH").
func (n *session) Load(ctx context.Context, rows store.Rows) store.Reply { return n.Insert(ctx, rows) }

// Load implements store.Database; see session.Load.
func (d *database) Load(ctx context.Context, rows store.Rows) error {
	if r := d.insertRows(ctx, rows); r.Outcome != history.Committed {
		return failed("load "+rows.Table, r.Err)
	}
	return nil
}

func (d *database) insertRows(ctx context.Context, rows store.Rows) store.Reply {
	var row []store.Value
	return d.insert(ctx, d.insertions(rows.Table, rows.Columns), rows.Count, func(i int) []any {
		row = rows.Row(i, row[:0])
		values := make([]any, len(row))
		for c, v := range row {
			values[c] = bound(v)
		}
		return values
	})
}

func (d *database) insert(ctx context.Context, into []insertion, rows int, row func(i int) []any) store.Reply {
	if rows == 1 && len(into) == 1 {
		return d.writeOne(ctx, into[0].text, into[0].values(row(0)))
	}
	var (
		all   errgroup.Group
		mu    sync.Mutex
		reply store.Reply
		done  int
		none  = true // none of them can have an effect
	)
	all.SetLimit(writers)
	for i := range rows {
		values := row(i)
		for t := range into {
			all.Go(func() error {
				r := d.writeOne(ctx, into[t].text, into[t].values(values))
				mu.Lock()
				defer mu.Unlock()
				none = none && r.Outcome == history.Failed
				if r.Outcome == history.Committed {
					done++
				} else if reply.Err == nil || r.Outcome == history.Unknown {
					reply = store.Reply{Class: r.Class, Err: failed("insert", r.Err), Broken: r.Broken}
				}
				return nil
			})
		}
	}
	_ = all.Wait() // none returns an error
	switch {
	case done == rows*len(into):
		return store.Reply{Outcome: history.Committed}
	case none:
		reply.Outcome = history.Failed
	}
	return reply
}

func (d *database) writeOne(ctx context.Context, statement string, values []any) store.Reply {
	ctx, sent := watching(ctx)
	err := d.session.Query(statement, values...).Consistency(d.consistency).ExecContext(ctx)
	reply := written(err, sent.begun.Load())
	if reply.Outcome == history.Unknown {
		d.unsure.Store(time.Now().UnixNano())
	}
	return reply
}

func noTransaction() store.Reply {
	return store.Reply{Outcome: history.Failed, Class: store.ClassOther,
		Err: errors.New("cassandra: " + Lacks()[store.Transactions])}
}

// Batch implements store.Session; see Lacks.
func (n *session) Batch(context.Context, *store.Batch) store.Reply { return noTransaction() }

// Transaction implements store.Session; see Lacks.
func (n *session) Transaction(context.Context, bool, func(context.Context, store.Transaction) error) store.Reply {
	return noTransaction()
}
