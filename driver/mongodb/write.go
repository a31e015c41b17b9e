package mongodb

import (
	"errors"
	"fmt"

	"go.mongodb.org/mongo-driver/v2/bson"

	"assay/store"
)

// change is an assignment to a field.
type change struct {
	store.Assignment
	*column
	path string
	// least is what a column with a floor may hold at least.
	least   int64
	floored bool
}

func (p *plan) changeOf(a store.Assignment) change {
	c := change{Assignment: a, column: p.of.column(a.Column)}
	c.path = c.column.path
	c.least, c.floored = p.of.Floor(a.Column)
	return c
}

// upserting plans a Put or an Append, by the key of a document.
func (p *plan) upserting() error {
	if p.of.outer != nil {
		return errors.New("a row within another one is inserted or updated")
	}
	var where []store.Condition
	for i, name := range p.Columns {
		value := p.Value(0, i)
		switch key := p.of.index(name) < p.of.Keys(); {
		case key:
			where = append(where, store.Condition{Column: name, Value: value})
		default:
			p.changes = append(p.changes, p.changeOf(store.Set(name, value)))
		}
	}
	p.filter = filterOf(p.of, where)
	if p.filter.ids != wholeID || p.Rows > 1 {
		return errors.New("it does not name the whole key of one row")
	}
	return nil
}

func (p *plan) upsert(x steps, v *values) (int64, error) {
	filter, err := p.filter.build(v)
	if err != nil {
		return 0, err
	}
	fields, operator := bson.D{}, "$set"
	for i := range p.changes {
		c := &p.changes[i]
		value, err := v.of(c.column, &c.Value)
		if err != nil {
			return 0, err
		}
		fields = append(fields, bson.E{Key: c.path, Value: value})
	}
	if p.Verb == store.Append {
		operator = "$push"
	}
	_, err = p.in.change(x, "update", "updates", bson.E{Key: "q", Value: filter},
		bson.E{Key: "u", Value: bson.D{{Key: operator, Value: fields}}}, bson.E{Key: "upsert", Value: true})
	return 1, err
}

// elementName is what an element is called in paths and in the conditions on it.
const elementName = "element"

// changing plans an Update.
func (p *plan) changing() error {
	whole := p.filter.ids == wholeID && p.of.outer == nil
	if len(p.Columns) > 0 && !whole {
		return errManyRows
	}
	for _, a := range p.Set {
		c := p.changeOf(a)
		p.computed = p.computed || a.Value.Source == store.FromColumn
		switch {
		case p.of.index(a.Column) < p.of.Keys():
			return fmt.Errorf("column %q of the key cannot be changed", a.Column)
		case c.floored && !whole:
			return errManyRows
		case p.of.outer == nil:
		case p.computed:
			return errors.New("a row within another one cannot be changed by what it was")
		case len(p.filter.elements) > 0:
			c.path = p.of.Name + ".$[" + elementName + "]." + c.field
		default:
			c.path = p.of.Name + ".$[]." + c.field
		}
		p.changes = append(p.changes, c)
	}
	return nil
}

// changed is the update: operators or, if it sees the document as it was, a pipeline.
func (p *plan) changed(v *values) (any, error) {
	var set, increase bson.D
	for i := range p.changes {
		c := &p.changes[i]
		var value any
		var err error
		if c.Value.Source == store.FromColumn {
			value = "$" + p.of.column(c.Value.Column).path
		} else if value, err = v.of(c.column, &c.Value); err != nil {
			return nil, err
		} else if _, text := value.(string); text && p.computed {
			value = literal(value)
		}
		switch {
		case c.Add && p.computed:
			set = append(set, bson.E{Key: c.path, Value: bson.D{{Key: "$add", Value: bson.A{"$" + c.path, value}}}})
		case c.Add:
			increase = append(increase, bson.E{Key: c.path, Value: value})
		default:
			set = append(set, bson.E{Key: c.path, Value: value})
		}
	}
	var update bson.D
	if set != nil {
		update = append(update, bson.E{Key: "$set", Value: set})
	}
	if increase != nil {
		update = append(update, bson.E{Key: "$inc", Value: increase})
	}
	if p.computed {
		return bson.A{bsonOf(update)}, nil
	}
	return bsonOf(update), nil
}

// floors are the conditions under which an update leaves no column less than it may be.
// below is true if it would in any case.
func (p *plan) floors(v *values) (held bson.D, below bool, err error) {
	for i := range p.changes {
		c := &p.changes[i]
		if !c.floored {
			continue
		}
		if c.Value.Source == store.FromColumn {
			var left any = "$" + p.of.column(c.Value.Column).path
			if c.Add {
				left = bson.D{{Key: "$add", Value: bson.A{"$" + c.path, left}}}
			}
			held = append(held, bson.E{Key: "$expr", Value: bson.D{{Key: "$gte", Value: bson.A{left, c.least}}}})
			continue
		}
		n, err := v.number(&c.Value)
		switch {
		case err != nil:
			return nil, false, err
		case !c.Add:
			below = below || n < c.least
		case n < 0:
			held = append(held, bson.E{Key: c.path, Value: bson.D{{Key: "$gte", Value: c.least - n}}})
		}
	}
	return held, below, nil
}

