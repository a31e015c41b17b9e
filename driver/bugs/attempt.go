package bugs

import (
	"context"
	"slices"

	"assay/history"
	"assay/store"
	"assay/store/bug"
)

// attempt is a running operation, or an audit. Whoever works on it has the turn.
type attempt struct {
	d *database
	// n is nil in an audit.
	n *session
	// bug is the bug at work, or nil. struck is true after it has acted. mixes lets ReadsMiddle
	// mix columns of one row instead of rows.
	bug           *active
	struck, mixes bool
	// looks asks for the rows' state before changes.
	looks bool
	// finished is the last event's number at the end of the session's last call.
	finished uint64
	// snapshot is the transaction whose state is read. hidden is a transaction left out of it.
	snapshot int64
	hidden   *ended
	changes  []change
	reads    []seenRow
	// unseen is true after a Native has changed something.
	unseen bool
	// over ends all work on the attempt; see spoilable.
	over bool
	// replaced is a row as it was before overwrite.
	replaced  *change
	rehearsal *rehearsal
}

func (d *database) attempt(b *active, finished uint64) *attempt {
	x := &attempt{d: d, bug: b, finished: finished, snapshot: d.log.clock, looks: d.watches}
	if b != nil {
		x.looks = x.looks || looksAtRows(&b.Act)
		x.mixes = b.Act.Does == bug.ReadsMiddle && d.coin()
	}
	return x
}

func (x *attempt) does(what bug.Does) bool { return x.bug != nil && x.bug.Act.Does == what }

// change is the attempt's change of a row, entered with before if it is new.
func (x *attempt) change(p place, before image) *change {
	for i := range x.changes {
		if x.changes[i].place == p {
			return &x.changes[i]
		}
	}
	x.changes = append(x.changes, change{place: p, before: before, after: before})
	return &x.changes[len(x.changes)-1]
}

func (x *attempt) about(table string) bool { return x.bug != nil && about(&x.bug.Act, table) }

// capture records the rows that a statement is about to change, before and after.
func (x *attempt) capture(ctx context.Context, do doer, statement int, parameters []store.Value) {
	s := &x.n.statements[statement]
	t := x.d.schema.Table(s.Table)
	if !x.looks || t == nil || s.ReadsOnly() || s.Verb == store.Native {
		return
	}
	defer x.publish()
	switch s.Verb {
	case store.Insert:
		for row := range max(s.Rows, 1) {
			x.insert(t, s, row, parameters)
		}
	case store.Put, store.Append:
		x.check(x.put(ctx, do, t, s, parameters))
	default:
		full := x.n.full[statement]
		var values []store.Value
		for _, i := range full.takes {
			values = append(values, parameters[i])
		}
		x.check(do(ctx, full.statement, func(row store.Row) error {
			before, err := decode(row, t, t.Names())
			if err != nil {
				return err
			}
			c := x.change(placeOf(t.Name, before[:t.Keys()]), before)
			if s.Verb == store.Delete {
				c.after = nil
			} else {
				c.update(t, s, parameters)
			}
			return nil
		}, values...))
	}
}

// publish enters a stepped session's transaction into underWay.
func (x *attempt) publish() {
	x.d.guard.Lock()
	defer x.d.guard.Unlock()
	if x.n.stepped && !x.over {
		x.d.underWay[x] = true
	}
}

// check stops the bug if the changes of its attempt are not known.
func (x *attempt) check(err error) {
	if err != nil {
		x.bug, x.looks = nil, false
	}
}

func (x *attempt) insert(t *store.Table, s *store.Statement, row int, parameters []store.Value) {
	after := make(image, len(t.Columns))
	for i, name := range s.Columns {
		after[column(t, name)] = x.left(s.Value(row, i), parameters)
	}
	x.change(placeOf(t.Name, after[:t.Keys()]), nil).after = after
}

func (x *attempt) put(ctx context.Context, do doer, t *store.Table, s *store.Statement, parameters []store.Value) error {
	var key image
	for _, name := range t.Key() {
		v, _ := valueOfExpression(s.Value(0, slices.Index(s.Columns, name)), parameters)
		key = append(key, v)
	}
	var before image
	err := do(ctx, x.n.get[t.Name], func(row store.Row) (err error) {
		before, err = decode(row, t, t.Names())
		return err
	}, key...)
	if err != nil {
		return err
	}
	c := x.change(placeOf(t.Name, key), before)
	if _, saw := x.saw(c.place); s.Verb == store.Put && !saw && c.after.equal(c.before) {
		c.blind = true
	}
	c.again()
	after := slices.Clone(c.after)
	if after == nil {
		after = append(key, make(image, len(t.Columns)-len(key))...)
	}
	for i, name := range s.Columns {
		v, _ := valueOfExpression(s.Value(0, i), parameters)
		k := column(t, name)
		if s.Verb == store.Append && i == 1 {
			v = store.OfList(append(slices.Clone(after[k].Numbers), v.Number))
		}
		after[k] = v
	}
	c.after = after
	return nil
}

