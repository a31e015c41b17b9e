package etcd

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"assay/driver/ordered"
	"assay/driver/rows"
	"assay/history"
	"assay/store"
)

// session is a store.Session with connections of its own to each host of the address.
type session struct {
	*database
	conn  *connection
	epoch int64 // the mark's mod_revision
	plans []*ordered.Plan
	// blind: the statement is an Insert that reads nothing before.
	blind []bool
}

// Session implements store.Database and requires a schema of ours.
func (d *database) Session(ctx context.Context, statements []store.Statement) (_ store.Session, err error) {
	if err := d.Of.Check(statements); err != nil {
		return nil, err
	}
	n := &session{database: d}
	for i := range statements {
		s := &statements[i]
		p, err := ordered.Compile(d.Forms, s, true)
		if err != nil {
			return nil, fmt.Errorf("etcd: %w", err)
		}
		left := slices.ContainsFunc(s.Values, func(e store.Expression) bool { return e.Source == store.FromLeft })
		n.plans, n.blind = append(n.plans, p), append(n.blind, s.Verb == store.Insert && !left && len(p.Table.Indexes) == 0)
	}
	if n.conn, err = dial(ctx, d.options, d.hosts); err != nil {
		return nil, err
	}
	t := n.conn.reader(ctx)
	if _, err := d.MustMark(ctx, t); err != nil {
		return nil, errors.Join(n.conn.explain(ctx, "open a session", err), n.conn.close())
	}
	n.epoch = t.read[string(d.Layout.Mark())].revision
	return n, nil
}

func (n *session) Close() {
	_ = n.conn.close() // that it was closed before is all that it can say
}

// Waiting implements store.Session. Transactions conflict instead of waiting.
func (n *session) Waiting(context.Context) (waiting, known bool, err error) { return false, false, nil }

func (n *session) begin(ctx context.Context) *transaction {
	t := n.conn.begin(ctx)
	t.mark, t.epoch, t.stale = n.Layout.Mark(), n.epoch, n.stale
	return t
}

func (n *session) perform(ctx context.Context, doing string, work func(*transaction) error) store.Reply {
	t := n.begin(ctx)
	err := work(t)
	if err == nil {
		doing += ", commit"
		err = t.commit()
	}
	if err != nil {
		return n.refusal(t, doing, err)
	}
	return store.Reply{Outcome: history.Committed}
}

// refusal is the reply to a transaction with this error. A constraint was checked at one revision.
// A key that a member shows is durable (etcd manual 3.4, "etcd API guarantees", "Durability").
func (n *session) refusal(t *transaction, doing string, err error) store.Reply {
	reply := store.Reply{Outcome: history.Failed, Class: store.ClassOther, Broken: broken(err)}
	var v *rows.Violation
	switch {
	case errors.As(err, &v):
		reply.Violated = v.Kind
		if v.Kind == store.Unique {
			reply.Class, reply.Confirmed = store.ClassDuplicate, true
		}
	case errors.As(err, new(*existsError)):
		reply.Violated, reply.Class, reply.Confirmed = store.Unique, store.ClassDuplicate, true
	case errors.Is(err, errConflict), errors.Is(err, errFenced):
		reply.Class = store.ClassSerialization
	case errors.Is(err, ordered.ErrLongList):
		reply.Class = classTooLong
	case errors.Is(err, ordered.ErrManyRows):
		reply.Class = classTooLarge
	default:
		reply.Outcome, reply.Class = judge(err, t.sent)
	}
	reply.Err = fmt.Errorf("etcd: %s: %w", doing, err)
	return reply
}

// Run implements store.Session. An Insert reads nothing: its commit compares that the keys are
// absent.
func (n *session) Run(ctx context.Context, call store.Call) store.Reply {
	p := n.plans[call.Statement]
	var changed int64
	r := n.perform(ctx, p.Name, func(t *transaction) (err error) {
		t.assumes, t.forgets = n.blind[call.Statement], p.ReadsOnly()
		changed, err = n.execution(t).Call(p, &call)
		return err
	})
	if r.Outcome == history.Committed {
		r.Affected = changed
	}
	return r
}

// Insert implements store.Session; see ordered.Form.Insert.
func (n *session) Insert(ctx context.Context, of store.Rows) store.Reply {
	f := n.Forms[of.Table]
	return f.Insert(&of, limits(), func(part []rows.Row) store.Reply {
		return n.perform(ctx, "insert", func(t *transaction) error {
			t.assumes = len(f.Indexes) == 0
			return n.execution(t).Add(f, part)
		})
	})
}

// Load implements store.Session by Insert.
func (n *session) Load(ctx context.Context, of store.Rows) store.Reply { return n.Insert(ctx, of) }

// Batch implements store.Session. One request reads all rows with known keys, so a transfer takes
// two requests.
func (n *session) Batch(ctx context.Context, b *store.Batch) store.Reply {
	r := n.perform(ctx, "batch", func(t *transaction) error {
		return n.execution(t).Calls(n.plans, b.Calls)
	})
	return b.Inquire(r, func(c store.Call) store.Reply { return n.Run(ctx, c) })
}

func (n *session) Transaction(ctx context.Context, writes bool, work func(context.Context, store.Transaction) error) store.Reply {
	return n.perform(ctx, "transaction", func(t *transaction) error {
		t.forgets = !writes
		return work(ctx, underWay{n, n.execution(t)})
	})
}

type underWay struct {
	*session
	execution *ordered.Execution
}

// Do implements store.Transaction. One request reads all keys of a statement.
func (u underWay) Do(_ context.Context, statement int, row func(store.Row) error, parameters ...store.Value) (int64, error) {
	return u.execution.Call(u.plans[statement], &store.Call{Statement: statement, Parameters: parameters, Row: row})
}

// Batch implements store.Batching. One request reads all rows with known keys.
func (u underWay) Batch(_ context.Context, calls []store.Call) error {
	return u.execution.Calls(u.plans, calls)
}
