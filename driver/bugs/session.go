package bugs

import (
	"context"
	"errors"
	"slices"
	"strings"

	"assay/history"
	"assay/store"
	"assay/store/bug"
	"assay/workload"
)

// session is one client's.
type session struct {
	store.Session
	d          *database
	statements []store.Statement
	// full reads all columns of the rows that a statement of the client's changes, by the
	// number of the statement; get, put and remove are of a row by its key, by table.
	full             map[int]fullRead
	get, put, remove map[string]int
	// known is ended.known of its last transaction, until its client comes back; else nil.
	// finished is the number of the last event when its last call ended.
	known    *uint64
	finished uint64
	// wrote is its last transaction that changed anything, seen the last whose state it knows.
	wrote, seen int64
	// side is 1 or 2; see ended.side.
	side int
}

type fullRead struct {
	statement int
	takes     []int
}

func (d *database) Session(ctx context.Context, statements []store.Statement) (store.Session, error) {
	n, err := d.open(ctx, statements)
	if err != nil {
		return nil, err
	}
	if err := d.take(ctx); err != nil {
		n.Close()
		return nil, err
	}
	defer d.done()
	d.opened++
	n.side += d.opened % 2
	return n, nil
}

func (d *database) open(ctx context.Context, statements []store.Statement) (_ *session, err error) {
	n := &session{d: d, side: 1, full: map[int]fullRead{}, get: map[string]int{}, put: map[string]int{}, remove: map[string]int{}}
	n.statements = slices.Clone(statements)
	add := func(s store.Statement) int {
		n.statements = append(n.statements, s)
		return len(n.statements) - 1
	}
	if slices.ContainsFunc(d.active, func(b *active[bug.Act]) bool { return looksAtRows(&b.acts) }) {
		written := map[string]bool{}
		for i, s := range statements {
			t := d.schema.Table(s.Table)
			if t == nil {
				continue
			}
			if s.Verb == store.Update || s.Verb == store.Delete {
				read, takes := fullOf(t, &s)
				read.Name = ownPrefix + s.Name
				n.full[i] = fullRead{add(read), takes}
			}
			if !written[s.Table] {
				written[s.Table] = true
				where := store.Where(t.Key()...)
				n.get[s.Table] = add(store.Statement{Name: ownPrefix + "get_" + s.Table, Verb: store.Read, Table: s.Table, Columns: t.Names(), Where: where})
				n.put[s.Table] = add(store.Statement{Name: ownPrefix + "put_" + s.Table, Verb: store.Put, Table: s.Table, Columns: t.Names()})
				n.remove[s.Table] = add(store.Statement{Name: ownPrefix + "remove_" + s.Table, Verb: store.Delete, Table: s.Table, Where: where})
			}
		}
	}
	n.Session, err = d.inner.Session(ctx, n.statements)
	return n, err
}

// operation is what a session is asked to do.
type operation struct {
	writes bool
	// calls are sent by send, rows by add, or work is a transaction.
	calls []store.Call
	send  func(context.Context, store.Session, []store.Call) store.Reply
	rows  store.Rows
	add   func(context.Context, store.Session, store.Rows) store.Reply
	work  func(context.Context, store.Transaction) error
}

func (n *session) Run(ctx context.Context, call store.Call) store.Reply {
	return n.do(ctx, &operation{writes: !n.statements[call.Statement].ReadsOnly(), calls: []store.Call{call},
		send: func(ctx context.Context, s store.Session, calls []store.Call) store.Reply {
			return s.Run(ctx, calls[0])
		}})
}

func (n *session) Batch(ctx context.Context, b *store.Batch) store.Reply {
	return n.do(ctx, &operation{writes: true, calls: b.Calls, send: func(ctx context.Context, s store.Session, calls []store.Call) store.Reply {
		return s.Batch(ctx, &store.Batch{Calls: calls, Inquiry: b.Inquiry})
	}})
}

func (n *session) Insert(ctx context.Context, rows store.Rows) store.Reply {
	return n.do(ctx, &operation{writes: true, rows: rows, add: func(ctx context.Context, s store.Session, rows store.Rows) store.Reply { return s.Insert(ctx, rows) }})
}

func (n *session) Load(ctx context.Context, rows store.Rows) store.Reply {
	return n.do(ctx, &operation{writes: true, rows: rows, add: func(ctx context.Context, s store.Session, rows store.Rows) store.Reply { return s.Load(ctx, rows) }})
}

func (n *session) Transaction(ctx context.Context, writes bool, work func(context.Context, store.Transaction) error) store.Reply {
	return n.do(ctx, &operation{writes: writes, work: work})
}

