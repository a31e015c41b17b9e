package bugs

import (
	"context"
	"slices"

	"assay/store"
	"assay/store/bug"
)

// attempt is one operation that is under way, or an audit. Whoever works on it has the turn.
type attempt struct {
	d *database
	// n is the session; nil of an audit.
	n *session
	// bug is the one that is at work; nil if none is. struck is true if it has changed what
	// is read, mixes if it mixes columns, where it may mix rows.
	bug           *active[bug.Act]
	struck, mixes bool
	// looks is true if it is to be known what rows were before.
	looks bool
	// finished is the number of the last event when the session's last call ended.
	finished uint64
	// snapshot is the transaction whose state is read, hidden one that is not seen.
	snapshot int64
	hidden   *ended
	changes  []change
	reads    []seenRow
	// over is true if nothing of it counts any more; see spoilable.
	over bool
	// replaced is what a row was that the bug has replaced before.
	replaced *change
}

func (d *database) attempt(b *active[bug.Act], finished uint64) *attempt {
	x := &attempt{d: d, bug: b, finished: finished, snapshot: d.log.clock, looks: d.watches}
	if b != nil {
		x.looks = x.looks || looksAtRows(b.acts.Does)
		x.mixes = b.acts.Does == bug.ReadsMiddle && d.coin()
	}
	return x
}

// does says whether the bug that is at work does this.
func (x *attempt) does(what bug.Does) bool { return x.bug != nil && x.bug.acts.Does == what }

// change is what the attempt does to a row; it is entered if there is none.
func (x *attempt) change(p place, before image) *change {
	for i := range x.changes {
		if x.changes[i].place == p {
			return &x.changes[i]
		}
	}
	x.changes = append(x.changes, change{place: p, before: before})
	return &x.changes[len(x.changes)-1]
}

// capture notes which rows a statement is to change, and what they are before.
func (x *attempt) capture(ctx context.Context, do doer, statement int, parameters []store.Value) {
	s := &x.n.statements[statement]
	t := x.d.schema.Table(s.Table)
	if !x.looks || t == nil || s.ReadsOnly() || s.Verb == store.Native {
		return
	}
	switch s.Verb {
	case store.Insert:
		for row := range max(s.Rows, 1) {
			x.captureInsert(t, s, row, parameters)
		}
		return
	case store.Put, store.Append:
		var key []store.Value
		for _, name := range t.Key() {
			v, _ := valueOfExpression(s.Value(0, slices.Index(s.Columns, name)), parameters)
			key = append(key, v)
		}
		before, err := x.current(ctx, do, t, key)
		x.check(err)
		x.change(placeOf(t.Name, key), before).inserted = before == nil
		return
	}
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
		for _, a := range s.Set {
			if a.Add && !slices.Contains(c.adds, a.Column) {
				c.adds = append(c.adds, a.Column)
			}
		}
		return nil
	}, values...))
}

// check has the bug not be in an attempt of which is not known what it changes.
func (x *attempt) check(err error) {
	if err != nil {
		x.bug, x.looks = nil, false
	}
}

// captureInsert notes a row that is inserted. Values that hang on other rows are read after.
func (x *attempt) captureInsert(t *store.Table, s *store.Statement, row int, parameters []store.Value) {
	after, whole := make(image, len(t.Columns)), true
	for i, name := range s.Columns {
		v, ok := valueOfExpression(s.Value(row, i), parameters)
		after[column(t, name)], whole = v, whole && ok
	}
	c := x.change(placeOf(t.Name, after[:t.Keys()]), nil)
	if c.inserted = true; !whole {
		c.after = after[:t.Keys():t.Keys()]
		return
	}
	c.after = after
}

// insertedRows notes rows that are inserted.
func (x *attempt) insertedRows(rows store.Rows) {
	t := x.d.schema.Table(rows.Table)
	for i := range rows.Count {
		after := make(image, len(t.Columns))
		for k, v := range rows.Row(i, nil) {
			after[column(t, rows.Columns[k])] = v
		}
		c := x.change(placeOf(t.Name, after[:t.Keys()]), nil)
		c.inserted, c.after = true, after
	}
}

// current is a row as it is now; nil if there is none.
func (x *attempt) current(ctx context.Context, do doer, t *store.Table, key []store.Value) (found image, err error) {
	err = do(ctx, x.n.get[t.Name], func(row store.Row) (err error) {
		found, err = decode(row, t, t.Names())
		return err
	}, key...)
	return found, err
}

// after notes what the rows are that a transaction has changed, and forgets those that it
// has not.
func (x *attempt) after(ctx context.Context) {
	if !x.looks {
		x.changes = nil
		return
	}
	ctx, cancel := own(ctx)
	defer cancel()
	for i := range x.changes {
		c := &x.changes[i]
		t := x.d.schema.Table(c.table)
		if c.inserted && len(c.after) == len(t.Columns) {
			continue
		}
		key := c.before
		if key == nil {
			key = c.after
		}
		var err error
		c.after, err = x.current(ctx, x.n.run, t, key[:t.Keys()])
		if x.check(err); err != nil {
			x.changes = nil
			return
		}
	}
	x.changes = slices.DeleteFunc(x.changes, func(c change) bool { return c.before.equal(c.after) })
}

// answer gives a row of an answer to the client, as it is shown.
func (x *attempt) answer(s *store.Statement, parameters []store.Value, row image, give func(store.Row) error) error {
	if row = x.shown(s, parameters, row); row == nil {
		return nil
	}
	return give(row)
}

func (x *attempt) shown(s *store.Statement, parameters []store.Value, row image) image {
	d := x.d
	d.guard.Lock()
	defer d.guard.Unlock()
	if x.over {
		return nil
	}
	t := d.schema.Table(s.Table)
	if s.Verb != store.Count {
		if p, ok := d.whose(t, s, parameters, row); ok {
			if s.Verb == store.Read {
				row = x.see(p, t, s.Columns, row)
			}
			if row == nil {
				return nil
			}
			row = d.shown.row(p, s.Columns, row)
		}
	}
	if x.does(bug.Misanswers) && !x.struck {
		if i := slices.IndexFunc(s.Columns, func(name string) bool { return slices.Contains(x.bug.acts.Columns, name) }); i >= 0 {
			x.struck = true
			return row.with(i, store.OfInt(row[i].Number+1))
		}
	}
	return row
}

// record remembers the attempt.
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
	d.ghosts = slices.DeleteFunc(d.ghosts, func(g []change) bool {
		return slices.ContainsFunc(g, func(c change) bool { return e.wrote(c.place) != nil })
	})
	d.log.add(e)
	if n != nil {
		n.known = e.known
	}
}
