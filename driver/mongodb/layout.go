package mongodb

import (
	"fmt"
	"reflect"
	"slices"

	"go.mongodb.org/mongo-driver/v2/bson"

	"assay/store"
)

// layout is how the rows of a table lie in documents. A row is a document of the table's
// collection, whose fields have the names of the columns, and whose _id is the key: a
// value or, of several columns, a document of them in their order, so that a range of
// keys is a range of _id. A row of a table Within another one is an element of an array
// in a document of that one, named after the table, without the columns of the
// document's key.
type layout struct {
	*store.Table
	// outer is the layout of the table in whose documents the rows lie; nil for one with
	// documents of its own.
	outer   *layout
	columns []column
	// written are the fields that statements write: of the table's documents or, of one
	// Within another, of the elements.
	written []string
}

// part is where in a document a column lies.
type part uint8

const (
	inDocument part = iota
	inID
	inElement
	parts
)

// column is where a column lies: in which part and field, and by which path it is
// selected.
type column struct {
	store.Column
	part        part
	field, path string
	// bytes is true of text that documents which were there before have as bytes.
	bytes bool
}

// layoutsOf are the layouts of all tables, by their names.
func layoutsOf(s *store.Schema) map[string]*layout {
	all := map[string]*layout{}
	for i := range s.Tables {
		l := &layout{Table: &s.Tables[i]}
		for n, c := range l.Columns {
			placed := column{Column: c, field: c.Name, path: c.Name}
			switch {
			case n >= l.Keys():
			case l.Keys() == 1:
				placed.field, placed.path = idField, idField
			default:
				placed.part, placed.path = inID, idField+"."+c.Name
			}
			l.columns = append(l.columns, placed)
		}
		all[l.Name] = l
	}
	for _, l := range all {
		if l.Within == "" {
			continue
		}
		l.outer = all[l.Within]
		for n := range l.columns {
			c := &l.columns[n]
			if n < l.outer.Keys() {
				key := l.outer.columns[n]
				c.part, c.field, c.path = key.part, key.field, key.path
			} else {
				c.part, c.field, c.path = inElement, c.Name, l.Name+"."+c.Name
			}
		}
		l.outer.written = append(l.outer.written, l.Name)
	}
	for _, l := range all {
		for n := range l.columns {
			if c := &l.columns[n]; c.part == inElement || c.part == inDocument && l.outer == nil {
				l.written = append(l.written, c.field)
			}
		}
		if l.outer == nil && l.Keys() > 1 {
			l.written = append(l.written, idField)
		}
	}
	return all
}

const idField = "_id"

// documents is the layout of the table that has the documents.
func (l *layout) documents() *layout {
	if l.outer != nil {
		return l.outer
	}
	return l
}

func (l *layout) index(name string) int {
	return slices.IndexFunc(l.columns, func(c column) bool { return c.Name == name })
}

func (l *layout) column(name string) *column { return &l.columns[l.index(name)] }

// fields are the paths of columns of one table, as an index has them.
func (l *layout) fields(columns []string) (fields []string) {
	for _, name := range columns {
		fields = append(fields, l.column(name).path)
	}
	return fields
}

// id is the _id of the document of a row with these values of all columns.
func (l *layout) id(values []any) any {
	of := l.documents()
	if of.Keys() == 1 {
		return values[0]
	}
	id := make(bson.D, of.Keys())
	for i := range id {
		id[i] = bson.E{Key: of.columns[i].field, Value: values[i]}
	}
	return id
}

// document is a row as a document of its own, or as an element of an array.
func (l *layout) document(values []any) bson.D {
	first, d := l.Keys(), make(bson.D, 0, len(values)+1)
	if l.outer != nil {
		first = l.outer.Keys()
	} else {
		d = append(d, bson.E{Key: idField, Value: l.id(values)})
	}
	for i := first; i < len(values); i++ {
		d = append(d, bson.E{Key: l.columns[i].field, Value: values[i]})
	}
	return d
}

// sameDocument reports whether two rows lie in one document.
func (l *layout) sameDocument(a, b []any) bool {
	n := l.documents().Keys()
	return reflect.DeepEqual(a[:n], b[:n])
}

// subtypeUUID is BSON's for UUIDs (BSON specification, version 1.1).
const subtypeUUID = 0x04

// encode is a value of the column as BSON has it.
func (c *column) encode(v *store.Value) any {
	switch v.Kind {
	case store.Int:
		return c.integer(v.Number)
	case store.Bool:
		return v.Number != 0
	case store.Text:
		if c.bytes {
			return bson.Binary{Data: []byte(v.Text)}
		}
		return v.Text
	case store.Bytes:
		if c.Type == store.UUID {
			return bson.Binary{Subtype: subtypeUUID, Data: v.Bytes}
		}
		return bson.Binary{Data: v.Bytes}
	case store.Keys:
		all := make(bson.A, len(v.Numbers))
		for i, n := range v.Numbers {
			all[i] = c.integer(n)
		}
		return all
	case store.List:
		return v.Numbers
	case store.Real:
		return v.Real
	default:
		return nil
	}
}

