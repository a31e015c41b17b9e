package mongodb

import (
	"errors"
	"slices"
	"strings"

	"go.mongodb.org/mongo-driver/v2/bson"

	"assay/store"
)

// values are what the expressions of a statement have their values from.
type values struct {
	layouts    map[string]*layout
	parameters []store.Value
	// left is what earlier statements of the batch have given, for FromLeft.
	left []leftRow
}

// leftRow is a document as a statement has left it.
type leftRow struct {
	of       *layout
	document bson.Raw
}

// refusal is the error of a statement that a constraint has refused, and that has changed
// nothing.
type refusal struct{ by store.Violation }

func (r refusal) Error() string {
	if r.by == store.Absent {
		return "a row that is referred to is not there"
	}
	return "a column would become less than it may be"
}

// of is the value of an expression for a column.
func (v *values) of(c *column, e *store.Expression) (any, error) {
	switch e.Source {
	case store.FromParameter:
		return c.encode(&v.parameters[e.Parameter-1]), nil
	case store.FromNumber:
		return c.integer(e.Number), nil
	case store.FromLeft:
		return v.leftBy(e)
	default:
		return nil, errors.New("mongodb: a value is of a row that is not known")
	}
}

// leftBy is what an earlier statement has left; see store.Left.
func (v *values) leftBy(e *store.Expression) (any, error) {
	of := v.layouts[e.Table]
	key := make([]any, len(e.Key))
	for i := range e.Key {
		var err error
		if key[i], err = v.of(&of.columns[i], &e.Key[i]); err != nil {
			return nil, err
		}
	}
	for _, l := range slices.Backward(v.left) {
		if l.of != of || !l.has(key) {
			continue
		}
		if value := l.value(of.column(e.Column)); value.Type != 0 {
			return value, nil
		}
	}
	return nil, refusal{store.Absent}
}

func (l *leftRow) value(c *column) bson.RawValue {
	if c.part == inID {
		return l.document.Lookup(idField, c.field)
	}
	return l.document.Lookup(c.field)
}

// has reports whether the row has this key.
func (l *leftRow) has(key []any) bool {
	for i, want := range key {
		c := &l.of.columns[i]
		got, same := l.value(c), false
		switch want := want.(type) {
		case int64:
			var n int64
			same = integer(got, &n) && n == want
		case string:
			text, is := got.StringValueOK()
			same = is && text == want
		default:
			kind, data, err := bson.MarshalValue(want)
			same = err == nil && got.Type == kind && slices.Equal(got.Value, data)
		}
		if !same {
			return false
		}
	}
	return true
}

// number is an integer that an expression has.
func (v *values) number(e *store.Expression) (int64, error) {
	switch e.Source {
	case store.FromParameter:
		return v.parameters[e.Parameter-1].Number, nil
	case store.FromNumber:
		return e.Number, nil
	}
	value, err := v.of(nil, e)
	if err != nil {
		return 0, err
	}
	raw, _ := value.(bson.RawValue)
	var n int64
	if !integer(raw, &n) {
		return 0, errors.New("mongodb: what an earlier statement has left is not an integer")
	}
	return n, nil
}

// term is a condition on a column.
type term struct {
	*column
	is    store.Comparison
	value *store.Expression
}

// selection is what a filter asks of _id.
type selection uint8

const (
	anyID selection = iota
	wholeID
	idIn
	idRange
)

// filter selects documents and, of a table within others, elements of their arrays.
type filter struct {
	of  *layout // which has the documents
	ids selection
	// equal are the values of the first columns of the key, of all of them for wholeID. For
	// idIn one of them has several; for idRange from and below bound the next column.
	equal       []term
	from, below *term
	// fields are further conditions, those of one path behind each other, and elements
	// those on fields of elements.
	fields, elements []term
}

func filterOf(l *layout, where []store.Condition) *filter {
	f := &filter{of: l.documents()}
	var key []term
	for i := range where {
		at := l.index(where[i].Column)
		t := term{&l.columns[at], where[i].Is, &where[i].Value}
		switch {
		case at < f.of.Keys():
			key = append(key, t)
		case l.outer != nil:
			f.elements = append(f.elements, t)
		default:
			f.fields = append(f.fields, t)
		}
	}
	if !f.byKey(key) {
		f.fields = append(key, f.fields...)
	}
	byPath := func(a, b term) int { return strings.Compare(a.path, b.path) }
	slices.SortStableFunc(f.fields, byPath)
	slices.SortStableFunc(f.elements, byPath)
	return f
}

// byKey has conditions on columns of the key be one on _id, and reports whether they are.
// A key of one column has the same form as any field unless it is given whole.
func (f *filter) byKey(key []term) bool {
	keys, several := f.of.Keys(), 0
	at := make([][]term, keys)
	for _, t := range key {
		n := slices.IndexFunc(f.of.columns[:keys], func(c column) bool { return c.path == t.path })
		at[n] = append(at[n], t)
		if t.is == store.In {
			several++
		}
	}
	n := 0
	for ; n < keys && len(at[n]) == 1 && (at[n][0].is == store.Equal || at[n][0].is == store.In); n++ {
		f.equal = append(f.equal, at[n][0])
	}
	switch {
	case len(key) == n && n == keys && several == 0:
		f.ids = wholeID
		return true
	case keys == 1 || len(key) == 0:
	case len(key) == n && n == keys && several == 1:
		f.ids = idIn
		return true
	case several == 0 && n < keys && len(key) == n+len(at[n]) && f.bounded(at[n]) && !f.indexed():
		f.ids = idRange
		return true
	}
	f.equal, f.from, f.below = nil, nil, nil
	return false
}

