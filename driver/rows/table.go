// Package rows plans and evaluates statements on rows, for databases without a language of
// their own: how to find rows, conditions, values, assignments, floors, orders and sums.
//
// It must not know how rows are stored, found and committed, nor any driver or workload.
package rows

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"slices"

	"assay/store"
)

// Value is a column's value: a number (also for a boolean) or a text. Bytes and lists are texts; a
// list has eight bytes for each element, big endian.
type Value struct {
	Number int64
	Text   string
}

// Row is a row's numbers and texts, each in the order of the columns. Key columns come first.
type Row struct {
	Numbers []int64
	Texts   []string
}

// Table is a table with the places of its columns in a Row.
type Table struct {
	store.Table
	// Numbers and Texts count a row's numbers and texts.
	Numbers, Texts int
	// Orders has the order of each index: its columns and then the key's.
	Orders [][]int
	places []place
	floors []floor
}

type place struct {
	text bool
	at   int
}

type floor struct {
	column int
	least  int64
}

// Tables makes the tables of a schema, by name.
func Tables(s *store.Schema) map[string]*Table {
	tables := map[string]*Table{}
	for i := range s.Tables {
		tables[s.Tables[i].Name] = newTable(s.Tables[i])
	}
	return tables
}

func newTable(of store.Table) *Table {
	t := &Table{Table: of}
	for i, c := range of.Columns {
		switch c.Type {
		case store.Integer, store.Boolean:
			t.places = append(t.places, place{at: t.Numbers})
			t.Numbers++
		default:
			t.places = append(t.places, place{text: true, at: t.Texts})
			t.Texts++
		}
		if least, bounded := of.Floor(c.Name); bounded {
			t.floors = append(t.floors, floor{i, least})
		}
	}
	for _, index := range of.Indexes {
		by := make([]int, 0, len(index.Columns)+of.Keys())
		for _, name := range index.Columns {
			by = append(by, t.place(name))
		}
		t.Orders = append(t.Orders, t.order(by))
	}
	return t
}

func (t *Table) order(by []int) []int {
	for column := range t.Keys() {
		if !slices.Contains(by, column) {
			by = append(by, column)
		}
	}
	return by
}

// Order is the column order of an index, or of the key for ByKey.
func (t *Table) Order(index int) []int {
	if index == ByKey {
		return t.order(nil)
	}
	return t.Orders[index]
}

func (t *Table) place(name string) int {
	return slices.IndexFunc(t.Columns, func(c store.Column) bool { return c.Name == name })
}

type notFoundError struct{ what, name, in string }

func (e *notFoundError) Error() string {
	return fmt.Sprintf("there is no %s %q%s; name one of the schema", e.what, e.name, e.in)
}

// Find returns a table, or an error for the user.
func Find(tables map[string]*Table, name string) (*Table, error) {
	t := tables[name]
	if t == nil {
		return nil, &notFoundError{what: "table", name: name}
	}
	return t, nil
}

// Places returns the columns' numbers, or an error for the user.
func (t *Table) Places(names []string) ([]int, error) {
	numbers := make([]int, len(names))
	for i, name := range names {
		if numbers[i] = t.place(name); numbers[i] < 0 {
			return nil, &notFoundError{"column", name, fmt.Sprintf(" in table %q", t.Name)}
		}
	}
	return numbers, nil
}

// Make makes a row of zeros.
func (t *Table) Make() Row {
	return Row{Numbers: make([]int64, t.Numbers), Texts: make([]string, t.Texts)}
}

// Get returns a column's value.
func (t *Table) Get(r Row, column int) (v Value) {
	if p := t.places[column]; p.text {
		v.Text = r.Texts[p.at]
	} else {
		v.Number = r.Numbers[p.at]
	}
	return v
}

// Set sets a column.
func (t *Table) Set(r Row, column int, to Value) {
	if p := t.places[column]; p.text {
		r.Texts[p.at] = to.Text
	} else {
		r.Numbers[p.at] = to.Number
	}
}

// Write sets several columns.
func (t *Table) Write(r Row, columns []int, to []Value) {
	for i, column := range columns {
		t.Set(r, column, to[i])
	}
}

// Copy copies another row's values into r.
func (r Row) Copy(of Row) {
	copy(r.Numbers, of.Numbers)
	copy(r.Texts, of.Texts)
}

// Compare compares two values of a column.
func (t *Table) Compare(column int, a, b Value) int {
	if t.places[column].text {
		return cmp.Compare(a.Text, b.Text)
	}
	return cmp.Compare(a.Number, b.Number)
}

// Key appends a row's key.
func (t *Table) Key(r Row, into []Value) []Value {
	for column := range t.Keys() {
		into = append(into, t.Get(r, column))
	}
	return into
}

// Has reports whether a row has the key.
func (t *Table) Has(r Row, key []Value) bool {
	for column := range key {
		if t.Get(r, column) != key[column] {
			return false
		}
	}
	return true
}

// Violation is the error of a violated constraint.
type Violation struct {
	Kind store.Violation
	text string
}

func (v *Violation) Error() string { return v.text }

// Exists is the error of an existing key. Twin is the error of a violated unique index.
func (t *Table) Exists() error {
	return &Violation{store.Unique, fmt.Sprintf("table %q has a row with this key already", t.Name)}
}

func (t *Table) Twin() error {
	return &Violation{store.Unique, fmt.Sprintf("table %q has a row already that is alike in the columns of a unique index", t.Name)}
}

// Allow returns an error if a row violates a floor.
func (t *Table) Allow(r Row) error {
	for _, f := range t.floors {
		if got := t.Get(r, f.column).Number; got < f.least {
			return &Violation{store.Floor, fmt.Sprintf("table %q: column %q would be %d, and must be at least %d", t.Name, t.Columns[f.column].Name, got, f.least)}
		}
	}
	return nil
}

func given(v *store.Value, text bool) (of Value, err error) {
	switch v.Kind {
	case store.Int, store.Bool:
		if !text {
			return Value{Number: v.Number}, nil
		}
	case store.Text:
		if text {
			return Value{Text: v.Text}, nil
		}
	case store.Bytes:
		if text {
			return Value{Text: string(v.Bytes)}, nil
		}
	case store.List:
		if text {
			return Value{Text: ListText(v.Numbers...)}, nil
		}
	}
	return of, fmt.Errorf("a value of the kind %d is given for a column of another type", v.Kind)
}

// ListText encodes a list as a Value's text.
func ListText(list ...int64) string {
	text := make([]byte, 0, 8*len(list))
	for _, n := range list {
		text = binary.BigEndian.AppendUint64(text, uint64(n))
	}
	return string(text)
}

func appendList(list []int64, text string) []int64 {
	for ; len(text) >= 8; text = text[8:] {
		n := uint64(0)
		for i := range 8 {
			n = n<<8 | uint64(text[i])
		}
		list = append(list, int64(n))
	}
	return list
}
