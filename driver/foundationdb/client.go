//go:build foundationdb

package foundationdb

import (
	"context"
	"fmt"
	"time"

	"assay/driver/ordered"
	"assay/store"
)

// client is a store.Session. All share one connection.
type client struct {
	*ordered.Session
	database *database
}

// Session implements store.Database and requires a schema of ours.
func (d *database) Session(ctx context.Context, statements []store.Statement) (store.Session, error) {
	compiled, err := d.NewSession(statements)
	if err != nil {
		return nil, fmt.Errorf("foundationdb: %w", err)
	}
	if err := d.MustBeOurs(ctx, "open a session"); err != nil {
		return nil, err
	}
	n := &client{compiled, d}
	n.Perform, n.Ask = n.perform, n.ask
	return n, nil
}

func (n *client) Close() {}

// perform does work, guarded by the mark, and the commit. The client library commits reading
// transactions by itself, without a request.
func (n *client) perform(ctx context.Context, doing string, _ ordered.Use, work func(*ordered.Execution) error) store.Reply {
	t, err := n.database.operate(ctx)
	if err != nil {
		return notBegun(ctx, err)
	}
	defer t.end()
	if err = t.guard(n.database.Layout.Mark()); err == nil {
		err = work(n.database.execution(t.Transaction, t.Transaction))
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
	if reply, known := ordered.Refusal(err); known {
		reply.Err = fmt.Errorf("foundationdb: %s: %w", doing, err)
		return reply
	}
	return t.failure(doing, err)
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
		t, err := n.database.operate(ctx)
		if err != nil {
			return notBegun(ctx, err)
		}
		x, err := n.database.viewing(t)
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
