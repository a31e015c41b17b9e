package mem

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"runtime"

	"assay/driver/rows"
	"assay/history"
	"assay/internal/wait"
	"assay/store"
)

// session is one client's. It is a store.Session.
type session struct {
	db    *Database
	d     *database
	plans []*rows.Plan
	steps
	copied rows.Row // of a row that is given when others may write already
}

func (s *Database) Session(_ context.Context, statements []store.Statement) (store.Session, error) {
	n := &session{db: s, d: s.d}
	err := s.locked(true, func() (err error) {
		n.plans, err = s.planned(statements)
		return err
	})
	if err != nil {
		return nil, err
	}
	return n, nil
}

// planned are the plans of a session's statements, which sessions share that do the same: plans
// do not change. The caller holds the lock.
func (s *Database) planned(statements []store.Statement) ([]*rows.Plan, error) {
	if s.shared.plans != nil && reflect.DeepEqual(statements, s.shared.statements) {
		return s.shared.plans, nil
	}
	plans := make([]*rows.Plan, len(statements))
	for i := range statements {
		var err error
		if plans[i], err = s.compile(&statements[i], true); err != nil {
			return nil, err
		}
	}
	s.shared.statements, s.shared.plans = statements, plans
	return plans, nil
}

func (n *session) Close() {}

// Waiting implements store.Session: nothing ever waits.
func (n *session) Waiting(context.Context) (waiting, known bool, err error) { return false, true, nil }

// compile makes the plan of a statement. make is whether orderings may be made that it
// can use. The caller holds the lock.
func (s *Database) compile(of *store.Statement, make bool) (*rows.Plan, error) {
	p, err := rows.Compile(s.tables, of, rows.Ways{Keyed: true, Usable: func(t *rows.Table, index int) bool {
		return make || s.relations[t.Name].ordered(index) != nil
	}})
	if err != nil {
		return nil, fmt.Errorf("mem: %w", err)
	}
	if p.Index != rows.Anyhow {
		s.relations[of.Table].order(p.Index)
	}
	return p, nil
}

// ended is the reply to what ended with this error, or none.
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
	if errors.Is(err, errStale) {
		r.Class = store.ClassSerialization
	}
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		r.Class = store.ClassTimeout
	}
	return r
}

func (n *session) Run(ctx context.Context, call store.Call) store.Reply {
	p := n.plans[call.Statement]
	if failed := n.d.enter(ctx, p.Name); failed != nil {
		return *failed
	}
	if p.ReadsOnly() {
		return n.query(ctx, p, &call)
	}
	defer n.d.mu.Unlock()
	n.x.begin(n.d, false, false)
	changed, err := n.call(p, &call)
	reply := n.x.finish(ended(p.Name, err))
	if reply.Outcome == history.Committed {
		reply.Affected = changed
	}
	return reply
}

// call does a statement and gives its rows, under the lock.
func (n *session) call(p *rows.Plan, call *store.Call) (changed int64, err error) {
	if changed, err = n.do(p, call.Parameters); err == nil && call.Row != nil {
		err = n.deliver(p, call)
	}
	return changed, err
}

// deliver gives the rows that a call has found, under the lock. It is a function of its own so that what
// it keeps on the stack is not there while the statement is done.
//
//go:noinline
func (n *session) deliver(p *rows.Plan, call *store.Call) error {
	found := n.result(p)
	return found.due(context.Background(), call)
}

// query does a statement that reads, and gives the rows when it has given the lock back.
func (n *session) query(ctx context.Context, p *rows.Plan, call *store.Call) store.Reply {
	n.x.begin(n.d, false, true)
	_, err := n.do(p, call.Parameters)
	if err != nil {
		n.d.mu.Unlock()
		return ended(p.Name, err)
	}
	found := n.result(p)
	switch {
	case p.Verb == store.Count || len(n.found) == 0:
		n.d.mu.Unlock()
	case len(n.found) == 1:
		row := found.heap.at(n.found[0])
		n.copied.Numbers, n.copied.Texts = append(n.copied.Numbers[:0], row.Numbers...), append(n.copied.Texts[:0], row.Texts...)
		n.answer.Row, found.answered = n.copied, true
		n.d.mu.Unlock()
	default:
		n.x.enter()
		n.d.mu.Unlock()
		defer n.leave()
	}
	return ended(p.Name, found.due(ctx, call))
}

// result is the rows that a statement has found, which can be given without the lock while
// nobody may write in their slots.
type result struct {
	answer *rows.Answer
	heap   heap
	found  []slot
	// answered is true if the one row is in the answer.
	answered bool
}

