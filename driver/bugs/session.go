package bugs

import (
	"context"
	"errors"
	"slices"

	"assay/history"
	"assay/store"
	"assay/store/bug"
)

type session struct {
	store.Session
	// client is the Session that the client opened. Postponed operations open another.
	client     store.Session
	d          *database
	statements []store.Statement
	stepped    bool
	// full reads whole the rows that a statement changes, by the statement's index. get, put and
	// remove are statements on one row by key, by table.
	full             map[int]fullRead
	get, put, remove map[string]int
	// known is ended.known of the last transaction until the client's next call, else nil.
	// finished is the last event's number at the end of the last call.
	known    *uint64
	finished uint64
	// wrote is the last transaction that changed something, seen the newest whose state is known.
	wrote, seen int64
}

type fullRead struct {
	statement int
	takes     []int
}

func (d *database) Session(ctx context.Context, statements []store.Statement) (store.Session, error) {
	n := &session{d: d, full: map[int]fullRead{}, get: map[string]int{}, put: map[string]int{}, remove: map[string]int{}}
	n.add(statements...)
	for i := range statements {
		s := &statements[i]
		t := d.schema.Table(s.Table)
		if t == nil || !d.looks || s.Verb == store.Native {
			continue
		}
		if s.Verb == store.Update || s.Verb == store.Delete {
			read, takes := fullOf(t, s)
			read.Name = ownPrefix + s.Name
			n.full[i] = fullRead{n.add(read), takes}
		}
		if _, known := n.get[s.Table]; !known {
			where, put := store.Where(t.Key()...), store.Put
			if t.Within != "" || t.Keys() == len(t.Columns) {
				put = store.Insert // such a row is there, or it is not
			}
			n.get[s.Table] = n.add(store.Statement{Name: ownPrefix + "get_" + s.Table, Verb: store.Read, Table: s.Table, Columns: t.Names(), Where: where})
			if d.Database.Lacks()[store.Changes] != "" {
				continue
			}
			n.put[s.Table] = n.add(store.Statement{Name: ownPrefix + "put_" + s.Table, Verb: put, Table: s.Table, Columns: t.Names()})
			n.remove[s.Table] = n.add(store.Statement{Name: ownPrefix + "remove_" + s.Table, Verb: store.Delete, Table: s.Table, Where: where})
		}
	}
	inner, err := d.Database.Session(ctx, n.statements)
	if err != nil {
		return nil, err
	}
	n.Session, n.client = inner, inner
	return n, nil
}

func (d *database) SteppedSession(ctx context.Context, statements []store.Statement) (store.Session, error) {
	n, err := d.Session(ctx, statements)
	if err == nil {
		n.(*session).stepped = true
	}
	return n, err
}

// add adds statements and returns the last one's index.
func (n *session) add(statements ...store.Statement) int {
	n.statements = append(n.statements, statements...)
	return len(n.statements) - 1
}

func (n *session) Close() { n.client.Close() }