func (c *change) again() {
	if c.middle == nil && !c.after.equal(c.before) {
		c.middle = c.after
	}
}

func (c *change) update(t *store.Table, s *store.Statement, parameters []store.Value) {
	c.again()
	was := c.after
	c.after = slices.Clone(was)
	for _, a := range s.Set {
		i := column(t, a.Column)
		v, _ := valueOfExpression(a.Value, parameters)
		if a.Value.Source == store.FromColumn {
			v = was[column(t, a.Value.Column)]
		}
		if a.Add {
			v.Number += was[i].Number
			if !slices.Contains(c.adds, a.Column) {
				c.adds = append(c.adds, a.Column)
			}
		}
		c.after[i] = v
	}
}

// left evaluates an expression, which may refer to a row of this transaction.
func (x *attempt) left(e store.Expression, parameters []store.Value) store.Value {
	if e.Source != store.FromLeft {
		v, _ := valueOfExpression(e, parameters)
		return v
	}
	var key []store.Value
	for _, k := range e.Key {
		key = append(key, x.left(k, parameters))
	}
	if c := x.change(placeOf(e.Table, key), nil); c.after != nil {
		return c.after[column(x.d.schema.Table(e.Table), e.Column)]
	}
	return store.OfInt(0) // the transaction is refused
}

func (x *attempt) insertedRows(rows store.Rows) {
	t := x.d.schema.Table(rows.Table)
	for i := range rows.Count {
		after := make(image, len(t.Columns))
		for k, v := range rows.Row(i, nil) {
			after[column(t, rows.Columns[k])] = v
		}
		x.change(placeOf(t.Name, after[:t.Keys()]), nil).after = after
	}
}

// settle forgets changes without a difference.
func (x *attempt) settle() {
	x.changes = slices.DeleteFunc(x.changes, func(c change) bool { return !x.looks || c.before.equal(c.after) })
}

// answer gives an answer's rows to the client as the bug shows them.
func (x *attempt) answer(s *store.Statement, parameters []store.Value, rows []image, give func(store.Row) error) error {
	for _, row := range x.shown(s, parameters, rows) {
		if err := give(row); err != nil {
			return err
		}
	}
	return nil
}

func (x *attempt) shown(s *store.Statement, parameters []store.Value, rows []image) (shown []image) {
	d := x.d
	d.guard.Lock()
	defer d.guard.Unlock()
	if x.over {
		return rows
	}
	t := d.schema.Table(s.Table)
	if s.Verb == store.Count {
		return []image{x.counted(t, s, parameters, rows[0])}
	}
	missing := missed(t, s, parameters)
	for _, row := range rows {
		p, ok := d.whose(t, s, parameters, row)
		missing = slices.DeleteFunc(missing, func(m place) bool { return m == p })
		if ok && s.Verb == store.Read {
			row = x.see(p, t, s.Columns, row)
		}
		if ok && row != nil {
			row = d.shown.row(p, s.Columns, row)
		}
		if row != nil {
			shown = append(shown, row)
		}
	}
	for _, p := range missing {
		if row := x.see(p, t, s.Columns, nil); row != nil {
			shown = append(shown, row)
		}
	}
	if len(shown) > 0 && x.about(s.Table) && answers(x.bug.Act.Does) && !x.struck {
		shown = x.misanswer(s, t, shown)
	}
	return shown
}

func (x *attempt) record(n *session) {
	d := x.d
	if x.struck {
		x.bug.strikes++
	}
	if !d.watches {
		return
	}
	if len(x.changes) > 0 {
		d.log.clock++
	}
	e := ended{at: d.log.clock, changes: x.changes, reads: x.reads, known: new(uint64)}
	d.log.add(e)
	if n != nil {
		n.known, n.seen = e.known, max(n.seen, x.snapshot)
		if len(x.changes) > 0 {
			n.wrote, n.seen = e.at, e.at
		}
	}
}

// captureAll captures several statements in one transaction, if the database has transactions.
func (x *attempt) captureAll(ctx context.Context, calls []store.Call) {
	if !x.looks || len(calls) == 1 || x.d.Database.Lacks()[store.Transactions] != "" {
		for _, call := range calls {
			x.capture(ctx, x.n.run, call.Statement, call.Parameters)
		}
		return
	}
	reply := x.n.Session.Transaction(ctx, false, func(ctx context.Context, t store.Transaction) error {
		for _, call := range calls {
			x.capture(ctx, doerOf(t), call.Statement, call.Parameters)
		}
		return nil
	})
	if reply.Outcome != history.Committed {
		x.check(errNotRead)
		x.changes = nil
	}
}