// do is one operation, from the request to the answer.
func (n *session) do(ctx context.Context, o *operation) store.Reply {
	d := n.d
	came := d.events.Add(1)
	if err := d.begin(ctx); err != nil {
		return store.Reply{Reply: unsent(err)}
	}
	defer func() {
		turns := 0
		if d.lingers {
			turns = d.chance.IntN(maxTurns)
		}
		d.done()
		for ; turns > 0 && d.take(ctx) == nil; turns-- {
			d.done()
		}
		n.finished = d.events.Load()
	}()
	if n.known != nil {
		*n.known, n.known = came, nil
	}
	x := d.attempt(d.draw(func(a bug.Act) bool { return n.suits(&a, o) }), n.finished)
	x.n = n
	var will *rehearsal
	if x.bug != nil && o.work != nil && foresees(x.bug.acts.Does) {
		if will = n.rehearse(ctx, o); will == nil || !x.suited(ctx, will) {
			x.bug = nil
		}
	}
	if x.does(bug.Delays) {
		return n.delay(x.bug, o, will)
	}
	wrote := n.wrote
	reply := n.perform(ctx, x, o)
	if reply.Outcome != history.Committed {
		n.known, n.wrote = nil, wrote
	}
	return reply
}

// delay has an operation done later.
func (n *session) delay(b *active[bug.Act], o *operation, will *rehearsal) store.Reply {
	later := *o
	if will != nil {
		later.work = will.repeat
	}
	later.calls = slices.Clone(o.calls)
	for i := range later.calls { // their memory is the client's, who goes on
		call := &later.calls[i]
		call.Parameters = copied(call.Parameters)
		if call.Row != nil {
			call.Row = func(store.Row) error { return nil }
		}
	}
	if o.add != nil {
		later.rows = n.d.kept(o.rows)
	}
	n.d.later(b.acts.Calls, n.statements, func(ctx context.Context, n *session) { n.perform(ctx, n.d.attempt(nil, 0), &later) })
	b.strikes++
	return store.Reply{Reply: unknown()}
}

// copied are values with memory of their own.
func copied(values []store.Value) []store.Value {
	values = slices.Clone(values)
	for i := range values {
		v := &values[i]
		v.Bytes, v.Numbers = slices.Clone(v.Bytes), slices.Clone(v.Numbers)
	}
	return values
}

// later has something done at a call to come, by a session of its own.
func (d *database) later(within uint64, statements []store.Statement, do func(context.Context, *session)) {
	statements = slices.DeleteFunc(slices.Clone(statements), func(s store.Statement) bool { return strings.HasPrefix(s.Name, ownPrefix) })
	d.postpone(within, func(ctx context.Context) {
		through(ctx, func(ctx context.Context) (*session, error) { return d.open(ctx, statements) }, func(n *session) { do(ctx, n) })
	})
}

// kept is a copy of rows.
func (d *database) kept(rows store.Rows) store.Rows {
	var all [][]store.Value
	for i := range rows.Count {
		all = append(all, rows.Row(i, nil))
	}
	rows.Row = func(i int, into []store.Value) []store.Value { return append(into, all[i]...) }
	return rows
}

// perform sends an operation. Whoever calls has the turn.
func (n *session) perform(ctx context.Context, x *attempt, o *operation) store.Reply {
	x.n = n
	var reply store.Reply
	var deliver func() error
	switch {
	case o.work != nil:
		reply = n.transact(ctx, x, o)
	case o.add != nil:
		if x.looks {
			x.insertedRows(o.rows)
		}
		reply = o.add(ctx, n.Session, o.rows)
	default:
		reply, deliver = n.send(ctx, x, o)
	}
	if reply.Outcome != history.Committed {
		return x.refused(ctx, o, reply)
	}
	x.settle()
	if deliver != nil {
		if err := deliver(); err != nil {
			return store.Reply{Reply: workload.Reply{Class: workload.ClassOther, Err: err}}
		}
	}
	return x.committed(ctx, o, reply)
}

// send sends calls and keeps the rows of the answers, which deliver passes on.
func (n *session) send(ctx context.Context, x *attempt, o *operation) (reply store.Reply, deliver func() error) {
	sent, rows := slices.Clone(o.calls), make([][]image, len(o.calls))
	x.captureAll(ctx, sent)
	for i := range sent {
		s := &n.statements[sent[i].Statement]
		if t := n.d.schema.Table(s.Table); sent[i].Row != nil && t != nil && s.Verb != store.Native {
			sent[i].Row = func(row store.Row) error {
				found, err := rowOf(row, t, s)
				rows[i] = append(rows[i], found)
				return err
			}
		}
	}
	x.prepare(ctx, sent)
	reply = o.send(ctx, n.Session, sent)
	return reply, func() error {
		for i, call := range o.calls {
			if err := x.answer(&n.statements[call.Statement], call.Parameters, rows[i], call.Row); err != nil {
				return err
			}
		}
		return nil
	}
}

