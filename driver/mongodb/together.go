package mongodb

import (
	"context"
	"fmt"
	"slices"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"

	"assay/history"
	"assay/store"
)

var _ store.Batching = (*transaction)(nil)

// Batch implements store.Batching: one command does calls behind each other that change
// documents of one collection, that are of one statement that reads documents whose keys
// begin so, or that insert a document and what lies within it.
func (t *transaction) Batch(_ context.Context, calls []store.Call) (err error) {
	for len(calls) > 0 && err == nil {
		n := 1
		switch p := t.plans[calls[0].Statement]; {
		case t.keep:
			_, err = t.call(t.steps, &calls[0], true)
		case p.changesAlone():
			for n < len(calls) && t.plans[calls[n].Statement].changesAlone() && t.plans[calls[n].Statement].in.Collection == p.in.Collection {
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

// change does calls that change documents of one collection.
func (t *transaction) change(calls []store.Call) error {
	models := make([]mongo.WriteModel, len(calls))
	for i := range calls {
		var err error
		t.values.parameters = calls[i].Parameters
		if models[i], err = t.plans[calls[i].Statement].model(&t.values); err != nil {
			return err
		}
	}
	_, err := t.plans[calls[0].Statement].in.BulkWrite(t.next(), models)
	return err
}

// model is what the plan changes, as a part of a command.
func (p *plan) model(v *values) (mongo.WriteModel, error) {
	filter, err := p.filter.build(v)
	if err != nil {
		return nil, err
	}
	one := p.filter.ids == wholeID
	if p.Verb == store.Delete {
		if one {
			return mongo.NewDeleteOneModel().SetFilter(filter), nil
		}
		return mongo.NewDeleteManyModel().SetFilter(filter), nil
	}
	update, err := p.changed(v)
	if err != nil {
		return nil, err
	}
	elements, err := p.arrayFilters(v)
	if err != nil {
		return nil, err
	}
	if one {
		m := mongo.NewUpdateOneModel().SetFilter(filter).SetUpdate(update)
		m.ArrayFilters = elements
		return m, nil
	}
	m := mongo.NewUpdateManyModel().SetFilter(filter).SetUpdate(update)
	m.ArrayFilters = elements
	return m, nil
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
