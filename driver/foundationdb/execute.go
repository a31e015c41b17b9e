package foundationdb

import (
	"bytes"
	"errors"
	"fmt"

	"assay/driver/rows"
	"assay/store"
)

// keys is a transaction as statements use it. It sees what it has written.
type keys interface {
	// get asks for a key; what is returned waits for the value, which is nil if there is
	// none.
	get(key []byte) func() ([]byte, error)
	// scan gives at most limit keys from begin to before end, the last first if reverse.
	scan(begin, end []byte, limit int, reverse bool) ([]pair, error)
	set(key, value []byte)
	clear(key []byte)
}

// pair is a key and its value.
type pair struct{ key, value []byte }

// Errors of what does not fit.
var (
	errLongList = fmt.Errorf("a list of %d elements takes no more, since a value has at most %d bytes", maxValue/8, maxValue)
	errManyRows = errors.New("a statement changes more rows than one transaction can write")
)

// maxTransaction is the most bytes that a transaction may affect: what it writes, with the
// keys and ranges that it reads and writes (manual, "Known Limitations": "Transaction size
// cannot exceed 10,000,000 bytes of affected data").
const maxTransaction = 10_000_000

// plan is a statement, made ready.
type plan struct {
	*rows.Plan
	form *form
}

// compile makes the plan of a statement. Rows are asked for by an index, and by their keys,
// only if direct is true; else they are found in one range of the table.
func compile(forms map[string]*form, s *store.Statement, direct bool) (*plan, error) {
	tables := map[string]*rows.Table{}
	for name, f := range forms {
		tables[name] = f.Table
	}
	p, err := rows.Compile(tables, s, rows.Ways{Keyed: direct, InOrder: true, Usable: func(_ *rows.Table, index int) bool { return direct || index == rows.ByKey }})
	if err != nil {
		return nil, fmt.Errorf("foundationdb: %w", err)
	}
	return &plan{p, forms[s.Table]}, nil
}

// execution does statements in one transaction.
type execution struct {
	forms map[string]*form
	keys  keys
	e     rows.Evaluation
}

// Row implements rows.Reader.
func (x *execution) Row(t *rows.Table, key []rows.Value) (row rows.Row, there bool, err error) {
	f := x.forms[t.Name]
	return x.row(f, f.keyFrom(key))
}

// row is the row of a key.
func (x *execution) row(f *form, key []byte) (row rows.Row, there bool, err error) {
	value, err := x.keys.get(key)()
	if err != nil || value == nil {
		return row, false, err
	}
	row, err = f.row(key, value)
	return row, true, err
}

// do does a statement, gives the rows that it gives, and says how many it has changed.
func (x *execution) do(p *plan, parameters []store.Value, row func(store.Row) error) (changed int64, err error) {
	switch p.Verb {
	case store.Read, store.Count:
		r, err := x.reading(p, parameters, row)
		for over := false; !over && err == nil; {
			over, err = r.step()
		}
		if err != nil {
			return 0, err
		}
		return 0, r.finish()
	case store.Insert, store.Put, store.Append:
		made := make([]rows.Row, p.Rows())
		for i := range made {
			if made[i], err = x.made(p, i, parameters); err != nil {
				return 0, err
			}
		}
		switch p.Verb {
		case store.Put:
			err = x.put(p.form, made[0])
		case store.Append:
			err = x.grow(p.form, made[0])
		default:
			err = x.add(p.form, made)
		}
		return int64(len(made)), err
	default:
		return x.change(p, parameters, row)
	}
}

// made is row number i of an Insert, a Put or an Append.
func (x *execution) made(p *plan, i int, parameters []store.Value) (row rows.Row, err error) {
	if err := x.e.Row(p.Plan, i, parameters, x); err != nil {
		return row, err
	}
	if p.Verb == store.Append {
		x.e.Values[1].Text = rows.ListText(x.e.Values[1].Number)
	}
	row = p.form.Make()
	p.form.Write(row, p.Columns, x.e.Values)
	return row, nil
}

// add inserts rows, after looking at the same time whether one of them is there.
func (x *execution) add(f *form, made []rows.Row) error {
	there, seen := make([]func() ([]byte, error), len(made)), map[string]bool{}
	for i, row := range made {
		there[i] = x.keys.get(f.key(row))
	}
	for i, row := range made {
		value, err := there[i]()
		if err != nil {
			return err
		}
		key := string(f.key(row))
		if value != nil || seen[key] {
			return f.Exists()
		}
		seen[key] = true
	}
	for _, row := range made {
		if err := x.write(f, nil, row); err != nil {
			return err
		}
	}
	return nil
}

