package mem

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"runtime"

	"assay/driver/ordered"
	"assay/driver/rows"
	"assay/history"
	"assay/internal/wait"
	"assay/store"
)

type session struct {
	*Database
	plans []*ordered.Plan
	t     transaction
	x     ordered.Execution
	// reads marks a transaction that said it only reads. failed is a transaction's first error,
	// which prevents its commit.
	reads  bool
	failed error
}

func (s *Database) Session(_ context.Context, statements []store.Statement) (store.Session, error) {
	n := &session{Database: s}
	n.x = s.execution(&n.t)
	err := s.locked(true, func() (err error) {
		n.plans, err = s.planned(statements)
		return err
	})
	if err != nil {
		return nil, err
	}
	return n, nil
}

// planned shares the last session's plans if the statements are equal, as plans do not change.
// The caller holds the lock.
func (s *Database) planned(statements []store.Statement) ([]*ordered.Plan, error) {
	if s.shared.plans != nil && reflect.DeepEqual(statements, s.shared.statements) {
		return s.shared.plans, nil
	}
	plans := make([]*ordered.Plan, len(statements))
	for i := range statements {
		var err error
		if plans[i], err = ordered.Compile(s.forms, &statements[i], true); err != nil {
			return nil, fmt.Errorf("mem: %w", err)
		}
	}
	s.shared.statements, s.shared.plans = statements, plans
	return plans, nil
}

func (n *session) Close() {}

// Waiting implements store.Session. Nothing ever waits.
func (n *session) Waiting(context.Context) (waiting, known bool, err error) { return false, true, nil }

func committed() store.Reply { return store.Reply{Outcome: history.Committed} }

func ended(doing string, err error) store.Reply {
	if err == nil {
		return committed()
	}
	r := store.Reply{Outcome: history.Failed, Class: store.ClassOther, Err: fmt.Errorf("mem: %s: %w", doing, err)}
	if v, is := errors.AsType[*rows.Violation](err); is {
		r.Violated = v.Kind
		if v.Kind == store.Unique {
			r.Class, r.Confirmed = store.ClassDuplicateKey, true // nothing here is ever taken back
		}
	}
	if errors.Is(err, errStale) || errors.Is(err, errConflict) {
		r.Class = store.ClassSerialization
	}
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		r.Class = store.ClassTimeout
	}
	return r
}

func (n *session) Run(ctx context.Context, call store.Call) store.Reply {
	p := n.plans[call.Statement]
	if failed := n.d.enter(ctx, p.Name, n.d.latency); failed != nil {
		return *failed
	}
	defer n.d.mu.Unlock()
	n.t.begin(ctx, n.d)
	changed, err := n.x.Call(p, &call)
	reply := ended(p.Name, err)
	if p.ReadsOnly() {
		return reply
	}
	if reply = n.t.finish(reply); reply.Outcome == history.Committed {
		reply.Affected = changed
	}
	return reply
}

func (n *session) Insert(ctx context.Context, of store.Rows) store.Reply {
	if failed := n.d.enter(ctx, "insert", n.d.latency); failed != nil {
		return *failed
	}
	defer n.d.mu.Unlock()
	n.t.begin(ctx, n.d)
	return n.t.finish(ended("insert", n.insert(&n.x, &of)))
}

func (n *session) Load(ctx context.Context, of store.Rows) store.Reply { return n.Insert(ctx, of) }

func (n *session) Batch(ctx context.Context, b *store.Batch) store.Reply {
	if failed := n.d.enter(ctx, "transaction", n.d.latency); failed != nil {
		return *failed
	}
	defer n.d.mu.Unlock()
	n.t.begin(ctx, n.d)
	var err error
	for i := 0; i < len(b.Calls) && err == nil; i++ {
		_, err = n.x.Call(n.plans[b.Calls[i].Statement], &b.Calls[i])
	}
	reply := ended("transaction", err)
	if b.Inquiry != nil && (reply.Violated == store.Floor || reply.Violated == store.Absent) {
		n.t.begin(ctx, n.d)
		if _, err = n.x.Call(n.plans[b.Inquiry.Statement], b.Inquiry); err != nil {
			reply = ended("inquiry", err)
			reply.Violated = store.NoViolation
		}
	}
	return n.t.finish(reply)
}

// Transaction implements store.Session. Others run between its statements. Half of the latency
// comes before the commit. A reading transaction uses a snapshot.
func (n *session) Transaction(ctx context.Context, writes bool, work func(context.Context, store.Transaction) error) store.Reply {
	n.giveWay()
	within := n.d.latency / 2
	if failed := n.d.enter(ctx, "transaction", n.d.latency-within); failed != nil {
		return *failed
	}
	n.t.begin(ctx, n.d)
	n.reads, n.failed = !writes, nil
	if writes {
		n.t.enter()
	} else {
		n.t.tree = n.d.tree.Copy()
	}
	n.d.mu.Unlock()
	err := work(ctx, n)
	if err == nil {
		err = wait.Pause(ctx, within)
	}
	n.d.mu.Lock()
	defer n.d.mu.Unlock()
	if err == nil {
		err = n.failed
	}
	return n.t.finish(ended("transaction", err))
}

// giveWay lets others run if isolation is judged, so that transactions meet on any machine.
func (n *session) giveWay() {
	if n.schema.Judged {
		runtime.Gosched()
	}
}

func (n *session) Do(ctx context.Context, statement int, row func(store.Row) error, parameters ...store.Value) (changed int64, err error) {
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	if n.failed != nil {
		return 0, n.failed
	}
	changed, n.failed = n.do(n.plans[statement], row, parameters)
	n.giveWay()
	return changed, n.failed
}

func (n *session) do(p *ordered.Plan, row func(store.Row) error, parameters []store.Value) (int64, error) {
	if n.reads {
		if !p.ReadsOnly() {
			return 0, fmt.Errorf("%s: the transaction was said to read only", p.Name)
		}
		return n.x.Do(p, parameters, row)
	}
	n.d.mu.Lock()
	defer n.d.mu.Unlock()
	if err := n.t.valid(); err != nil {
		return 0, err
	}
	return n.x.Do(p, parameters, row)
}
