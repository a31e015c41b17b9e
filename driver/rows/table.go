// Package rows does what statements ask for on tables of rows, for databases that have no
// language of their own: it makes a plan of a statement (how to find rows, what they must
// satisfy), and evaluates conditions, values, assignments, floors, orders and sums.
//
// It must not know how rows are stored, found and committed, which is a driver's, nor any
// driver or workload.
package rows

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"slices"

	"assay/store"
)

// Value is what a column holds: a number, or a text. A boolean is a number. Bytes are a
// text, and so is a list, with eight bytes for each element, big endian.
type Value struct {
	Number int64
	Text   string
}

// Row is the values of a row: its numbers in the order of the columns, and its texts. Those
// of the key come first.
type Row struct {
	Numbers []int64
	Texts   []string
}

// Table is a table with the places of its columns.
type Table struct {
	store.Table
	// Numbers and Texts are how many of each a row has.
	Numbers, Texts int
	// Orders are the columns by which the rows of each index are in order: its own, and
	// then those of the key.
	Orders [][]int
	places []place
	floors []floor
}

// place is where a row has a column.
type place struct {
	text bool
	at   int
}

// floor is the least that a column may hold.
type floor struct {
	column int
	least  int64
}

// Tables are the tables of a schema, by their names.
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

// order are columns and then those of the key.
func (t *Table) order(by []int) []int {
	for column := range t.Keys() {
		if !slices.Contains(by, column) {
			by = append(by, column)
		}
	}
	return by
}

// Order are the columns by which the rows of an index are in order, or those of the key for
// ByKey.
func (t *Table) Order(index int) []int {
	if index == ByKey {
		return t.order(nil)
	}
	return t.Orders[index]
}

// place is the number of a column by its name; -1 if there is none.
func (t *Table) place(name string) int {
	return slices.IndexFunc(t.Columns, func(c store.Column) bool { return c.Name == name })
}

// notFoundError is of a name that a statement has and the schema does not have.
type notFoundError struct{ what, name, in string }

func (e *notFoundError) Error() string {
	return fmt.Sprintf("there is no %s %q%s; name one of the schema", e.what, e.name, e.in)
}

// Find is the table of this name.
func Find(tables map[string]*Table, name string) (*Table, error) {
	t := tables[name]
	if t == nil {
		return nil, &notFoundError{what: "table", name: name}
	}
	return t, nil
}

// Places are the numbers of columns by their names.
func (t *Table) Places(names []string) ([]int, error) {
	numbers := make([]int, len(names))
	for i, name := range names {
		if numbers[i] = t.place(name); numbers[i] < 0 {
			return nil, &notFoundError{"column", name, fmt.Sprintf(" in table %q", t.Name)}
		}
	}
	return numbers, nil
}

// Make is a row of zeros.
func (t *Table) Make() Row {
	return Row{Numbers: make([]int64, t.Numbers), Texts: make([]string, t.Texts)}
}

// Get is the value of a column.
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

// Write sets columns.
func (t *Table) Write(r Row, columns []int, to []Value) {
	for i, column := range columns {
		t.Set(r, column, to[i])
	}
}

// Copy takes the values of another row.
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

// Alike reports whether two rows have the same values in columns.
func (t *Table) Alike(columns []int, a, b Row) bool {
	for _, column := range columns {
		if t.Get(a, column) != t.Get(b, column) {
			return false
		}
	}
	return true
}

// Key appends the key of a row.
func (t *Table) Key(r Row, into []Value) []Value {
	for column := range t.Keys() {
		into = append(into, t.Get(r, column))
	}
	return into
}

// Has reports whether a row has a key.
func (t *Table) Has(r Row, key []Value) bool {
	for column := range key {
		if t.Get(r, column) != key[column] {
			return false
		}
	}
	return true
}

// Violation is the error of a statement that a constraint refuses.
type Violation struct {
	Kind store.Violation
	text string
}

func (v *Violation) Error() string { return v.text }

// Exists is the error of a row whose key is there already, and Twin of one that is like
// another in the columns of a unique index.
func (t *Table) Exists() error {
	return &Violation{store.Unique, fmt.Sprintf("table %q has a row with this key already", t.Name)}
}

func (t *Table) Twin() error {
	return &Violation{store.Unique, fmt.Sprintf("table %q has a row already that is alike in the columns of a unique index", t.Name)}
}

// Allow returns an error for a row that is below a floor.
func (t *Table) Allow(r Row) error {
	for _, f := range t.floors {
		if got := t.Get(r, f.column).Number; got < f.least {
			return &Violation{store.Floor, fmt.Sprintf("table %q: column %q would be %d, and must be at least %d", t.Name, t.Columns[f.column].Name, got, f.least)}
		}
	}
	return nil
}

// given is a value for a column of texts or of numbers.
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

// ListText is a list as it is stored.
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