func (p *plan) update(x steps, v *values, use func(bson.Raw) error) (int64, error) {
	filter, err := p.filter.build(v)
	if err != nil {
		return 0, err
	}
	update, err := p.changed(v)
	if err != nil {
		return 0, err
	}
	held, below, err := p.floors(v)
	if err != nil {
		return 0, err
	}
	changed := int64(0)
	if !below {
		changed, err = p.apply(x, v, append(filter[:len(filter):len(filter)], held...), update, use)
	}
	if err != nil || changed > 0 || !below && held == nil {
		return changed, err
	}
	// Nothing was changed: it is the floor, if the row is there.
	return 0, p.in.find(x, query{filter: filter, projection: only(), limit: -1}, func(bson.Raw) error { return refusal{store.Floor} })
}

// apply sends an update, and says how many rows it has found.
func (p *plan) apply(x steps, v *values, filter bson.D, update any, use func(bson.Raw) error) (int64, error) {
	switch {
	case p.of.outer != nil:
		elements, err := p.arrayFilters(v)
		if err != nil {
			return 0, err
		}
		return p.applyWithin(x, v, filter, update, elements)
	case len(p.Columns) > 0:
		how := bson.D{{Key: "new", Value: true}}
		if p.projection != nil {
			how = append(how, bson.E{Key: "fields", Value: p.projection})
		}
		document, err := p.in.modify(x, filter, update, how...)
		if document == nil || err != nil {
			return 0, err
		}
		return 1, use(document)
	}
	return p.in.change(x, "update", "updates", p.updating(filter, update, nil)...)
}

// updating is an element of the array of a command update.
func (p *plan) updating(filter bson.D, update any, elements []any) bson.D {
	return append(bson.D{{Key: "q", Value: filter}, {Key: "u", Value: update}, {Key: "multi", Value: p.filter.ids != wholeID}},
		arrayFilters(elements)...)
}

// deleting is an element of the array of a command delete.
func (p *plan) deleting(filter bson.D) bson.D {
	limit := 0 // all
	if p.filter.ids == wholeID {
		limit = 1
	}
	return bson.D{{Key: "q", Value: filter}, {Key: "limit", Value: limit}}
}

// arrayFilters are the conditions on the elements that an update changes.
func (p *plan) arrayFilters(v *values) ([]any, error) {
	if len(p.filter.elements) == 0 {
		return nil, nil
	}
	of, err := conditions(nil, v, p.filter.elements, func(c *column) string { return elementName + "." + c.field })
	return []any{of}, err
}

// arrayFilters is a command's field for the conditions on elements, if there are any.
func arrayFilters(elements []any) bson.D {
	if elements == nil {
		return nil
	}
	return bson.D{{Key: "arrayFilters", Value: bson.A(elements)}}
}

// applyWithin changes elements of arrays, and says how many. The server counts documents:
// one document gives the number of its elements as they were, several are looked at first.
func (p *plan) applyWithin(x steps, v *values, filter bson.D, update any, elements []any) (changed int64, err error) {
	counted := func(document bson.Raw) error {
		if !integer(document.Lookup("n"), &changed) {
			return fmt.Errorf("mongodb: collection %s: the elements of a document are no array", p.in.Name())
		}
		return nil
	}
	if p.filter.ids != wholeID {
		if err := p.count(x, v, counted); err != nil {
			return 0, err
		}
		_, err := p.in.change(x, "update", "updates", p.updating(filter, update, elements)...)
		return changed, err
	}
	number, err := p.elementCount(v)
	if err != nil {
		return 0, err
	}
	how := bson.D{{Key: "fields", Value: bson.D{{Key: "n", Value: number}}}}
	document, err := p.in.modify(x, filter, update, append(how, arrayFilters(elements)...)...)
	if document == nil || err != nil {
		return 0, err
	}
	err = counted(document)
	return changed, err
}

// elementCount is an expression for the number of elements that satisfy the conditions.
func (p *plan) elementCount(v *values) (bson.D, error) {
	all := bson.A{}
	for _, t := range p.filter.elements {
		value, err := v.of(t.column, t.value)
		if err != nil {
			return nil, err
		}
		compared := bson.A{"$$this." + t.field, literal(value)}
		if t.is == store.MultipleOf {
			compared = bson.A{bson.D{{Key: "$mod", Value: compared}}, 0}
			t.is = store.Equal
		}
		all = append(all, bson.D{{Key: operation(t.is, nil).Key, Value: compared}})
	}
	return bson.D{{Key: "$size", Value: bson.D{{Key: "$filter", Value: bson.D{
		{Key: "input", Value: bson.D{{Key: "$ifNull", Value: bson.A{"$" + p.of.Name, bson.A{}}}}},
		{Key: "cond", Value: bson.D{{Key: "$and", Value: all}}}}}}}}, nil
}

// remove does a Delete.
func (p *plan) remove(x steps, v *values) (int64, error) {
	filter, err := p.filter.build(v)
	if err != nil {
		return 0, err
	}
	if p.of.outer != nil {
		of, err := conditions(bson.D{}, v, p.filter.elements, func(c *column) string { return c.field })
		if err != nil {
			return 0, err
		}
		return p.applyWithin(x, v, filter, bson.D{{Key: "$pull", Value: bson.D{{Key: p.of.Name, Value: of}}}}, nil)
	}
	return p.in.change(x, "delete", "deletes", p.deleting(filter)...)
}
