package mongodb

import (
	"errors"
	"fmt"
	"slices"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"assay/store"
)

// insertion makes documents of rows.
type insertion struct {
	of *layout
	// at is where each column of the table is among the values.
	at []int
}

func insertionOf(of *layout, columns []string) *insertion {
	n := &insertion{of: of, at: make([]int, len(of.columns))}
	for i, c := range of.columns {
		n.at[i] = slices.Index(columns, c.Name)
	}
	return n
}

// add inserts the rows of an Insert.
func (p *plan) add(x steps, v *values) (int64, error) {
	rows := make([][]any, max(p.Rows, 1))
	for r := range rows {
		rows[r] = make([]any, len(p.of.columns))
		for i, at := range p.insert.at {
			e := p.Value(r, at)
			var err error
			if rows[r][i], err = v.of(&p.of.columns[i], &e); err != nil {
				return 0, err
			}
		}
	}
	return p.insert.rows(x, p.in, rows, true)
}

// encoded are rows that come in another order of columns than the table's.
func (n *insertion) encoded(rows store.Rows) ([][]any, error) {
	if slices.Contains(n.at, -1) {
		return nil, fmt.Errorf("mongodb: rows of table %s lack a column", rows.Table)
	}
	all := make([][]any, rows.Count)
	var values []store.Value
	for r := range all {
		values = rows.Row(r, values[:0])
		all[r] = make([]any, len(n.at))
		for i, at := range n.at {
			all[r][i] = n.of.columns[i].encode(&values[at])
		}
	}
	return all, nil
}

// rows inserts rows, in their order or in any.
func (n *insertion) rows(x steps, in *mongo.Collection, rows [][]any, ordered bool) (int64, error) {
	switch {
	case len(rows) == 0:
		return 0, nil
	case n.of.outer != nil:
		return n.elements(x, in, rows, ordered)
	case len(rows) == 1:
		_, err := in.InsertOne(x.next(), n.of.document(rows[0]))
		return 1, err
	}
	documents := make([]bson.D, len(rows))
	for i, row := range rows {
		documents[i] = n.of.document(row)
	}
	_, err := in.InsertMany(x.next(), documents, options.InsertMany().SetOrdered(ordered))
	return int64(len(rows)), err
}

// elements puts rows into the documents that they lie in, by one update for each, which
// finds the document only without an element of such a key.
func (n *insertion) elements(x steps, in *mongo.Collection, rows [][]any, ordered bool) (int64, error) {
	var updates []mongo.WriteModel
	for first := 0; first < len(rows); {
		end, elements, taken := first, bson.A{}, bson.A{}
		for ; end < len(rows) && n.of.sameDocument(rows[first], rows[end]); end++ {
			element := n.of.document(rows[end])
			elements = append(elements, element)
			own := element[:n.of.Keys()-n.of.outer.Keys()]
			taken = append(taken, bson.D{{Key: n.of.Name, Value: bson.D{{Key: "$elemMatch", Value: own}}}})
		}
		filter := append(byID(n.of.id(rows[first])), bson.E{Key: "$nor", Value: taken})
		updates = append(updates, mongo.NewUpdateOneModel().SetFilter(filter).SetUpdate(push(n.of.Name, elements)))
		first = end
	}
	result, err := in.BulkWrite(x.next(), updates, options.BulkWrite().SetOrdered(ordered))
	if err == nil && result.MatchedCount < int64(len(updates)) {
		err = fmt.Errorf("collection %s lacks a document for rows of %s, or has such a row", in.Name(), n.of.Name)
	}
	return int64(len(rows)), err
}

func push(field string, elements bson.A) bson.D {
	return bson.D{{Key: "$push", Value: bson.D{{Key: field, Value: bson.D{{Key: "$each", Value: elements}}}}}}
}

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
	_, err = p.in.UpdateOne(x.next(), filter, bson.D{{Key: operator, Value: fields}}, options.UpdateOne().SetUpsert(true))
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
		case c.floored && a.Value.Source == store.FromColumn:
			return fmt.Errorf("column %q has a floor, and takes its value from another", a.Column)
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
		return bson.A{update}, nil
	}
	return update, nil
}

// floors are the conditions under which an update leaves no column less than it may be.
// below is true if it would in any case.
func (p *plan) floors(v *values) (held bson.D, below bool, err error) {
	for i := range p.changes {
		c := &p.changes[i]
		if !c.floored {
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
	err = p.in.FindOne(x.next(), filter, options.FindOne().SetProjection(only())).Err()
	if err == nil {
		err = refusal{store.Floor}
	}
	return 0, unlessMissing(err)
}

// apply sends an update, and says how many documents it has found.
func (p *plan) apply(x steps, v *values, filter bson.D, update any, use func(bson.Raw) error) (int64, error) {
	whole := p.filter.ids == wholeID
	var elements []any
	if len(p.filter.elements) > 0 {
		of, err := conditions(nil, v, p.filter.elements, func(c *column) string { return elementName + "." + c.field })
		if err != nil {
			return 0, err
		}
		elements = []any{of}
	}
	switch {
	case len(p.Columns) > 0:
		o := options.FindOneAndUpdate().SetReturnDocument(options.After)
		if p.projection != nil {
			o.SetProjection(p.projection)
		}
		document, err := p.in.FindOneAndUpdate(x.next(), filter, update, o).Raw()
		if err != nil {
			return 0, unlessMissing(err)
		}
		return 1, use(document)
	case whole:
		o := options.UpdateOne()
		if elements != nil {
			o.SetArrayFilters(elements)
		}
		return matched(p.in.UpdateOne(x.next(), filter, update, o))
	}
	o := options.UpdateMany()
	if elements != nil {
		o.SetArrayFilters(elements)
	}
	return matched(p.in.UpdateMany(x.next(), filter, update, o))
}

func matched(r *mongo.UpdateResult, err error) (int64, error) {
	if err != nil {
		return 0, err
	}
	return r.MatchedCount, nil
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
		return matched(p.in.UpdateMany(x.next(), filter, bson.D{{Key: "$pull", Value: bson.D{{Key: p.of.Name, Value: of}}}}))
	}
	var result *mongo.DeleteResult
	if p.filter.ids == wholeID {
		result, err = p.in.DeleteOne(x.next(), filter)
	} else {
		result, err = p.in.DeleteMany(x.next(), filter)
	}
	if err != nil {
		return 0, err
	}
	return result.DeletedCount, nil
}