// rowOf reads a row of a statement's answer.
func rowOf(row store.Row, t *store.Table, s *store.Statement) (image, error) {
	if s.Verb == store.Count {
		return numbers(row, 1+len(s.Columns))
	}
	return decode(row, t, s.Columns)
}

var errNotRead = errors.New("bugs: rows could not be read")

// doer does a statement.
type doer = func(ctx context.Context, statement int, row func(store.Row) error, parameters ...store.Value) error

// doerOf does statements in a transaction.
func doerOf(t store.Transaction) doer {
	return func(ctx context.Context, statement int, row func(store.Row) error, parameters ...store.Value) error {
		_, err := t.Do(ctx, statement, row, parameters...)
		return err
	}
}

// run does a statement that reads.
func (n *session) run(ctx context.Context, statement int, row func(store.Row) error, parameters ...store.Value) error {
	if n.Session.Run(ctx, store.Call{Statement: statement, Parameters: parameters, Row: row}).Outcome != history.Committed {
		return errNotRead
	}
	return nil
}

// rewrite has rows be otherwise, in one transaction where there are such. It reports whether
// they are.
func (n *session) rewrite(ctx context.Context, changes []change, to func(*change) image) bool {
	ctx, cancel := own(ctx)
	defer cancel()
	var calls []store.Call
	for i := range changes {
		c := &changes[i]
		row := to(c)
		if row != nil {
			calls = append(calls, store.Call{Statement: n.put[c.table], Parameters: row})
			continue
		}
		is := c.after
		if is == nil {
			is = c.before
		}
		calls = append(calls, store.Call{Statement: n.remove[c.table], Parameters: is[:n.d.schema.Table(c.table).Keys()]})
	}
	if len(calls) > 1 && n.d.inner.Lacks()[store.Transactions] == "" {
		return n.Session.Batch(ctx, &store.Batch{Calls: calls}).Outcome == history.Committed
	}
	return !slices.ContainsFunc(calls, func(c store.Call) bool { return n.Session.Run(ctx, c).Outcome != history.Committed })
}

// asBefore and asAfter are for rewrite.
func asBefore(c *change) image { return c.before }
func asAfter(c *change) image  { return c.after }

// transact does a transaction whose statements follow from one another.
func (n *session) transact(ctx context.Context, x *attempt, o *operation) store.Reply {
	reply := n.Session.Transaction(ctx, o.writes, func(ctx context.Context, inner store.Transaction) error {
		return o.work(ctx, &spoilable{inner, x})
	})
	x.d.guard.Lock()
	defer x.d.guard.Unlock()
	x.over = true
	return reply
}

// spoilable is a transaction under way. It may go on when the session has answered; then it is over,
// and looks at nothing any more.
type spoilable struct {
	store.Transaction
	x *attempt
}

func (t *spoilable) Do(ctx context.Context, statement int, row func(store.Row) error, parameters ...store.Value) (changed int64, err error) {
	x := t.x
	x.capture(ctx, doerOf(t.Transaction), statement, parameters)
	s := &x.n.statements[statement]
	table := x.d.schema.Table(s.Table)
	if row == nil || table == nil || s.Verb == store.Native {
		x.rehearsal.note(statement, parameters, nil)
		return t.Transaction.Do(ctx, statement, row, parameters...)
	}
	var rows []image
	changed, err = t.Transaction.Do(ctx, statement, func(found store.Row) error {
		one, err := rowOf(found, table, s)
		rows = append(rows, one)
		return err
	}, parameters...)
	x.rehearsal.note(statement, parameters, rows)
	if err == nil {
		err = x.answer(s, parameters, rows, row)
	}
	return changed, err
}

// ownPrefix begins the names of statements that no client has asked for.
const ownPrefix = "bug_"

// Learn implements store.Learner.
func (n *session) Learn(ctx context.Context, s store.Statement) (int, error) {
	learner, is := n.Session.(store.Learner)
	if !is {
		return 0, errors.ErrUnsupported
	}
	i, err := learner.Learn(ctx, s)
	if err == nil {
		n.statements = append(n.statements[:i:i], s)
	}
	return i, err
}
