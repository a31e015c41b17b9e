package mongodb

import (
	"errors"
	"fmt"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"

	"assay/store"
)

// plan is a statement on the collections of a database, of which only the values are
// missing. It is used by one goroutine at a time.
type plan struct {
	store.Statement
	of     *layout
	in     place
	filter *filter
	// batch is how many documents of those that have no limit are asked for at once; 0
	// for what the server gives.
	batch int32
	// sort and projection are of what is given; projection is nil for whole documents.
	sort, projection bson.D
	// row is the one that is given.
	row    row
	zero   bson.Raw // what a Count gives of no rows
	insert *insertion
	// changes are the changes of an Update or a Put, computed if they see the document as it was.
	changes  []change
	computed bool
	// db and by are of a Native, which has no other of these: the database, and the client's
	// way to it.
	db *database
	by *mongo.Database
}

// planOf plans a statement. In a transaction Lock asks for nothing more: what a
// transaction has read and changes is refused if another one has changed it since.
func (d *database) planOf(s store.Statement, in *mongo.Database, batch int32) (*plan, error) {
	p := &plan{Statement: s, of: d.layouts[s.Table], batch: batch}
	p.in = d.place(in, p.of.documents().Name)
	p.filter = filterOf(p.of, s.Where)
	var err error
	switch s.Verb {
	case store.Read:
		p.sort = p.filter.order(p.of, s.Order, s.Descending)
		p.give(s.Columns)
	case store.Count:
		err = p.counting()
	case store.Insert:
		p.insert = insertionOf(p.of, s.Columns)
	case store.Put, store.Append:
		err = p.upserting()
	case store.Update:
		p.give(s.Columns)
		err = p.changing()
	}
	if err == nil && p.of.outer != nil && (s.Verb == store.Update || s.Verb == store.Delete) {
		err = p.counting()
	}
	if err != nil {
		return nil, fmt.Errorf("mongodb: statement %q: %w", s.Name, err)
	}
	return p, nil
}

// give has the plan give these columns. All but the key are no projection.
func (p *plan) give(names []string) {
	columns, fields, all := make([]*column, len(names)), []string{}, map[string]bool{}
	for i, name := range names {
		columns[i] = p.of.column(name)
		if at := p.of.index(name); at >= p.of.documents().Keys() {
			fields, all[name] = append(fields, columns[i].path), true
		}
	}
	p.row = newRow(p.of, columns)
	if len(names) > 0 && (p.of.outer != nil || len(all) < len(p.of.columns)-p.of.Keys()) {
		p.projection = only(fields...)
	}
}

// giveWhole has a plan that reads all rows give whole documents, and refuse those with fields
// that no statement writes.
func (p *plan) giveWhole() {
	if p.Verb == store.Read && len(p.Where) == 0 && p.Limit.Source == store.FromNothing {
		p.projection, p.row.whole = nil, p.of
	}
}

// counting has the plan give the number of rows and sums.
func (p *plan) counting() error {
	counted := []*column{{field: "n", path: "n"}}
	zero := bson.D{{Key: "n", Value: int64(0)}}
	for i := range p.Columns {
		name := fmt.Sprintf("s%d", i)
		counted = append(counted, &column{field: name, path: name})
		zero = append(zero, bson.E{Key: name, Value: int64(0)})
	}
	p.row = newRow(p.of.documents(), counted)
	var err error
	p.zero, err = bson.Marshal(zero)
	return err
}

// group counts what goes into it.
func (p *plan) group() bson.D {
	sum := func(of any) bson.D { return bson.D{{Key: "$sum", Value: of}} }
	group := bson.D{{Key: idField, Value: nil}, {Key: "n", Value: sum(1)}}
	for i, name := range p.Columns {
		group = append(group, bson.E{Key: p.row.columns[i+1].field, Value: sum("$" + p.of.column(name).path)})
	}
	return bson.D{{Key: "$group", Value: group}}
}

