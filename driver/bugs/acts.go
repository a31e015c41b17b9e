package bugs

import (
	"context"
	"slices"

	"assay/history"
	"assay/store"
	"assay/store/bug"
	"assay/workload"
)

// reads says that a bug is in what is read.
func reads(does bug.Does) bool {
	switch does {
	case bug.ReadsMiddle, bug.ReadsAborted, bug.ReadsSkewed, bug.ReadsForked, bug.ReadsStale, bug.ReadsPassed:
		return true
	}
	return false
}

// remembers says that a bug needs the last transactions.
func remembers(does bug.Does) bool {
	return reads(does) || does == bug.Overwrites || does == bug.LosesSoon
}

// looksAtRows says that a bug needs what the rows were that a transaction changes.
func looksAtRows(does bug.Does) bool {
	switch does {
	case bug.Denies, bug.Delays, bug.Truncates, bug.Misanswers:
		return false
	}
	return true
}

// suits says that a bug can be in an operation of a session.
func suits(does bug.Does, writes bool) bool {
	switch does {
	case bug.Truncates:
		return false
	case bug.ReadsAborted:
		return true
	case bug.Delays, bug.Misanswers:
		return writes
	}
	return reads(does) != writes
}

// prepare is done before a transaction is sent.
func (x *attempt) prepare(ctx context.Context) {
	if !x.does(bug.Overwrites) {
		return
	}
	for i := range x.changes {
		c := &x.changes[i]
		last := x.d.log.last(c.place, x.d.log.clock)
		if c.before == nil || last == nil || last.wrote(c.place).before == nil {
			continue
		}
		replaced := *c
		c.before = last.wrote(c.place).before
		if x.n.rewrite(ctx, []change{*c}, asBefore) {
			x.replaced = &replaced
		}
		return
	}
}

// refused ends an operation that was not committed.
func (x *attempt) refused(ctx context.Context, o *operation, reply store.Reply) store.Reply {
	if x.replaced != nil {
		x.n.rewrite(ctx, []change{*x.replaced}, asBefore)
	}
	if reply.Violated != store.Floor || o.calls == nil {
		return reply
	}
	switch {
	case x.does(bug.KeepsPart):
		x.keepCall(ctx, o)
	case x.does(bug.Overdraws):
		return x.overdraw(ctx, o, reply)
	}
	return reply
}

// keepCall does one statement of a transaction that was refused.
func (x *attempt) keepCall(ctx context.Context, o *operation) {
	ctx, cancel := own(ctx)
	defer cancel()
	for _, i := range x.d.chance.Perm(len(o.calls)) {
		call := o.calls[i]
		if x.n.statements[call.Statement].ReadsOnly() {
			continue
		}
		if call.Row != nil {
			call.Row = func(store.Row) error { return nil }
		}
		if x.n.Session.Run(ctx, call).Outcome == history.Committed {
			x.bug.strikes++
			return
		}
	}
}

// committed ends an operation that was committed.
func (x *attempt) committed(ctx context.Context, o *operation, reply store.Reply) store.Reply {
	if x.replaced != nil {
		x.struck = true
	}
	if x.bug == nil {
		x.record(x.n)
		return reply
	}
	act := &x.bug.acts
	switch kept := x.changes; act.Does {
	case bug.Loses:
		if x.undo(ctx, x.changes) {
			x.bug.strikes++
			return reply
		}
	case bug.LosesSoon:
		x.record(x.n)
		x.loseSoon()
		return reply
	case bug.ReadsAborted:
		if o.writes {
			return x.abort(ctx, reply)
		}
	case bug.KeepsPart:
		if len(kept) > 0 {
			i := x.d.chance.IntN(len(kept))
			x.struck = x.undo(ctx, slices.Delete(slices.Clone(kept), i, i+1))
			x.changes = kept[i : i+1]
			reply = store.Reply{Reply: failed()}
		}
	case bug.Denies:
		x.struck = true
		reply = store.Reply{Reply: failed()}
	case bug.Forgets, bug.ForgetsUpdates, bug.Doubles:
		x.spoilUpdates(ctx)
	case bug.Alters, bug.Repeats, bug.Adds:
		x.spoilInsert(ctx, o)
	case bug.Splits:
		x.split(ctx)
	}
	x.record(x.n)
	return reply
}

// undo has rows be as they were before.
func (x *attempt) undo(ctx context.Context, changes []change) bool {
	return x.n.rewrite(ctx, changes, asBefore)
}

// abort undoes a transaction that somebody may see all the same.
func (x *attempt) abort(ctx context.Context, reply store.Reply) store.Reply {
	if !x.undo(ctx, x.changes) {
		x.record(x.n)
		return reply
	}
	if len(x.d.ghosts) == maxGhosts {
		x.d.ghosts = slices.Delete(x.d.ghosts, 0, 1)
	}
	x.d.ghosts = append(x.d.ghosts, x.changes)
	return store.Reply{Reply: failed()}
}

