package mongodb

import (
	"context"
	"fmt"
	"slices"

	"go.mongodb.org/mongo-driver/v2/bson"

	"assay/history"
	"assay/store"
)

var _ store.Batching = (*transaction)(nil)

// Batch implements store.Batching: one command does calls behind each other that update, or that
// delete, documents of one collection, that are of one statement that reads documents whose keys
// begin so, or that insert a document and what lies within it.
func (t *transaction) Batch(_ context.Context, calls []store.Call) (err error) {
	for len(calls) > 0 && err == nil {
		n := 1
		switch p := t.plans[calls[0].Statement]; {
		case t.keep:
			_, err = t.call(t.steps, &calls[0], true)
		case p.changesAlone():
			for n < len(calls) && t.plans[calls[n].Statement].changesLike(p) {
				n++
			}
			err = t.noted(t.change(calls[:n]), false, p.of)
		case p.readsByKey():
			for n < len(calls) && calls[n].Statement == calls[0].Statement {
				n++
			}
			err = t.readTogether(p, calls[:n])
		case p.insert != nil && len(calls) > 1 && t.plans[calls[1].Statement].insert != nil && t.plans[calls[1].Statement].of.outer == p.of:
			n = 2
			err = t.noted(t.insertBoth(p, calls), true, p.of)
		default:
			_, err = t.call(t.steps, &calls[0], false)
		}
		calls = calls[n:]
	}
	if err != nil {
		t.failed = err
	}
	return err
}

// changesAlone reports whether the plan changes documents and gives nothing, and no column
// has a floor.
func (p *plan) changesAlone() bool {
	switch p.Verb {
	case store.Update:
		return len(p.Columns) == 0 && !slices.ContainsFunc(p.changes, func(c change) bool { return c.floored })
	case store.Delete:
		return p.of.outer == nil
	default:
		return false
	}
}

// changesLike reports whether the plan changes documents by the same command as another.
func (p *plan) changesLike(other *plan) bool {
	return p.changesAlone() && p.Verb == other.Verb && p.in.Name() == other.in.Name()
}

// change does calls of one verb that change documents of one collection.
func (t *transaction) change(calls []store.Call) (err error) {
	changes := make([]bson.D, len(calls))
	for i := range calls {
		t.values.parameters = calls[i].Parameters
		if changes[i], err = t.plans[calls[i].Statement].change(&t.values); err != nil {
			return err
		}
	}
	p, name, in := t.plans[calls[0].Statement], "update", "updates"
	if p.Verb == store.Delete {
		name, in = "delete", "deletes"
	}
	_, err = p.in.each(t.steps, name, in, true, len(changes), func(i int) bson.D { return changes[i] })
	return err
}

// change is what a plan that changes alone does, as an element of a command's array.
func (p *plan) change(v *values) (bson.D, error) {
	filter, err := p.filter.build(v)
	if err != nil || p.Verb == store.Delete {
		return p.deleting(filter), err
	}
	update, err := p.changed(v)
	if err != nil {
		return nil, err
	}
	elements, err := p.arrayFilters(v)
	return p.updating(filter, update, elements), err
}

// readsByKey reports whether the plan reads all rows of documents whose keys begin so, in
// no order.
func (p *plan) readsByKey() bool {
	f := p.filter
	return p.Verb == store.Read && p.sort == nil && p.Limit.Source == store.FromNothing && len(f.fields)+len(f.elements) == 0 &&
		(f.ids == wholeID || f.ids == idRange && f.from == nil && f.below == nil)
}

// readTogether does calls of a plan that reads by the key, and tells the rows of each by
// the keys.
func (t *transaction) readTogether(p *plan, calls []store.Call) error {
	if len(calls) == 1 {
		_, err := t.call(t.steps, &calls[0], false)
		return err
	}
	keys, filters, rows := make([][]any, len(calls)), make(bson.A, len(calls)), make([]int, len(calls))
	for i := range calls {
		t.values.parameters = calls[i].Parameters
		for _, e := range p.filter.equal {
			value, err := t.values.of(e.column, e.value)
			if err != nil {
				return err
			}
			keys[i] = append(keys[i], value)
		}
		var err error
		if filters[i], err = p.filter.build(&t.values); err != nil {
			return err
		}
	}
	at := 0 // rows of one key come behind each other, mostly
	err := p.find(t.steps, &t.values, bson.D{{Key: "$or", Value: filters}}, false, 0, func(document bson.Raw) error {
		found := leftRow{p.of.documents(), document}
		for range calls {
			if found.has(keys[at]) {
				rows[at]++
				return p.given(document, calls[at].Row)
			}
			at = (at + 1) % len(calls)
		}
		return fmt.Errorf("mongodb: %s gave a document that was not asked for", p.Name)
	})
	for i := range calls {
		if err == nil {
			err = p.wanted(&calls[i], rows[i])
		}
	}
	return t.noted(err, false, p.of)
}

// given gives a row to a callback, whose error is not the server's.
func (p *plan) given(document bson.Raw, use func(store.Row) error) error {
	if use == nil {
		return nil
	}
	if err := use(p.row.of(document)); err != nil {
		return &endError{store.Reply{Outcome: history.Failed, Class: store.ClassOther, Err: err}}
	}
	return nil
}

// wanted ends an attempt unless as many rows came as are wanted.
func (p *plan) wanted(c *store.Call, came int) error {
	if err := c.Wanted(came); err != nil {
		return ended(history.Failed, store.ClassOther, failed(p.Name, err))
	}
	return nil
}

// insertBoth does a call that inserts a document, and the next one, whose rows lie within it.
func (t *transaction) insertBoth(p *plan, calls []store.Call) error {
	t.values.parameters = calls[0].Parameters
	outer, err := p.rows(&t.values)
	if err != nil {
		return err
	}
	within := t.plans[calls[1].Statement]
	t.values.parameters = calls[1].Parameters
	rows, err := within.rows(&t.values)
	if err != nil {
		return err
	}
	if len(outer) == 1 && !slices.ContainsFunc(rows, func(row []any) bool { return !within.of.sameDocument(outer[0], row) }) {
		elements := make(bson.A, len(rows))
		for i, row := range rows {
			elements[i] = within.of.document(row)
		}
		return p.in.insert(t.steps, append(p.of.document(outer[0]), bson.E{Key: within.of.Name, Value: elements}))
	}
	if _, err = p.insert.rows(t.steps, p.in, outer, true); err == nil {
		_, err = within.insert.rows(t.steps, within.in, rows, true)
	}
	return err
}