// bounded takes the bounds of the column behind those that are equal, and reports whether
// that is all that is asked of it. Without a bound above, the last column before it must
// have a next value.
func (f *filter) bounded(terms []term) bool {
	for i, t := range terms {
		switch {
		case t.is == store.AtLeast && f.from == nil:
			f.from = &terms[i]
		case t.is == store.Below && f.below == nil:
			f.below = &terms[i]
		default:
			return false
		}
	}
	return f.below != nil || len(f.equal) == 0 || f.equal[len(f.equal)-1].Type == store.Integer
}

// indexed reports whether an index begins with the columns that are given values, some of
// which are not of the key.
func (f *filter) indexed() bool {
	var names []string
	for _, t := range append(slices.Clone(f.equal), f.fields...) {
		if t.is == store.Equal {
			names = append(names, t.Name)
		}
	}
	return len(names) > len(f.equal) && slices.ContainsFunc(f.of.Indexes, func(i store.Index) bool {
		return len(i.Columns) >= len(names) && !slices.ContainsFunc(names, func(name string) bool {
			return !slices.Contains(i.Columns[:len(names)], name)
		})
	})
}

// build is the filter with values.
func (f *filter) build(v *values) (bson.D, error) {
	d := make(bson.D, 0, 1+len(f.fields))
	id, err := f.id(v)
	if err != nil {
		return nil, err
	}
	if f.ids != anyID {
		d = append(d, bson.E{Key: idField, Value: id})
	}
	return conditions(d, v, f.fields, pathOf)
}

// id is what is asked of _id.
func (f *filter) id(v *values) (any, error) {
	switch {
	case f.ids == anyID:
		return nil, nil
	case f.ids == wholeID && len(f.equal) == 1:
		return v.of(f.equal[0].column, f.equal[0].value)
	}
	key, several := make(bson.D, len(f.equal), len(f.equal)+1), 0
	for i, t := range f.equal {
		value, err := v.of(t.column, t.value)
		if err != nil {
			return nil, err
		}
		key[i] = bson.E{Key: t.field, Value: value}
		if t.is == store.In {
			several = i
		}
	}
	switch f.ids {
	case wholeID:
		return key, nil
	case idRange:
		return f.between(v, key)
	}
	all, _ := key[several].Value.(bson.A)
	keys := make(bson.A, len(all))
	for i, value := range all {
		one := slices.Clone(key)
		one[several].Value = value
		keys[i] = one
	}
	return oneOf(keys), nil
}

// between bounds _id by the beginning of a key and the bounds of the next column. A
// document that is the beginning of another one sorts before it.
func (f *filter) between(v *values, key bson.D) (any, error) {
	var bounds bson.D
	for _, b := range []struct {
		operator string
		term     *term
	}{{"$gte", f.from}, {"$lt", f.below}} {
		end := slices.Clone(key)
		switch last := len(key) - 1; {
		case b.term != nil:
			value, err := v.of(b.term.column, b.term.value)
			if err != nil {
				return nil, err
			}
			end = append(end, bson.E{Key: b.term.field, Value: value})
		case last < 0:
			continue
		case b.operator == "$lt":
			n, err := v.number(f.equal[last].value)
			if err != nil {
				return nil, err
			}
			end[last].Value = f.equal[last].integer(n + 1)
		}
		bounds = append(bounds, bson.E{Key: b.operator, Value: end})
	}
	return bounds, nil
}

func pathOf(c *column) string { return c.path }

// conditions appends terms to a filter, on what name calls their columns.
func conditions(d bson.D, v *values, terms []term, name func(*column) string) (bson.D, error) {
	for i, t := range terms {
		value, err := v.of(t.column, t.value)
		if err != nil {
			return nil, err
		}
		path := name(t.column)
		again := i > 0 && terms[i-1].path == t.path
		if t.is == store.Equal && !again && (i+1 == len(terms) || terms[i+1].path != t.path) {
			d = append(d, bson.E{Key: path, Value: value})
			continue
		}
		if !again {
			d = append(d, bson.E{Key: path, Value: bson.D{}})
		}
		of := &d[len(d)-1]
		of.Value = append(of.Value.(bson.D), operation(t.is, value))
	}
	return d, nil
}

func operation(is store.Comparison, value any) bson.E {
	switch is {
	case store.In:
		return bson.E{Key: "$in", Value: value}
	case store.AtLeast:
		return bson.E{Key: "$gte", Value: value}
	case store.Below:
		return bson.E{Key: "$lt", Value: value}
	case store.MultipleOf:
		return bson.E{Key: "$mod", Value: bson.A{value, int64(0)}}
	default:
		return bson.E{Key: "$eq", Value: value}
	}
}

// order is the order of these columns: that of _id, where they are the columns of the key
// behind those that have one value each.
func (f *filter) order(l *layout, columns []string, descending bool) bson.D {
	direction := 1
	if descending {
		direction = -1
	}
	next, byID := len(f.equal), f.ids != idIn
	var sort bson.D
	for _, name := range columns {
		at := l.index(name)
		if at < len(f.equal) && byID {
			continue
		}
		byID = byID && at == next && at < f.of.Keys()
		next++
		sort = append(sort, bson.E{Key: l.columns[at].path, Value: direction})
	}
	if byID && len(sort) > 0 {
		return bson.D{{Key: idField, Value: direction}}
	}
	return sort
}
