package foundationdb

import (
	"bytes"
	"fmt"

	"assay/store"
)

// form is how the rows of a table lie in keys and values:
//
//	(table, key...) = the other columns
//	(index, the index's columns..., key...) = nothing
//
// the value as appendRecord makes it: the integers and booleans in their order, then the
// texts, UUIDs and lists. FoundationDB has no index but the order of its keys; so indexes
// are kept as its manual says that applications are to keep them: "By updating the data
// element and all of its associated indexes together within a single ACID transaction we
// can guarantee that the data and indexes stay in sync" ("Design Recipes", "Simple
// Indexes").
type form struct {
	layout
	*store.Table
	// numbers and texts are the columns of the value, by their place in the table.
	numbers, texts []int
	// indexes are the columns of each index.
	indexes [][]int
}

func newForm(l layout, t *store.Table) *form {
	f := &form{layout: l, Table: t}
	for i := t.Keys(); i < len(t.Columns); i++ {
		switch t.Columns[i].Type {
		case store.Integer, store.Boolean:
			f.numbers = append(f.numbers, i)
		default:
			f.texts = append(f.texts, i)
		}
	}
	for _, index := range t.Indexes {
		f.indexes = append(f.indexes, f.places(index.Columns))
	}
	return f
}

// newForms are the forms of all tables of a schema, by their names.
func newForms(l layout, s *store.Schema) map[string]*form {
	forms := map[string]*form{}
	for i := range s.Tables {
		forms[s.Tables[i].Name] = newForm(l, &s.Tables[i])
	}
	return forms
}

// place is where a column is in the table.
func (f *form) place(name string) int {
	for i := range f.Columns {
		if f.Columns[i].Name == name {
			return i
		}
	}
	return -1
}

func (f *form) places(names []string) (places []int) {
	for _, name := range names {
		places = append(places, f.place(name))
	}
	return places
}

// appendElement appends a value to a key as the tuple layer has it.
func appendElement(key []byte, v store.Value) []byte {
	switch v.Kind {
	case store.Text:
		key = append(key, textCode)
		for i := range len(v.Text) {
			if key = append(key, v.Text[i]); v.Text[i] == 0 {
				key = append(key, 0xff)
			}
		}
		return append(key, 0)
	case store.Bytes:
		return append(append(key, uuidCode), v.Bytes...)
	default:
		return appendInt(key, v.Number)
	}
}

// uuidSize is how many bytes a UUID has.
const uuidSize = 16

// cutElement is the inverse of appendElement, of a column of this type.
func cutElement(key []byte, of store.Type) (v store.Value, rest []byte, ok bool) {
	switch of {
	case store.String, store.ASCII:
		if len(key) == 0 || key[0] != textCode {
			return v, nil, false
		}
		var text []byte
		for i := 1; i < len(key); i++ {
			switch {
			case key[i] != 0:
			case i+1 < len(key) && key[i+1] == 0xff:
				text = append(text, 0)
				i++
				continue
			default:
				return store.OfText(string(text)), key[i+1:], true
			}
			text = append(text, key[i])
		}
		return v, nil, false
	case store.UUID:
		if len(key) <= uuidSize || key[0] != uuidCode {
			return v, nil, false
		}
		return store.OfBytes(bytes.Clone(key[1 : 1+uuidSize])), key[1+uuidSize:], true
	default:
		v.Number, rest, ok = cutInt(key)
		return fit(v, of), rest, ok
	}
}

// fit is a value as a column of this type has it, where a number stands for a boolean.
func fit(v store.Value, of store.Type) store.Value {
	switch {
	case of == store.Boolean:
		v.Kind = store.Bool
	case of == store.Integer && v.Kind == store.Bool:
		v.Kind = store.Int
	}
	return v
}

// key is the key of a row; only the columns of the key are looked at.
func (f *form) key(row []store.Value) []byte {
	return appendElements(f.layout.key(f.Name), row[:f.Keys()])
}

func appendElements(key []byte, values []store.Value) []byte {
	for _, v := range values {
		key = appendElement(key, v)
	}
	return key
}

// entries are the keys of a row in the indexes.
func (f *form) entries(row []store.Value) [][]byte {
	entries := make([][]byte, len(f.indexes))
	for i := range f.indexes {
		entries[i] = appendElements(f.alike(i, row), row[:f.Keys()])
	}
	return entries
}

// alike is what the entries begin with of all rows that are alike in an index's columns.
func (f *form) alike(index int, row []store.Value) []byte {
	key := f.layout.key(f.Indexes[index].Name)
	for _, c := range f.indexes[index] {
		key = appendElement(key, row[c])
	}
	return key
}