type operation struct {
	writes bool
	// Exactly one of send (with calls), add (with rows), work and texts is set.
	calls []store.Call
	send  func(context.Context, store.Session, []store.Call) store.Reply
	rows  store.Rows
	add   func(context.Context, store.Session, store.Rows) store.Reply
	work  func(context.Context, store.Transaction) error
	texts func(context.Context, store.Sender) error
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

func (n *session) do(ctx context.Context, o *operation) store.Reply {
	if n.stepped {
		return n.step(ctx, o)
	}
	d := n.d
	came := d.events.Add(1)
	if err := d.begin(ctx); err != nil {
		return unsent(err)
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
	x := d.attempt(d.draw(func(a *bug.Act) bool { return n.suits(a, o) }), n.finished)
	x.n = n
	if x.bug != nil && o.work != nil && foresees(x.bug.Act.Does) {
		if will := n.rehearse(ctx, o); will == nil || !x.suited(ctx, will) {
			x.bug = nil
		}
	}
	if x.does(bug.Delays) {
		return n.delay(x.bug, o)
	}
	wrote := n.wrote
	reply := n.perform(ctx, x, o)
	if reply.Outcome != history.Committed {
		n.known, n.wrote = nil, wrote
	}
	return reply
}

// step does a transaction that may stop while others run. It takes the turn only for moments.
func (n *session) step(ctx context.Context, o *operation) store.Reply {
	d := n.d
	if err := d.take(ctx); err != nil {
		return unsent(err)
	}
	d.guard.Lock()
	beside := len(d.underWay) > 0
	d.guard.Unlock()
	x := d.attempt(d.draw(func(a *bug.Act) bool { return a.Stepped && o.writes && beside }), 0)
	x.n, x.looks = n, d.looks
	reply := committed()
	if x.struck = x.does(bug.Loses); !x.struck {
		d.done()
		reply = n.transact(ctx, x, o)
		d.turn <- struct{}{}
	}
	defer d.done()
	if x.struck && reply.Outcome == history.Committed {
		x.bug.strikes++
	}
	return reply
}

func (n *session) delay(b *active, o *operation) store.Reply {
	later := *o
	later.calls = slices.Clone(o.calls)
	for i := range later.calls { // their memory is the client's, who goes on
		call := &later.calls[i]
		call.Parameters = copied(call.Parameters)
		if call.Row != nil {
			call.Row = func(store.Row) error { return nil }
		}
	}
	if o.add != nil {
		later.rows = kept(o.rows)
	}
	// The client has left the session, which uses another one of the database's from then on.
	n.d.postpone(b.Act.Calls, func(ctx context.Context) {
		inner, err := n.d.Database.Session(ctx, n.statements)
		if err != nil {
			return // it is as if the database had not done it
		}
		defer inner.Close()
		n.Session = inner
		n.perform(ctx, n.d.attempt(nil, 0), &later)
	})
	b.strikes++
	return store.Reply{Class: store.ClassTimeout}
}

func copied(values []store.Value) []store.Value {
	values = slices.Clone(values)
	for i := range values {
		v := &values[i]
		v.Bytes, v.Numbers = slices.Clone(v.Bytes), slices.Clone(v.Numbers)
	}
	return values
}

func kept(rows store.Rows) store.Rows {
	var all [][]store.Value
	for i := range rows.Count {
		all = append(all, rows.Row(i, nil))
	}
	rows.Row = func(i int, into []store.Value) []store.Value { return append(into, all[i]...) }
	return rows
}

// perform does an operation. The caller has the turn.
func (n *session) perform(ctx context.Context, x *attempt, o *operation) store.Reply {
	x.n = n
	var reply store.Reply
	var deliver func() error
	switch {
	case o.work != nil:
		reply = n.transact(ctx, x, o)
	case o.texts != nil:
		reply = n.sendTexts(ctx, x, o)
	case o.add != nil:
		if x.looks {
			x.insertedRows(o.rows)
		}
		reply = o.add(ctx, n.Session, o.rows)
	default:
		reply, deliver = n.send(ctx, x, o)
	}
	if reply.Outcome != history.Committed {
		x.refused(ctx)
		return reply
	}
	x.settle()
	if deliver != nil {
		if err := deliver(); err != nil {
			return store.Reply{Class: store.ClassOther, Err: err}
		}
	}
	return x.committed(ctx, o, reply)
}

// send sends calls and keeps their rows, which deliver then gives to the client.
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

func rowOf(row store.Row, t *store.Table, s *store.Statement) (image, error) {
	if s.Verb == store.Count {
		return numbers(row, 1+len(s.Columns))
	}
	return decode(row, t, s.Columns)
}

var errNotRead = errors.New("bugs: rows could not be read")

type doer = func(ctx context.Context, statement int, row func(store.Row) error, parameters ...store.Value) error

func doerOf(t store.Transaction) doer {
	return func(ctx context.Context, statement int, row func(store.Row) error, parameters ...store.Value) error {
		_, err := t.Do(ctx, statement, row, parameters...)
		return err
	}
}

func (n *session) run(ctx context.Context, statement int, row func(store.Row) error, parameters ...store.Value) error {
	if n.Session.Run(ctx, store.Call{Statement: statement, Parameters: parameters, Row: row}).Outcome != history.Committed {
		return errNotRead
	}
	return nil
}

// rewrite changes rows, in one transaction if the database has transactions, and reports success.
func (n *session) rewrite(ctx context.Context, changes []change, to func(*change) image) bool {
	if n.d.Database.Lacks()[store.Changes] != "" {
		n.d.shown.rewrite(n.d, changes, to)
		return true
	}
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
	if len(calls) > 1 && n.d.Database.Lacks()[store.Transactions] == "" {
		return n.Session.Batch(ctx, &store.Batch{Calls: calls}).Outcome == history.Committed
	}
	return !slices.ContainsFunc(calls, func(c store.Call) bool { return n.Session.Run(ctx, c).Outcome != history.Committed })
}

// asBefore and asAfter are arguments of rewrite.
func asBefore(c *change) image { return c.before }
func asAfter(c *change) image  { return c.after }

const ownPrefix = "bug_"

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