// write sets a row and its entries in indexes, in the place of what it was; nil if it was
// not there.
func (x *execution) write(f *form, before *rows.Row, row rows.Row) error {
	if err := f.Allow(row); err != nil {
		return err
	}
	if err := x.enter(f, before, row); err != nil {
		return err
	}
	x.keys.set(f.key(row), f.value(row))
	return nil
}

// enter sets a row's entries in indexes.
func (x *execution) enter(f *form, before *rows.Row, row rows.Row) error {
	var old [][]byte
	if before != nil {
		old = f.entries(*before)
	}
	for i, entry := range f.entries(row) {
		if old != nil && bytes.Equal(old[i], entry) {
			continue
		}
		if f.Indexes[i].Unique {
			begin, end := within(f.alike(i, row))
			others, err := x.keys.scan(begin, end, 1, false)
			if err != nil {
				return err
			}
			if len(others) > 0 {
				return f.Twin()
			}
		}
		if old != nil {
			x.keys.clear(old[i])
		}
		x.keys.set(entry, []byte{})
	}
	return nil
}

// put does a Put. The row is not read unless its entries in indexes depend on what it was.
func (x *execution) put(f *form, row rows.Row) error {
	if len(f.Indexes) == 0 {
		return x.write(f, nil, row)
	}
	before, there, err := x.row(f, f.key(row))
	if err != nil {
		return err
	}
	if !there {
		return x.write(f, nil, row)
	}
	return x.write(f, &before, row)
}

// grow reads a list and writes it longer by one element: FoundationDB's own atomic append
// does nothing when the value would become too large, and "No error is surfaced back to the
// user" (Go binding, AppendIfFits).
func (x *execution) grow(f *form, row rows.Row) error {
	before, there, err := x.row(f, f.key(row))
	if err != nil {
		return err
	}
	if list := len(row.Texts) - 1; there {
		row.Texts[list] = before.Texts[list] + row.Texts[list]
	}
	value := f.value(row)
	if len(value) > maxValue {
		return errLongList
	}
	x.keys.set(f.key(row), value)
	return nil
}

// change does an Update or a Delete, of rows that are all read before any of them is
// written.
func (x *execution) change(p *plan, parameters []store.Value, give func(store.Row) error) (int64, error) {
	r, err := x.reading(p, parameters, nil)
	for over := false; !over && err == nil; {
		if over, err = r.step(); err == nil && r.bytes > maxTransaction {
			err = errManyRows
		}
	}
	if err != nil {
		return 0, err
	}
	f := p.form
	for _, row := range r.kept {
		if p.Verb == store.Delete {
			x.keys.clear(f.key(row))
			for _, entry := range f.entries(row) {
				x.keys.clear(entry)
			}
			continue
		}
		after := f.Make()
		after.Copy(row)
		err := x.e.Assign(p.Plan, parameters, row, x)
		if err == nil {
			f.Write(after, p.Written, x.e.Values)
			err = x.write(f, &row, after)
		}
		if err == nil && give != nil && len(p.Columns) > 0 {
			err = give(&rows.Answer{Plan: p.Plan, Row: after})
		}
		if err != nil {
			return 0, err
		}
	}
	return int64(len(r.kept)), nil
}

// ahead are keys that were asked for before a statement wants them.
type ahead struct {
	keys
	asked map[string]func() ([]byte, error)
}

func (a *ahead) get(key []byte) func() ([]byte, error) {
	if value, is := a.asked[string(key)]; is {
		return value
	}
	return a.keys.get(key)
}

func (a *ahead) set(key, value []byte) {
	delete(a.asked, string(key))
	a.keys.set(key, value)
}

func (a *ahead) clear(key []byte) {
	delete(a.asked, string(key))
	a.keys.clear(key)
}

// ask asks for the row that a statement will read, if its key is known.
func (a *ahead) ask(p *plan, e *rows.Evaluation, parameters []store.Value) {
	if e.Known(p.Plan, parameters) {
		key := p.form.keyFrom(e.Key)
		a.asked[string(key)] = a.get(key)
	}
}
