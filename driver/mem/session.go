package mem

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"time"

	"assay/history"
	"assay/store"
	"assay/workload"
)

// session is one client's. It is a store.Session.
type session struct {
	db    *Database
	d     *database
	plans []*plan
	steps
	copied version // of a row that is given when others may write already
}

func (s *Database) Session(_ context.Context, statements []store.Statement) (store.Session, error) {
	n := &session{db: s, d: s.d}
	err := s.locked(true, func() error {
		for i := range statements {
			p, err := s.compile(&statements[i], true)
			if err != nil {
				return err
			}
			n.plans = append(n.plans, p)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return n, nil
}

func (n *session) Close() {}

// Waiting implements store.Session: nothing ever waits.
func (n *session) Waiting(context.Context) (waiting, known bool, err error) { return false, true, nil }

// ended is the reply to what ended with this error, or none.
func ended(doing string, err error) store.Reply {
	if err == nil {
		return committed()
	}
	r := store.Reply{Reply: workload.Reply{Outcome: history.Failed, Class: workload.ClassOther, Err: fmt.Errorf("mem: %s: %w", doing, err)}}
	if v, is := errors.AsType[*violation](err); is {
		r.Violated = v.kind
		if v.kind == store.Unique {
			r.Class = store.ClassDuplicateKey
		}
	}
	if errors.Is(err, errStale) {
		r.Class = workload.ClassSerialization
	}
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		r.Class = workload.ClassTimeout
	}
	return r
}

func (n *session) Run(ctx context.Context, call store.Call) store.Reply {
	p := n.plans[call.Statement]
	if failed := n.d.enter(ctx, p.name); failed != nil {
		return store.Reply{Reply: *failed}
	}
	if p.verb == store.Read || p.verb == store.Count {
		return n.query(ctx, p, &call)
	}
	defer n.d.mu.Unlock()
	n.x.begin(n.d, false, false)
	changed, err := n.call(p, &call)
	reply := n.x.finish(ended(p.name, err))
	if reply.Outcome == history.Committed {
		reply.Affected = changed
	}
	return reply
}

// call does a statement and gives its rows, under the lock.
func (n *session) call(p *plan, call *store.Call) (changed int64, err error) {
	if changed, err = n.do(p, call.Parameters); err != nil || call.Row == nil {
		return changed, err
	}
	rows := n.rows(p)
	if err := wanted(&rows, call.Want); err != nil {
		return 0, err
	}
	for i := range rows.count() {
		if err := rows.give(i, call.Row); err != nil {
			return 0, err
		}
	}
	return changed, nil
}

func wanted(rows *rows, want int) error {
	if want > 0 && rows.count() != want {
		return fmt.Errorf("%d rows came, and %d were due", rows.count(), want)
	}
	return nil
}

// query does a statement that reads, and gives the rows when it has given the lock back.
func (n *session) query(ctx context.Context, p *plan, call *store.Call) store.Reply {
	n.x.begin(n.d, false, true)
	_, err := n.do(p, call.Parameters)
	if err != nil {
		n.d.mu.Unlock()
		return ended(p.name, err)
	}
	rows := n.rows(p)
	switch count := rows.count(); {
	case n.answer.r == nil || count == 0:
		n.d.mu.Unlock()
	case count == 1:
		v := rows.heap.at(rows.found[0])
		n.copied.numbers = append(n.copied.numbers[:0], v.numbers...)
		n.copied.texts = append(n.copied.texts[:0], v.texts...)
		n.answer.version = n.copied
		n.d.mu.Unlock()
		if err = wanted(&rows, call.Want); err == nil {
			err = call.Row(&n.answer)
		}
		return ended(p.name, err)
	default:
		n.x.enter()
		n.d.mu.Unlock()
		defer n.leave()
	}
	if err = wanted(&rows, call.Want); err == nil {
		err = rows.all(ctx, call.Row)
	}
	return ended(p.name, err)
}

// leave ends a transaction that has only read.
func (n *steps) leave() {
	n.x.d.mu.Lock()
	defer n.x.d.mu.Unlock()
	n.x.leave()
}

// all gives all rows, and looks at the context now and then.
func (r *rows) all(ctx context.Context, row func(store.Row) error) error {
	for i := range r.count() {
		if err := interrupted(ctx, int64(i)); err != nil {
			return err
		}
		if err := r.give(i, row); err != nil {
			return err
		}
	}
	return nil
}

func (n *session) Insert(ctx context.Context, rows store.Rows) store.Reply {
	if failed := n.d.enter(ctx, "insert"); failed != nil {
		return store.Reply{Reply: *failed}
	}
	defer n.d.mu.Unlock()
	n.x.begin(n.d, false, false)
	err := n.insert(n.db, &rows)
	return n.x.finish(ended("insert", err))
}

func (n *session) Load(ctx context.Context, rows store.Rows) store.Reply { return n.Insert(ctx, rows) }

// insert adds rows.
func (n *steps) insert(s *Database, rows *store.Rows) error {
	r := s.relations[rows.Table]
	if r == nil {
		return &notFoundError{what: "table", name: rows.Table}
	}
	columns := r.columns(rows.Columns)
	for i, column := range columns {
		if column < 0 {
			return &notFoundError{"column", rows.Columns[i], fmt.Sprintf(" in table %q", r.table.Name)}
		}
	}
	var row []store.Value
	for i := range rows.Count {
		row = rows.Row(i, row[:0])
		if len(row) != len(columns) || len(row) != len(r.places) {
			return fmt.Errorf("table %q: a row has %d values, and must have %d", r.table.Name, len(row), len(r.places))
		}
		n.values = n.values[:0]
		for j := range row {
			v, err := given(&row[j], r.places[columns[j]].text)
			if err != nil {
				return err
			}
			n.values = append(n.values, v)
		}
		if err := n.add(r, columns, false); err != nil {
			return err
		}
	}
	return nil
}

func (n *session) Batch(ctx context.Context, b *store.Batch) store.Reply {
	if failed := n.d.enter(ctx, "transaction"); failed != nil {
		return store.Reply{Reply: *failed}
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

// Transaction implements store.Session. Others are let in between the statements. Of a
// schema whose isolation is judged half of the latency comes within the transaction and
// each statement gives way, so that transactions meet on any machine.
func (n *session) Transaction(ctx context.Context, writes bool, work func(context.Context, store.Transaction) error) store.Reply {
	within := time.Duration(0)
	if n.db.schema.Judged {
		within = n.d.latency / 2
		runtime.Gosched()
	}
	if err := workload.Pause(ctx, n.d.latency-within); err != nil {
		return ended("transaction", err)
	}
	if err := n.d.lock(true); err != nil {
		return store.Reply{Reply: workload.Reply{Outcome: history.Failed, Class: workload.ClassOther, Err: err, Broken: true}}
	}
	n.x.begin(n.d, true, !writes)
	n.d.mu.Unlock()
	err := work(ctx, n)
	if err == nil {
		err = workload.Pause(ctx, within)
	}
	n.d.mu.Lock()
	defer n.d.mu.Unlock()
	if err == nil {
		err = n.x.failed
	}
	return n.x.finish(ended("transaction", err))
}

// Do implements store.Transaction.
func (n *session) Do(ctx context.Context, statement int, row func(store.Row) error, parameters ...store.Value) (changed int64, err error) {
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	p := n.plans[statement]
	n.d.mu.Lock()
	changed, err = n.do(p, parameters)
	rows := n.rows(p)
	n.d.mu.Unlock()
	if n.db.schema.Judged {
		runtime.Gosched()
	}
	if err == nil && row != nil {
		err = rows.all(ctx, row)
	}
	return changed, err
}
