package ordered

import (
	"bytes"
	"fmt"

	"assay/driver/rows"
	"assay/history"
	"assay/store"
)

// Form is the layout of a table's rows:
//
//	(table, key...) = the other columns, by appendRecord
//	(index, the index's columns..., key...) = nothing
//
// The record has the integers and booleans first, then the texts, UUIDs and lists. An index entry
// has each column once. Entries are written in the row's transaction (FoundationDB's manual,
// "Simple Indexes").
type Form struct {
	*rows.Table
	// keyColumns are the key's; keyNumbers and keyTexts count its numbers and texts.
	keyColumns           []int
	keyNumbers, keyTexts int
	// prefix begins the table's keys, prefixes those of each index.
	prefix   []byte
	prefixes [][]byte
}

func newForm(l Layout, t *rows.Table) *Form {
	f := &Form{Table: t, keyColumns: t.Order(rows.ByKey), prefix: l.Key(t.Name)}
	for i := range t.Indexes {
		f.prefixes = append(f.prefixes, l.Key(t.Indexes[i].Name))
	}
	for i := range f.keyColumns {
		switch t.Columns[i].Type {
		case store.Integer, store.Boolean:
			f.keyNumbers++
		default:
			f.keyTexts++
		}
	}
	return f
}

// Forms are the forms of a schema's tables, by name.
type Forms map[string]*Form

// NewForms makes the forms of a schema's tables.
func NewForms(l Layout, s *store.Schema) Forms {
	forms := Forms{}
	for name, t := range rows.Tables(s) {
		forms[name] = newForm(l, t)
	}
	return forms
}

func (f *Form) element(key []byte, column int, v rows.Value) []byte {
	switch f.Columns[column].Type {
	case store.Integer, store.Boolean:
		return appendInt(key, v.Number)
	case store.UUID:
		return append(append(key, uuidCode), v.Text...)
	}
	key = append(key, textCode)
	for i := range len(v.Text) {
		if key = append(key, v.Text[i]); v.Text[i] == 0 {
			key = append(key, 0xff)
		}
	}
	return append(key, 0)
}

const uuidSize = 16

func (f *Form) cutElement(key []byte, column int) (v rows.Value, rest []byte, ok bool) {
	switch f.Columns[column].Type {
	case store.Integer, store.Boolean:
		v.Number, rest, ok = cutInt(key)
		return v, rest, ok
	case store.UUID:
		if len(key) <= uuidSize || key[0] != uuidCode {
			return v, nil, false
		}
		return rows.Value{Text: string(key[1 : 1+uuidSize])}, key[1+uuidSize:], true
	}
	if len(key) == 0 || key[0] != textCode {
		return v, nil, false
	}
	var text []byte
	for i := 1; i < len(key); i++ {
		switch {
		case key[i] != 0:
		case i+1 < len(key) && key[i+1] == 0xff:
			i++
			text = append(text, 0)
			continue
		default:
			return rows.Value{Text: string(text)}, key[i+1:], true
		}
		text = append(text, key[i])
	}
	return v, nil, false
}

func (f *Form) elements(key []byte, columns []int, row rows.Row) []byte {
	for _, column := range columns {
		key = f.element(key, column, f.Get(row, column))
	}
	return key
}

func (f *Form) cut(name string, prefix, key []byte, columns []int, row rows.Row) error {
	rest, ok := bytes.CutPrefix(key, prefix)
	for _, column := range columns {
		var v rows.Value
		if ok {
			v, rest, ok = f.cutElement(rest, column)
			f.Set(row, column, v)
		}
	}
	if !ok || len(rest) != 0 {
		return fmt.Errorf("table or index %s has a key that is not of ours: %x", name, key)
	}
	return nil
}

// Key is a row's key; only the key columns are used.
func (f *Form) Key(row rows.Row) []byte {
	return f.appendKey(nil, row)
}

func (f *Form) appendKey(key []byte, row rows.Row) []byte {
	return f.elements(append(key, f.prefix...), f.keyColumns, row)
}

func (f *Form) appendKeyOf(key []byte, values []rows.Value) []byte {
	key = append(key, f.prefix...)
	for column, v := range values {
		key = f.element(key, column, v)
	}
	return key
}

func (f *Form) entries(row rows.Row) [][]byte {
	entries := make([][]byte, len(f.Indexes))
	for i := range entries {
		entries[i] = f.elements(bytes.Clone(f.prefixes[i]), f.Orders[i], row)
	}
	return entries
}