// loseSoon is a failover that loses what only the old primary had: the transaction, and all
// that were committed until then.
func (x *attempt) loseSoon() {
	d, b, from := x.d, x.bug, x.d.log.clock
	if d.losing || len(x.changes) == 0 {
		return
	}
	d.losing = true
	d.later(b.acts.Calls, x.n.statements, func(ctx context.Context, n *session) {
		d.losing = false
		lost := false
		for e := range d.log.back() {
			if e.at < from || len(e.changes) > 0 && !n.rewrite(ctx, e.changes, asBefore) {
				break
			}
			lost = lost || e.at == from && len(e.changes) > 0
		}
		d.log.entries = slices.DeleteFunc(d.log.entries, func(e ended) bool { return e.at >= from })
		if lost {
			b.strikes++
		}
	})
}

// figures are the updates of the attempt that a bug may be in: those that changed one of its
// columns.
func (x *attempt) figures() (updates []change) {
	act := &x.bug.acts
	if len(x.changes) < act.Rows {
		return nil
	}
	for _, c := range x.changes {
		if c.before == nil || c.after == nil || act.Table != "" && c.table != act.Table {
			continue
		}
		for i, column := range x.d.schema.Table(c.table).Columns {
			if (len(act.Columns) == 0 || slices.Contains(act.Columns, column.Name)) && !c.before[i:i+1].equal(c.after[i:i+1]) {
				updates = append(updates, c)
				break
			}
		}
	}
	return updates
}

// spoilUpdates leaves updates out, or does them again.
func (x *attempt) spoilUpdates(ctx context.Context) {
	updates := x.figures()
	if x.bug.acts.Does == bug.Forgets && len(updates) > 0 {
		i := x.d.chance.IntN(len(updates))
		updates = updates[i : i+1]
	}
	if len(updates) == 0 {
		return
	}
	to := asBefore
	if x.bug.acts.Does == bug.Doubles {
		if to = x.again; !slices.ContainsFunc(updates, func(c change) bool { return !to(&c).equal(c.after) }) {
			return
		}
	}
	if x.n.rewrite(ctx, updates, to) {
		x.struck = true
		for _, c := range updates {
			x.change(c.place, nil).after = to(&c)
		}
	}
}

// again is a row with what was added to it added once more.
func (x *attempt) again(c *change) image {
	row, t := slices.Clone(c.after), x.d.schema.Table(c.table)
	for _, name := range c.adds {
		i := column(t, name)
		row[i].Number += c.after[i].Number - c.before[i].Number
	}
	return row
}

// spoilInsert does something to a row that was inserted.
func (x *attempt) spoilInsert(ctx context.Context, o *operation) {
	act := &x.bug.acts
	var inserted []change
	for _, c := range x.changes {
		if c.inserted && c.after != nil && (act.Table == "" || c.table == act.Table) {
			inserted = append(inserted, c)
		}
	}
	if len(inserted) == 0 {
		return
	}
	c := inserted[x.d.chance.IntN(len(inserted))]
	switch act.Does {
	case bug.Repeats:
		x.d.shown.copies[c.place]++
		x.d.differences++
		if x.struck = true; act.Again && x.d.coin() {
			x.n.rewrite(ctx, slices.DeleteFunc(slices.Clone(x.changes), func(c change) bool { return c.before == nil || c.after == nil }), x.again)
		}
	case bug.Alters:
		altered := c
		altered.after = x.alter(&c)
		x.struck = x.n.rewrite(ctx, []change{altered}, asAfter)
	case bug.Adds:
		x.struck = x.add(ctx, o, &c)
	}
}

// alter is a row with another value in a column.
func (x *attempt) alter(c *change) image {
	t, columns := x.d.schema.Table(c.table), x.bug.acts.Columns
	if len(columns) == 0 {
		columns = t.Names()[t.Keys():]
	}
	i := column(t, columns[x.d.chance.IntN(len(columns))])
	return c.after.with(i, x.otherThan(c.after[i]))
}

// otherThan is another value of the same kind.
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
	}
	v.Number++
	return v
}

// add adds a row like another one under a key of nobody's; a transaction whose statements
// are known is done again for it.
func (x *attempt) add(ctx context.Context, o *operation, c *change) bool {
	d, t := x.d, x.d.schema.Table(c.table)
	key := t.Keys() - 1
	nobody := store.OfInt(workload.OperationID(workload.MaxClient, d.calls))
	if of := c.after[key]; of.Kind == store.Bytes {
		nobody = store.OfBytes(slices.Clone(of.Bytes))
		nobody.Bytes[len(nobody.Bytes)-1]++
	}
	extra := *c
	extra.after = c.after.with(key, nobody)
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

// split has the transaction be on the primary only, or on the others only.
func (x *attempt) split(ctx context.Context) {
	x.d.differences += len(x.changes)
	if x.d.coin() {
		x.d.others.undo(x.d, x.changes)
		x.struck = true
	} else if x.undo(ctx, x.changes) {
		x.d.others.redo(x.d, x.changes)
		x.struck = true
		x.changes = nil
	}
}