// do does the statement, and says how many rows it has changed. A *refusal means that a
// constraint has refused it, an *endError that the callback has. What it gives is kept
// for later statements if keep is true.
func (p *plan) do(x steps, v *values, keep bool, use func(store.Row) error) (changed int64, err error) {
	given := func(document bson.Raw) error {
		if keep {
			v.left = append(v.left, leftRow{p.of, document})
		}
		return p.given(document, use)
	}
	switch p.Verb {
	case store.Read:
		return 0, p.read(x, v, given)
	case store.Count:
		return 0, p.count(x, v, given)
	case store.Insert:
		return p.add(x, v)
	case store.Put, store.Append:
		return p.upsert(x, v)
	case store.Update:
		return p.update(x, v, given)
	case store.Native:
		return p.command(x, v, given)
	default:
		return p.remove(x, v)
	}
}

func (p *plan) read(x steps, v *values, use func(bson.Raw) error) error {
	filter, err := p.filter.build(v)
	if err != nil {
		return err
	}
	limit := int64(0)
	if p.Limit.Source != store.FromNothing {
		if limit, err = v.number(&p.Limit); err != nil {
			return err
		}
	}
	return p.find(x, v, filter, p.filter.ids == wholeID || limit == 1, limit, use)
}

// find gives what a filter finds, which is at most one document if one is true.
func (p *plan) find(x steps, v *values, filter bson.D, one bool, limit int64, use func(bson.Raw) error) error {
	switch {
	case p.of.outer != nil:
		return p.readElements(x, v, filter, limit, use)
	case one:
		return p.in.find(x, query{filter: filter, projection: p.projection, sort: p.sort, limit: -1}, use)
	case limit > 0: // in one batch, if the answer fits into one
		return p.in.find(x, query{filter: filter, projection: p.projection, sort: p.sort, limit: limit, batch: int32(limit) + 1}, use)
	}
	return p.in.find(x, query{filter: filter, projection: p.projection, sort: p.sort, batch: p.batch}, use)
}

// elementsOf is a pipeline of the elements, each in its document's place.
func (p *plan) elementsOf(v *values, filter bson.D) (bson.A, error) {
	pipeline := bson.A{match(filter)}
	if p.of.outer == nil {
		return pipeline, nil
	}
	pipeline = append(pipeline, bson.D{{Key: "$unwind", Value: "$" + p.of.Name}})
	if len(p.filter.elements) == 0 {
		return pipeline, nil
	}
	of, err := conditions(nil, v, p.filter.elements, pathOf)
	return append(pipeline, match(of)), err
}

func (p *plan) readElements(x steps, v *values, filter bson.D, limit int64, use func(bson.Raw) error) error {
	pipeline, err := p.elementsOf(v, filter)
	if err != nil {
		return err
	}
	if p.sort != nil {
		pipeline = append(pipeline, bson.D{{Key: "$sort", Value: p.sort}})
	}
	if limit > 0 {
		pipeline = append(pipeline, bson.D{{Key: "$limit", Value: limit}})
	}
	if p.projection != nil {
		pipeline = append(pipeline, bson.D{{Key: "$project", Value: p.projection}})
	}
	return p.in.aggregate(x, pipeline, readBatch, use)
}

func (p *plan) count(x steps, v *values, use func(bson.Raw) error) error {
	filter, err := p.filter.build(v)
	if err != nil {
		return err
	}
	pipeline, err := p.elementsOf(v, filter)
	if err != nil {
		return err
	}
	document := p.zero
	err = p.in.aggregate(x, append(pipeline, p.group()), 0, func(counted bson.Raw) error {
		document = append(bson.Raw(nil), counted...)
		return nil
	})
	if err != nil {
		return err
	}
	return use(document)
}

// key is a filter of the only document that a statement with these values speaks of, if
// it does of one.
func (p *plan) key(v *values) (bson.D, bool) {
	if p.Verb != store.Read || p.filter.ids != wholeID {
		return nil, false
	}
	filter, err := p.filter.build(v)
	return filter, err == nil
}

var errManyRows = errors.New("only an update by a whole key gives its row, or has a column with a floor")
