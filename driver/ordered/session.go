package ordered

import (
	"context"
	"errors"
	"slices"

	"assay/driver/rows"
	"assay/history"
	"assay/store"
)

var _ store.Batching = underWay{}

// Error classes of statements that exceed the Limits.
const (
	ClassTooLarge = "too large"
	ClassTooLong  = "list too long"
)

// Use is what is known of a transaction before it begins. A driver may save requests by it.
type Use struct {
	// Blind: it inserts, without reading anything before. Its keys may be taken for absent if the
	// commit checks that they are.
	Blind bool
	// Reads: it only reads.
	Reads bool
}

// Session is a store.Session, without Close, of a driver that can perform one transaction.
type Session struct {
	// Perform does work in one transaction and commits it. Errors name doing. Refusal replies to
	// work's own errors.
	Perform func(ctx context.Context, doing string, use Use, work func(*Execution) error) store.Reply
	// Ask does a statement that only reads. It is nil if Perform does them too.
	Ask func(ctx context.Context, p *Plan, call *store.Call) store.Reply

	forms  Forms
	limits Limits
	plans  []*Plan
	blind  []bool // by statement: it is a blind Insert
}

// NewSession compiles a session's statements. Perform must be set before its first use.
func (s *Schema[T]) NewSession(statements []store.Statement) (*Session, error) {
	if err := s.Of.Check(statements); err != nil {
		return nil, err
	}
	n := &Session{forms: s.Forms, limits: s.limits}
	for i := range statements {
		of := &statements[i]
		p, err := Compile(s.Forms, of, true)
		if err != nil {
			return nil, err
		}
		left := slices.ContainsFunc(of.Values, func(e store.Expression) bool { return e.Source == store.FromLeft })
		n.plans, n.blind = append(n.plans, p), append(n.blind, of.Verb == store.Insert && !left && len(p.Table.Indexes) == 0)
	}
	return n, nil
}

// Refusal is the reply to an error of an Execution, which read one state and changed nothing; known
// is false for other errors. A key that is there is Confirmed: the database must show durable
// commits only.
func Refusal(err error) (reply store.Reply, known bool) {
	reply = store.Reply{Outcome: history.Failed, Class: store.ClassOther}
	var v *rows.Violation
	switch {
	case errors.As(err, &v):
		if reply.Violated = v.Kind; v.Kind == store.Unique {
			reply.Class, reply.Confirmed = store.ClassDuplicate, true
		}
	case errors.Is(err, ErrLongList):
		reply.Class = ClassTooLong
	case errors.Is(err, ErrManyRows):
		reply.Class = ClassTooLarge
	default:
		return store.Reply{}, false
	}
	return reply, true
}

// Waiting implements store.Session. Transactions conflict instead of waiting.
func (n *Session) Waiting(context.Context) (waiting, known bool, err error) { return false, false, nil }

// Run implements store.Session.
func (n *Session) Run(ctx context.Context, call store.Call) store.Reply {
	p := n.plans[call.Statement]
	if n.Ask != nil && p.ReadsOnly() {
		return n.Ask(ctx, p, &call)
	}
	var changed int64
	r := n.Perform(ctx, p.Name, Use{Blind: n.blind[call.Statement], Reads: p.ReadsOnly()}, func(x *Execution) (err error) {
		changed, err = x.Call(p, &call)
		return err
	})
	if r.Outcome == history.Committed {
		r.Affected = changed
	}
	return r
}

// Insert implements store.Session; see Form.Insert.
func (n *Session) Insert(ctx context.Context, of store.Rows) store.Reply {
	f := n.forms[of.Table]
	return f.Insert(&of, n.limits, func(part []rows.Row) store.Reply {
		return n.Perform(ctx, "insert", Use{Blind: len(f.Indexes) == 0}, func(x *Execution) error { return x.Add(f, part) })
	})
}

// Load implements store.Session by Insert.
func (n *Session) Load(ctx context.Context, of store.Rows) store.Reply { return n.Insert(ctx, of) }

// Batch implements store.Session; see Execution.Calls. A refusal commits nothing.
func (n *Session) Batch(ctx context.Context, b *store.Batch) store.Reply {
	r := n.Perform(ctx, "batch", Use{}, func(x *Execution) error { return x.Calls(n.plans, b.Calls) })
	return b.Inquire(r, func(c store.Call) store.Reply { return n.Run(ctx, c) })
}

// Transaction implements store.Session.
func (n *Session) Transaction(ctx context.Context, writes bool, work func(context.Context, store.Transaction) error) store.Reply {
	return n.Perform(ctx, "transaction", Use{Reads: !writes}, func(x *Execution) error {
		return work(ctx, underWay{n, x})
	})
}

// underWay is a store.Transaction.
type underWay struct {
	session   *Session
	execution *Execution
}

func (u underWay) Do(_ context.Context, statement int, row func(store.Row) error, parameters ...store.Value) (int64, error) {
	return u.execution.Call(u.session.plans[statement], &store.Call{Statement: statement, Parameters: parameters, Row: row})
}

// Batch implements store.Batching; see Execution.Calls.
func (u underWay) Batch(_ context.Context, calls []store.Call) error {
	return u.execution.Calls(u.session.plans, calls)
}