func (c *column) integer(n int64) any {
	if c.Narrow {
		return int32(n)
	}
	return n
}

// row is a store.Row of a document, used for one after the other.
type row struct {
	collection string
	// array is the field of which the document has one element; empty if there is none.
	array   string
	columns []*column
	// at is where each column was found last, which is where it is in the next document:
	// MongoDB keeps fields in the order in which they were written.
	at       []int
	document bson.Raw
	elements [parts][]bson.RawElement
	// whole is the layout of rows that are nothing but what statements write; nil of others.
	whole *layout
}

func newRow(l *layout, columns []*column) row {
	r := row{collection: l.documents().Name, columns: columns, at: make([]int, len(columns))}
	if l.outer != nil {
		r.array = l.Name
	}
	return r
}

// of has the row be this document.
func (r *row) of(document bson.Raw) *row {
	r.document, r.elements = document, [parts][]bson.RawElement{}
	return r
}

// few is how many columns of a document are looked for one by one.
const few = 3

// value is the value of a column; the zero value if it is not there.
func (r *row) value(i int) bson.RawValue {
	c := r.columns[i]
	if c.part == inDocument && len(r.columns) <= few {
		return r.document.Lookup(c.field)
	}
	elements := r.fields(c.part)
	if at := r.at[i]; at < len(elements) && elements[at].Key() == c.field {
		return elements[at].Value()
	}
	for at, e := range elements {
		if e.Key() == c.field {
			r.at[i] = at
			return e.Value()
		}
	}
	return bson.RawValue{}
}

// fields are the fields of a part of the document.
func (r *row) fields(of part) []bson.RawElement {
	if r.elements[of] == nil {
		document := r.document
		switch of {
		case inID:
			document, _ = r.document.Lookup(idField).DocumentOK() // of another one no field is found
		case inElement:
			document, _ = r.document.Lookup(r.array).DocumentOK()
		}
		r.elements[of], _ = document.Elements()
	}
	return r.elements[of]
}

// foreign is a field that no statement has written; empty if there is none.
func (r *row) foreign() string {
	if r.whole == nil {
		return ""
	}
	of := inDocument
	if r.array != "" {
		of = inElement
	}
	for _, e := range r.fields(of) {
		if !slices.Contains(r.whole.written, e.Key()) {
			return e.Key()
		}
	}
	if keys := r.whole.documents().Keys(); keys > 1 && len(r.fields(inID)) > keys {
		return idField + "." + r.fields(inID)[keys].Key()
	}
	return ""
}

// Scan implements store.Row. A float is no whole number, whatever its value.
func (r *row) Scan(into ...any) error {
	if field := r.foreign(); field != "" {
		return fmt.Errorf("mongodb: collection %s: a document has the field %s, which nobody wrote", r.collection, field)
	}
	for i, target := range into {
		if target != nil && !r.columns[i].decode(r.value(i), target) {
			return fmt.Errorf("mongodb: collection %s: field %s of a document is missing or of another type", r.collection, r.columns[i].path)
		}
	}
	return nil
}

// decode reads a value into what has its type, and reports whether it is of that type.
func (c *column) decode(v bson.RawValue, into any) (ok bool) {
	switch into := into.(type) {
	case *int64:
		return integer(v, into)
	case *int:
		var n int64
		ok = integer(v, &n)
		*into = int(n)
	case *bool:
		*into, ok = v.BooleanOK()
	case *string:
		if _, data, binary := v.BinaryOK(); c.bytes && binary {
			*into = string(data)
			return true
		}
		*into, ok = v.StringValueOK()
	case *[]byte:
		subtype, data, binary := v.BinaryOK()
		*into = append((*into)[:0], data...)
		return binary && (c.Type != store.UUID || subtype == subtypeUUID && len(data) == 16)
	case *[]int64:
		*into = (*into)[:0]
		array, is := v.ArrayOK()
		values, err := array.Values()
		if !is || err != nil {
			return false
		}
		for _, value := range values {
			var n int64
			if !integer(value, &n) {
				return false
			}
			*into = append(*into, n)
		}
		return true
	}
	return ok
}

// AppendValues implements store.Row. What a command gives has no columns, and is a document.
func (r *row) AppendValues(into []any) ([]any, error) {
	if r.columns == nil {
		document, err := fromBSON(r.document)
		return append(into, document), err
	}
	for i := range r.columns {
		value := r.value(i)
		if _, data, binary := value.BinaryOK(); binary && r.columns[i].bytes {
			into = append(into, string(data))
			continue
		}
		v, err := valueFromBSON(value)
		if err != nil {
			return into, err
		}
		into = append(into, v)
	}
	return into, nil
}