// result is what the last statement has found. The caller holds the lock.
func (n *steps) result(p *rows.Plan) result {
	n.answer.Plan = p
	if p.Verb == store.Count {
		return result{answer: &n.answer, answered: true}
	}
	return result{answer: &n.answer, heap: n.x.d.relations[p.Table.Number].heap, found: n.found}
}

// count is how many rows there are.
func (r *result) count() int {
	if r.answered {
		return 1
	}
	return len(r.found)
}

// due gives the rows of a call, if they are as many as it wants.
func (r *result) due(ctx context.Context, call *store.Call) error {
	if err := call.Wanted(r.count()); err != nil {
		return err
	}
	return r.all(ctx, call.Row)
}

// all gives all rows, and looks at the context now and then.
func (r *result) all(ctx context.Context, row func(store.Row) error) error {
	for i := range r.count() {
		if err := interrupted(ctx, int64(i)); err != nil {
			return err
		}
		if !r.answered {
			r.answer.Row = r.heap.at(r.found[i])
		}
		if err := row(r.answer); err != nil {
			return err
		}
	}
	return nil
}

// leave ends a transaction that has only read.
func (n *steps) leave() {
	n.x.d.mu.Lock()
	defer n.x.d.mu.Unlock()
	n.x.leave()
}

func (n *session) Insert(ctx context.Context, of store.Rows) store.Reply {
	if failed := n.d.enter(ctx, "insert"); failed != nil {
		return *failed
	}
	defer n.d.mu.Unlock()
	n.x.begin(n.d, false, false)
	err := n.insert(n.db, &of)
	return n.x.finish(ended("insert", err))
}

func (n *session) Load(ctx context.Context, of store.Rows) store.Reply { return n.Insert(ctx, of) }

// insert adds rows.
func (n *steps) insert(s *Database, of *store.Rows) error {
	t, err := rows.Find(s.tables, of.Table)
	if err != nil {
		return err
	}
	columns, err := t.Places(of.Columns)
	var row []store.Value
	for i := 0; i < of.Count && err == nil; i++ {
		row = of.Row(i, row[:0])
		if err = n.Given(t, columns, row); err == nil {
			err = n.add(s.relations[t.Name], columns, false)
		}
	}
	return err
}

func (n *session) Batch(ctx context.Context, b *store.Batch) store.Reply {
	if failed := n.d.enter(ctx, "transaction"); failed != nil {
		return *failed
	}
	defer n.d.mu.Unlock()
	n.x.begin(n.d, false, false)
	var err error
	for i := range b.Calls {
		if _, err = n.call(n.plans[b.Calls[i].Statement], &b.Calls[i]); err != nil {
			break
		}
	}
	reply := ended("transaction", err)
	if b.Inquiry != nil && (reply.Violated == store.Floor || reply.Violated == store.Absent) {
		n.x.abort()
		n.x.begin(n.d, false, true)
		if _, err = n.call(n.plans[b.Inquiry.Statement], b.Inquiry); err != nil {
			reply = ended("inquiry", err)
			reply.Violated = store.NoViolation
		}
	}
	return n.x.finish(reply)
}

// Transaction implements store.Session. Others are let in between the statements, and half
// of the latency comes within it.
func (n *session) Transaction(ctx context.Context, writes bool, work func(context.Context, store.Transaction) error) store.Reply {
	n.giveWay()
	within := n.d.latency / 2
	if err := wait.Pause(ctx, n.d.latency-within); err != nil {
		return ended("transaction", err)
	}
	if err := n.d.lock(true); err != nil {
		return store.Reply{Outcome: history.Failed, Class: store.ClassOther, Err: err, Broken: true}
	}
	n.x.begin(n.d, true, !writes)
	n.d.mu.Unlock()
	err := work(ctx, n)
	if err == nil {
		err = wait.Pause(ctx, within)
	}
	n.d.mu.Lock()
	defer n.d.mu.Unlock()
	if err == nil {
		err = n.x.failed
	}
	return n.x.finish(ended("transaction", err))
}

// giveWay lets others go on where isolation is judged, so that transactions meet on any
// machine.
func (n *session) giveWay() {
	if n.db.schema.Judged {
		runtime.Gosched()
	}
}

// Do implements store.Transaction.
func (n *session) Do(ctx context.Context, statement int, row func(store.Row) error, parameters ...store.Value) (changed int64, err error) {
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	p := n.plans[statement]
	n.d.mu.Lock()
	changed, err = n.do(p, parameters)
	found := n.result(p)
	n.d.mu.Unlock()
	n.giveWay()
	if err == nil && row != nil {
		err = found.all(ctx, row)
	}
	return changed, err
}