// alike is the prefix of the index entries of all rows with equal index columns.
func (f *Form) alike(index int, row rows.Row) []byte {
	of := &f.Indexes[index]
	return f.elements(bytes.Clone(f.prefixes[index]), f.Orders[index][:len(of.Columns)], row)
}

func (f *Form) keyOf(index int, entry []byte) ([]byte, error) {
	row := f.Make()
	if err := f.cut(f.Indexes[index].Name, f.prefixes[index], entry, f.Orders[index], row); err != nil {
		return nil, err
	}
	return f.Key(row), nil
}

// Value is the value stored under a row's key.
func (f *Form) Value(row rows.Row) []byte { return f.appendValue(nil, row) }

func (f *Form) appendValue(value []byte, row rows.Row) []byte {
	return appendRecord(value, row.Numbers[f.keyNumbers:], row.Texts[f.keyTexts:]...)
}

// read reverses Key and Value.
func (f *Form) read(key, value []byte, row rows.Row) error {
	if err := f.cut(f.Name, f.prefix, key, f.keyColumns, row); err != nil {
		return err
	}
	numbers, texts := row.Numbers[f.keyNumbers:], row.Texts[f.keyTexts:]
	last := f.Columns[len(f.Columns)-1].Type
	// Earlier versions wrote words alone if all columns are integers, or if the only one is a
	// list. A record is longer than words by one or five bytes.
	switch {
	case len(value)%8 != 0 || len(texts) > 1:
	case len(texts) == 0:
		return readWords(f.Name, value, numbers)
	case len(numbers) == 0 && last == store.Ints:
		texts[0] = string(value)
		return nil
	}
	if err := readRecord(f.Name, value, numbers, texts); err != nil {
		return err
	}
	if last == store.Ints && len(texts[len(texts)-1])%8 != 0 {
		return fmt.Errorf("table %s has a list of %d bytes, want a multiple of 8", f.Name, len(texts[len(texts)-1]))
	}
	return nil
}

// Limits are a database's limits.
type Limits struct {
	// Value bounds a value, and Changed the keys and values that a statement reads to change
	// them, in bytes.
	Value, Changed int
	// Part is about the most bytes that one transaction of an insertion affects, PartKeys the
	// most keys (0: any number).
	Part, PartKeys int
}

// Insert inserts rows, in several transactions if there are many. The first that does not commit
// ends it; rows of earlier ones stay, and the reply is then unknown.
func (f *Form) Insert(of *store.Rows, limits Limits, transaction func(part []rows.Row) store.Reply) store.Reply {
	reply, begun := store.Reply{Outcome: history.Committed}, false
	wrong := f.Parts(of, limits, func(part []rows.Row) bool {
		reply = transaction(part)
		if reply.Outcome != history.Committed && begun {
			reply.Outcome, reply.Violated = history.Unknown, store.NoViolation
		}
		begun = true
		return reply.Outcome == history.Committed
	})
	if wrong != nil {
		reply = store.Reply{Outcome: history.Failed, Class: store.ClassOther, Err: fmt.Errorf("insert into %s: %w", of.Table, wrong)}
		if begun {
			reply.Outcome = history.Unknown
		}
	}
	return reply
}

// Parts calls do with as many rows as fit one transaction, until do returns false. It returns an
// error for rows that do not fit the table.
func (f *Form) Parts(of *store.Rows, limits Limits, do func(part []rows.Row) (more bool)) error {
	columns, err := f.Places(of.Columns)
	if err != nil {
		return err
	}
	var part []rows.Row
	var given []store.Value
	var values rows.Evaluation
	bytes := 0
	for i := range of.Count {
		given = of.Row(i, given[:0])
		if err := values.Given(f.Table, columns, given); err != nil {
			return err
		}
		row := f.Make()
		f.Write(row, columns, values.Values)
		// Each key counts once with its value and twice as a conflict range.
		bytes += 3*len(f.Key(row)) + len(f.Value(row))
		for _, entry := range f.entries(row) {
			bytes += 3 * len(entry)
		}
		full := limits.PartKeys > 0 && (len(part)+2)*(1+len(f.Indexes)) > limits.PartKeys // with one more
		if part = append(part, row); full || bytes >= limits.Part || i == of.Count-1 {
			if !do(part) {
				return nil
			}
			part, bytes = nil, 0
		}
	}
	return nil
}
