package bugs

import (
	"context"
	"slices"

	"assay/store"
)

// overdraw does a transaction that a Floor refuses. What would be below the floor is shown so
// and stored as it was.
func (x *attempt) overdraw(ctx context.Context, o *operation, reply store.Reply) store.Reply {
	d := x.d
	var below []func()
	for _, call := range o.calls {
		s := &x.n.statements[call.Statement]
		t := d.schema.Table(s.Table)
		switch s.Verb {
		case store.Update:
			key, ok := keyed(t, s, call.Parameters)
			if !ok {
				return reply
			}
			c := x.change(placeOf(t.Name, key), nil)
			if c.before == nil {
				return reply
			}
			c.after = slices.Clone(c.before)
			for _, a := range s.Set {
				i := column(t, a.Column)
				v, _ := valueOfExpression(a.Value, call.Parameters)
				if a.Add {
					v.Number += c.before[i].Number
				}
				if least, ok := t.Floor(a.Column); ok && v.Number < least {
					p, by := c.place, v.Number-c.before[i].Number
					below = append(below, func() { d.shown.add(p, a.Column, by); d.differences++ })
					continue
				}
				c.after[i] = v
			}
		case store.Insert:
			row := make(image, len(t.Columns))
			for i, name := range s.Columns {
				row[column(t, name)] = x.left(s.Value(0, i), call.Parameters)
			}
			x.change(placeOf(t.Name, row[:t.Keys()]), nil).after = row
		}
	}
	if !x.n.rewrite(ctx, x.changes, asAfter) {
		return reply
	}
	for _, show := range below {
		show()
	}
	for _, call := range o.calls {
		s := &x.n.statements[call.Statement]
		t := d.schema.Table(s.Table)
		if key, ok := keyed(t, s, call.Parameters); ok && call.Row != nil {
			row := x.change(placeOf(t.Name, key), nil).after.pick(t, s.Columns)
			if err := x.answer(s, call.Parameters, row, call.Row); err != nil {
				return reply
			}
		}
	}
	x.struck = true
	x.record(x.n)
	return store.Reply{Reply: committed()}
}

// left is the value of an expression, which may be of a row as the transaction leaves it.
func (x *attempt) left(e store.Expression, parameters []store.Value) store.Value {
	if e.Source != store.FromLeft {
		v, _ := valueOfExpression(e, parameters)
		return v
	}
	var key []store.Value
	for _, k := range e.Key {
		key = append(key, x.left(k, parameters))
	}
	t := x.d.schema.Table(e.Table)
	return x.change(placeOf(e.Table, key), nil).after[column(t, e.Column)]
}