// keyOf is the key of the row that an entry of an index names.
func (f *form) keyOf(index int, entry []byte) ([]byte, error) {
	rest, ok := bytes.CutPrefix(entry, f.layout.key(f.Indexes[index].Name))
	for _, c := range f.indexes[index] {
		if ok {
			_, rest, ok = cutElement(rest, f.Columns[c].Type)
		}
	}
	if !ok {
		return nil, fmt.Errorf("index %s has a key that is not of ours: %x", f.Indexes[index].Name, entry)
	}
	return append(f.layout.key(f.Name), rest...), nil
}

// value is the value of a row's key.
func (f *form) value(row []store.Value) []byte {
	numbers := make([]int64, len(f.numbers))
	for i, c := range f.numbers {
		numbers[i] = row[c].Number
	}
	texts := make([]string, len(f.texts))
	for i, c := range f.texts {
		switch v := &row[c]; v.Kind {
		case store.Text:
			texts[i] = v.Text
		case store.Bytes:
			texts[i] = string(v.Bytes)
		default:
			texts[i] = string(appendWords(nil, v.Numbers...))
		}
	}
	return appendRecord(nil, numbers, texts...)
}

// row is the inverse of key and value.
func (f *form) row(key, value []byte) ([]store.Value, error) {
	row := make([]store.Value, len(f.Columns))
	rest, ok := bytes.CutPrefix(key, f.layout.key(f.Name))
	for i := 0; ok && i < f.Keys(); i++ {
		row[i], rest, ok = cutElement(rest, f.Columns[i].Type)
	}
	if !ok || len(rest) != 0 {
		return nil, fmt.Errorf("table %s has a key that is not of ours: %x", f.Name, key)
	}
	if old, err := f.words(value, row); old || err != nil {
		return row, err
	}
	numbers, texts := make([]*int64, len(f.numbers)), make([]string, len(f.texts))
	into := make([]*string, len(texts))
	for i, c := range f.numbers {
		numbers[i] = &row[c].Number
		row[c] = fit(row[c], f.Columns[c].Type)
	}
	for i := range texts {
		into[i] = &texts[i]
	}
	if err := readRecord(f.Name, value, numbers, into...); err != nil {
		return nil, err
	}
	for i, c := range f.texts {
		switch f.Columns[c].Type {
		case store.UUID:
			row[c] = store.OfBytes([]byte(texts[i]))
		case store.Ints:
			list, err := readList([]byte(texts[i]), nil)
			if err != nil {
				return nil, err
			}
			row[c] = store.OfList(list)
		default:
			row[c] = store.OfText(texts[i])
		}
	}
	return row, nil
}

// words reads a value as earlier versions of assay wrote it where all columns are integers,
// or the only one is a list: as words alone. A record has one byte more than words, or five.
func (f *form) words(value []byte, row []store.Value) (old bool, err error) {
	if len(value)%8 != 0 {
		return false, nil
	}
	switch {
	case len(f.texts) == 0:
		numbers := make([]*int64, len(f.numbers))
		for i, c := range f.numbers {
			numbers[i] = &row[c].Number
			row[c] = fit(row[c], f.Columns[c].Type)
		}
		return true, readWords(f.Name, value, numbers...)
	case len(f.numbers) == 0 && len(f.texts) == 1 && f.Columns[f.texts[0]].Type == store.Ints:
		list, err := readList(value, nil)
		row[f.texts[0]] = store.OfList(list)
		return true, err
	}
	return false, nil
}

// partBytes is about how many bytes a transaction that inserts many rows affects at most: a
// tenth of the limit of 10 MB, and about the 1 MB from which on a transaction is to be
// avoided (manual, "Known Limitations", "Large transactions").
const partBytes = 1_000_000

// parts gives rows to do, in the table's order of columns, as many at a time as a
// transaction can well take, until it says no.
func (f *form) parts(rows *store.Rows, do func(part [][]store.Value) (more bool)) {
	columns := f.places(rows.Columns)
	var part [][]store.Value
	var given []store.Value
	bytes := 0
	for i := range rows.Count {
		given = rows.Row(i, given[:0])
		row := make([]store.Value, len(f.Columns))
		for n, c := range columns {
			row[c] = fit(given[n], f.Columns[c].Type)
		}
		// Each key is there once with its value, and twice as a range of conflicts.
		bytes += 3*len(f.key(row)) + len(f.value(row))
		for _, entry := range f.entries(row) {
			bytes += 3 * len(entry)
		}
		if part = append(part, row); bytes >= partBytes || i == rows.Count-1 {
			if !do(part) {
				return
			}
			part, bytes = nil, 0
		}
	}
}
