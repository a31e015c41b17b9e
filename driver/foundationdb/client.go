//go:build foundationdb

package foundationdb

import (
	"context"
	"errors"
	"time"

	"assay/driver/ordered"
	"assay/driver/rows"
	"assay/history"
	"assay/store"
)

// client is a store.Session. All share one connection.
type client struct {
	*database
	plans []*ordered.Plan
}

// Session implements store.Database and requires a schema of ours.
func (d *database) Session(ctx context.Context, statements []store.Statement) (store.Session, error) {
	if err := d.Of.Check(statements); err != nil {
		return nil, err
	}
	if err := d.MustBeOurs(ctx, "open a session"); err != nil {
		return nil, err
	}
	n := &client{database: d}
	for i := range statements {
		p, err := compile(d.Forms, &statements[i], true)
		if err != nil {
			return nil, err
		}
		n.plans = append(n.plans, p)
	}
	return n, nil
}

func (n *client) Close() {}

// Waiting implements store.Session. Transactions conflict instead of waiting.
func (n *client) Waiting(context.Context) (waiting, known bool, err error) { return false, false, nil }

// perform does work, guarded by the mark, and the commit. The client library commits reading
// transactions by itself, without a request.
func (n *client) perform(ctx context.Context, doing string, work func(*transaction) error) store.Reply {
	t, err := n.operate(ctx)
	if err != nil {
		return notBegun(ctx, err)
	}
	defer t.end()
	if err = t.guard(n.Layout.Mark()); err == nil {
		err = work(t)
	}
	if err == nil {
		doing += ", commit"
		err = t.commit()
	}
	if err != nil {
		return t.refusal(doing, err)
	}
	return committed()
}

// refusal is the reply to a transaction with this error. Reads show durable commits only
// (FoundationDB 7.3, "Developer Guide", "Transactions with unknown results"; "Features").
func (t *transaction) refusal(doing string, err error) store.Reply {
	var v *rows.Violation
	switch {
	case errors.As(err, &v) && v.Kind == store.Unique:
		r := refused(store.ClassDuplicate, doing, err)
		r.Violated, r.Confirmed = v.Kind, true
		return r
	case errors.As(err, &v):
		r := refused(store.ClassOther, doing, err)
		r.Violated = v.Kind
		return r
	case errors.Is(err, ordered.ErrLongList):
		return refused(classTooLong, doing, err)
	case errors.Is(err, ordered.ErrManyRows):
		return refused(classTooLarge, doing, err)
	}
	return t.failure(doing, err)
}

func (n *client) Run(ctx context.Context, call store.Call) store.Reply {
	p := n.plans[call.Statement]
	if p.ReadsOnly() {
		return n.ask(ctx, p, &call)
	}
	var changed int64
	r := n.perform(ctx, p.Name, func(t *transaction) (err error) {
		changed, err = n.execution(t.Transaction, t.Transaction).Call(p, &call)
		return err
	})
	if r.Outcome == history.Committed {
		r.Affected = changed
	}
	return r
}

// renewAge is the greatest age at which a transaction begins an answer's next page, which leaves
// the page three of a transaction's five seconds.
const renewAge = 2 * time.Second

// ask answers a reading statement page by page. Pages are of one version while the transaction is
// younger than renewAge. A longer answer of rows goes on in a transaction of a later version,
// before FoundationDB ends the first after five seconds (manual, "Known Limitations", "Long running
// transactions"). That meets no error and passes over none. Answers given after all reading are of
// one version.
func (n *client) ask(ctx context.Context, p *ordered.Plan, call *store.Call) store.Reply {
	given := 0
	var r *ordered.Reading
	for over := false; !over; {
		t, err := n.operate(ctx)
		if err != nil {
			return notBegun(ctx, err)
		}
		x, err := n.viewing(t)
		switch {
		case err != nil:
		case r == nil:
			r, err = x.Reading(p, call.Parameters, func(row store.Row) error { given++; return call.Row(row) })
		default:
			r.Execution = x
		}
		for began := time.Now(); err == nil && !over && (!r.Streams() || time.Since(began) < renewAge); {
			over, err = r.Step()
		}
		if err == nil && over {
			if err = r.Finish(); err == nil {
				err = call.Wanted(given)
			}
		}
		if err != nil {
			reply := t.refusal(p.Name, err)
			t.end()
			return reply
		}
		t.end()
	}
	return committed()
}

// Insert implements store.Session; see ordered.Form.Insert.
func (n *client) Insert(ctx context.Context, of store.Rows) store.Reply {
	f := n.Forms[of.Table]
	return f.Insert(&of, limits(), func(part []rows.Row) store.Reply {
		return n.perform(ctx, "insert", func(t *transaction) error { return n.execution(t.Transaction, t.Transaction).Add(f, part) })
	})
}

// Load implements store.Session by Insert.
func (n *client) Load(ctx context.Context, of store.Rows) store.Reply { return n.Insert(ctx, of) }

// Batch implements store.Session. It asks for all rows with known keys in parallel. A refusal was
// read at one version and commits nothing.
func (n *client) Batch(ctx context.Context, b *store.Batch) store.Reply {
	r := n.perform(ctx, "batch", func(t *transaction) error {
		return n.execution(t.Transaction, t.Transaction).Calls(n.plans, b.Calls)
	})
	return b.Inquire(r, func(c store.Call) store.Reply { return n.Run(ctx, c) })
}

func (n *client) Transaction(ctx context.Context, _ bool, work func(context.Context, store.Transaction) error) store.Reply {
	return n.perform(ctx, "transaction", func(t *transaction) error {
		return work(ctx, underWay{n, n.execution(t.Transaction, t.Transaction)})
	})
}

type underWay struct {
	client    *client
	execution *ordered.Execution
}

func (u underWay) Do(_ context.Context, statement int, row func(store.Row) error, parameters ...store.Value) (int64, error) {
	return u.execution.Call(u.client.plans[statement], &store.Call{Statement: statement, Parameters: parameters, Row: row})
}
