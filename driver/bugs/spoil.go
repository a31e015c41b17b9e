package bugs

import (
	"context"
	"slices"

	"assay/history"
	"assay/store"
	"assay/store/bug"
	"assay/workload"
)

// spoil acts on rows that the transaction has changed.
func (x *attempt) spoil(ctx context.Context, o *operation, of []change) bool {
	act, i := &x.bug.Act, x.d.chance.IntN(len(of))
	one := of[i : i+1]
	switch act.Does {
	case bug.Forgets:
		return x.rewrite(ctx, one, asBefore)
	case bug.ForgetsSome:
		return len(of) > 1 && x.rewrite(ctx, of[max(1, i):], asBefore)
	case bug.ForgetsAll:
		return x.rewrite(ctx, of, asBefore)
	case bug.Doubles:
		return x.rewrite(ctx, of, x.again)
	case bug.Alters:
		return x.rewrite(ctx, one, func(c *change) image { return x.alter(x.d.schema.Table(c.table), c.after) })
	case bug.Repeats:
		x.d.shown.extra[one[0].table] = append(x.d.shown.extra[one[0].table], one[0].after)
		x.d.differences++
		return true
	case bug.Adds:
		return x.add(ctx, o, &one[0])
	case bug.Renumbers:
		for _, c := range of {
			for _, name := range act.Columns {
				if x.d.schema.Table(c.table).Column(name) != nil {
					x.d.shown.add(c.place, name, -1)
					x.d.differences++
				}
			}
		}
		return true
	}
	return false
}

// rewrite changes rows and reports whether any row is different now.
func (x *attempt) rewrite(ctx context.Context, changes []change, to func(*change) image) bool {
	var other []change
	rows := map[place]image{}
	for _, c := range changes {
		if row := to(&c); !row.equal(c.after) {
			other, rows[c.place] = append(other, c), row
		}
	}
	if len(other) == 0 || !x.n.rewrite(ctx, other, func(c *change) image { return rows[c.place] }) {
		return false
	}
	for _, c := range other {
		x.change(c.place, nil).after = rows[c.place]
	}
	return true
}

func differing(before, after image) (columns []int) {
	for i := range after {
		if !before[i : i+1].equal(after[i : i+1]) {
			columns = append(columns, i)
		}
	}
	return columns
}

func toOf(c *change) bug.To {
	switch {
	case c.before == nil:
		return bug.Inserted
	case c.after == nil:
		return bug.Deleted
	}
	return bug.Updated
}

// candidates are the changes that suit the bug's tables, its kind of change and, for updates, its
// columns.
func (x *attempt) candidates() (changes []change) {
	act := &x.bug.Act
	to := act.To
	if to == "" {
		switch act.Does {
		case bug.Alters, bug.Repeats, bug.Adds, bug.Renumbers:
			to = bug.Inserted
		case bug.Forgets, bug.ForgetsSome, bug.ForgetsAll, bug.Doubles:
			to = bug.Updated
		}
	}
	for _, c := range x.changes {
		names := x.d.schema.Table(c.table).Names()
		figures := toOf(&c) != bug.Updated || len(act.Columns) == 0 || act.Does == bug.Alters || act.Does == bug.Adds ||
			slices.ContainsFunc(differing(c.before, c.after), func(i int) bool { return slices.Contains(act.Columns, names[i]) })
		if figures && about(act, c.table) && (to == "" || toOf(&c) == to) {
			changes = append(changes, c)
		}
	}
	return changes
}

// again is the row with its increments applied twice, or with the earlier Put's value.
func (x *attempt) again(c *change) image {
	row, t := slices.Clone(c.after), x.d.schema.Table(c.table)
	for i, v := range row {
		if n := len(c.before[i].Numbers); len(v.Numbers) > n {
			return row.with(i, store.OfList(append(slices.Clone(v.Numbers), v.Numbers[n:]...)))
		}
	}
	if len(c.adds) == 0 {
		return c.before
	}
	for _, name := range c.adds {
		i := column(t, name)
		row[i].Number += c.after[i].Number - c.before[i].Number
	}
	return row
}

func (x *attempt) alter(t *store.Table, row image) image {
	columns := x.bug.Act.Columns
	if len(columns) == 0 {
		columns = t.Names()[t.Keys():]
	}
	i := column(t, columns[x.d.chance.IntN(len(columns))])
	return row.with(i, x.otherThan(row[i]))
}

func (x *attempt) otherThan(v store.Value) store.Value {
	switch v.Kind {
	case store.Text:
		last := "0"
		if v.Text != "" && v.Text[len(v.Text)-1:] == last {
			last = "1"
		}
		return store.OfText(v.Text[:max(0, len(v.Text)-1)] + last)
	case store.Bool:
		return store.OfBool(v.Number == 0)
	case store.List:
		return store.OfList(append(slices.Clone(v.Numbers), v.Numbers[len(v.Numbers)-1]+1))
	}
	v.Number++
	return v
}

// add adds a copy of a row under a key that no client uses. It repeats a transaction whose
// statements are all known.
func (x *attempt) add(ctx context.Context, o *operation, c *change) bool {
	d, t := x.d, x.d.schema.Table(c.table)
	key := t.Keys() - 1
	nobody := store.OfInt(workload.OperationID(workload.MaxClient, d.calls))
	switch of := c.after[key]; of.Kind {
	case store.Bytes:
		nobody = store.OfBytes(slices.Clone(of.Bytes))
		nobody.Bytes[len(nobody.Bytes)-1]++
	case store.Text:
		nobody = store.OfText(of.Text[:max(0, len(of.Text)-1)] + "x")
	}
	extra := *c
	extra.after = c.after.with(key, nobody)
	for _, name := range x.bug.Act.Columns {
		extra.after = extra.after.with(column(t, name), nobody)
	}
	if len(o.calls) < 2 {
		return x.n.rewrite(ctx, []change{extra}, asAfter)
	}
	again := slices.Clone(o.calls)
	for i := range again {
		call := &again[i]
		if call.Row != nil {
			call.Row = func(store.Row) error { return nil }
		}
		s := &x.n.statements[call.Statement]
		if s.Verb != store.Insert || s.Table != c.table {
			continue
		}
		if of := s.Value(0, slices.Index(s.Columns, t.Key()[key])); of.Source == store.FromParameter {
			call.Parameters = slices.Clone(call.Parameters)
			call.Parameters[of.Parameter-1] = nobody
		}
	}
	ctx, cancel := own(ctx)
	defer cancel()
	return o.send(ctx, x.n.Session, again).Outcome == history.Committed
}
