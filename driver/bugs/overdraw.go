package bugs

import (
	"context"

	"assay/store"
)

// overdraw does a transaction that a Floor refuses. What would be below the floor is shown so
// and stored as it was.
func (x *attempt) overdraw(ctx context.Context, o *operation, reply store.Reply) store.Reply {
	d := x.d
	short := newOverlay()
	for i := range x.changes {
		c := &x.changes[i]
		t := d.schema.Table(c.table)
		if c.after == nil || len(c.after) != len(t.Columns) {
			return reply
		}
		for _, f := range t.Floors {
			if k := column(t, f.Column); c.before != nil && c.after[k].Number < f.Least {
				short.add(c.place, f.Column, c.after[k].Number-c.before[k].Number)
				c.after = c.after.with(k, c.before[k])
			}
		}
	}
	if !x.n.rewrite(ctx, x.changes, asAfter) {
		return reply
	}
	for p, by := range short.adds {
		for name, n := range by {
			d.shown.add(p, name, n)
			d.differences++
		}
	}
	for _, call := range o.calls {
		s := &x.n.statements[call.Statement]
		t := d.schema.Table(s.Table)
		if key, ok := keyed(t, s, call.Parameters); ok && call.Row != nil {
			row := x.change(placeOf(t.Name, key), nil).after.pick(t, s.Columns)
			if err := x.answer(s, call.Parameters, []image{row}, call.Row); err != nil {
				return reply
			}
		}
	}
	x.struck = true
	x.record(x.n)
	return committed()
}
