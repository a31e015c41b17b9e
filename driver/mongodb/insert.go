package mongodb

import (
	"fmt"
	"slices"

	"go.mongodb.org/mongo-driver/v2/bson"

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
	rows, err := p.rows(v)
	if err != nil {
		return 0, err
	}
	return p.insert.rows(x, p.in, rows, true)
}

// rows are the rows of an Insert.
func (p *plan) rows(v *values) ([][]any, error) {
	rows := make([][]any, max(p.Rows, 1))
	for r := range rows {
		rows[r] = make([]any, len(p.of.columns))
		for i, at := range p.insert.at {
			e := p.Value(r, at)
			var err error
			if rows[r][i], err = v.of(&p.of.columns[i], &e); err != nil {
				return nil, err
			}
		}
	}
	return rows, nil
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
		all[r] = n.encode(values)
	}
	return all, nil
}

// encode has the values of a row in the order of the table's columns, as BSON has them.
func (n *insertion) encode(values []store.Value) []any {
	row := make([]any, len(n.at))
	for i, at := range n.at {
		row[i] = n.of.columns[i].encode(&values[at])
	}
	return row
}

// rows inserts rows, in their order or in any.
func (n *insertion) rows(x steps, in place, rows [][]any, ordered bool) (int64, error) {
	switch {
	case len(rows) == 0:
		return 0, nil
	case n.of.outer != nil:
		return n.elements(x, in, rows, ordered)
	case len(rows) == 1:
		return 1, in.insert(x, n.of.document(rows[0]))
	}
	return in.each(x, "insert", "documents", ordered, len(rows), func(i int) bson.D { return n.of.document(rows[i]) })
}

// elements puts rows into the documents that they lie in, by one update for each, which
// finds the document only without an element of such a key.
func (n *insertion) elements(x steps, in place, rows [][]any, ordered bool) (int64, error) {
	var updates []bson.D
	for first := 0; first < len(rows); {
		end, elements, taken := first, bson.A{}, bson.A{}
		for ; end < len(rows) && n.of.sameDocument(rows[first], rows[end]); end++ {
			element := n.of.document(rows[end])
			elements = append(elements, element)
			own := element[:n.of.Keys()-n.of.outer.Keys()]
			taken = append(taken, bson.D{{Key: n.of.Name, Value: bson.D{{Key: "$elemMatch", Value: own}}}})
		}
		filter := append(byID(n.of.id(rows[first])), bson.E{Key: "$nor", Value: taken})
		updates = append(updates, bson.D{{Key: "q", Value: filter}, {Key: "u", Value: push(n.of.Name, elements)}})
		first = end
	}
	found, err := in.each(x, "update", "updates", ordered, len(updates), func(i int) bson.D { return updates[i] })
	if err == nil && found < int64(len(updates)) {
		err = fmt.Errorf("collection %s lacks a document for rows of %s, or has such a row", in.Name(), n.of.Name)
	}
	return int64(len(rows)), err
}

func push(field string, elements bson.A) bson.D {
	return bson.D{{Key: "$push", Value: bson.D{{Key: field, Value: bson.D{{Key: "$each", Value: elements}}}}}}
}
