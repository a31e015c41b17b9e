package foundationdb

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

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

// violation is the error of a statement that a constraint refuses.
type violation struct {
	kind store.Violation
	text string
}

func (v *violation) Error() string { return v.text }

// Errors of what does not fit.
var (
	errLongList = fmt.Errorf("a list of %d elements takes no more, since a value has at most %d bytes", maxValue/8, maxValue)
	errManyRows = errors.New("a statement changes more rows than one transaction can write")
	errTooGreat = errors.New("a sum is greater than 64 bits hold")
)

// maxTransaction is the most bytes that a transaction may affect: what it writes, with the
// keys and ranges that it reads and writes (manual, "Known Limitations": "Transaction size
// cannot exceed 10,000,000 bytes of affected data").
const maxTransaction = 10_000_000

// execution does statements in one transaction.
type execution struct {
	forms map[string]*form
	keys  keys
}

// valueOf is the value of an expression in a statement on a row, which may be nil.
func (x *execution) valueOf(e *store.Expression, f *form, row, parameters []store.Value) (v store.Value, err error) {
	switch e.Source {
	case store.FromParameter:
		return parameters[e.Parameter-1], nil
	case store.FromColumn:
		return row[f.place(e.Column)], nil
	case store.FromLeft:
		of := x.forms[e.Table]
		key := make([]store.Value, of.Keys())
		for i := range key {
			if key[i], err = x.valueOf(&e.Key[i], f, row, parameters); err != nil {
				return v, err
			}
		}
		left, err := x.row(of, of.key(key))
		if err == nil && left == nil {
			err = &violation{store.Absent, "there is no such row in " + e.Table}
		}
		if err != nil {
			return v, err
		}
		return left[of.place(e.Column)], nil
	default:
		return store.OfInt(e.Number), nil
	}
}

// conditions are the values of a plan's conditions.
func (x *execution) conditions(p *plan, parameters []store.Value) ([]store.Value, error) {
	values := make([]store.Value, len(p.Where))
	for i := range values {
		v, err := x.valueOf(&p.Where[i].Value, p.form, nil, parameters)
		if err != nil {
			return nil, err
		}
		values[i] = fit(v, p.form.Columns[p.where[i]].Type)
	}
	return values, nil
}

// row is the row of a key; nil if there is none.
func (x *execution) row(f *form, key []byte) ([]store.Value, error) {
	value, err := x.keys.get(key)()
	if err != nil || value == nil {
		return nil, err
	}
	return f.row(key, value)
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
	case store.Insert:
		return x.insert(p, parameters)
	case store.Put:
		return 1, x.put(p, parameters)
	case store.Append:
		return 1, x.grow(p, parameters)
	default:
		return x.change(p, parameters, row)
	}
}

// values are those of Columns in row number i of an Insert or a Put, in the table's order.
func (x *execution) values(p *plan, i int, parameters, into []store.Value) error {
	for n, c := range p.columns {
		e := p.Value(i, n)
		v, err := x.valueOf(&e, p.form, nil, parameters)
		if err != nil {
			return err
		}
		into[c] = fit(v, p.form.Columns[c].Type)
	}
	return nil
}

func (x *execution) insert(p *plan, parameters []store.Value) (int64, error) {
	rows := make([][]store.Value, max(p.Rows, 1))
	for i := range rows {
		rows[i] = make([]store.Value, len(p.form.Columns))
		if err := x.values(p, i, parameters, rows[i]); err != nil {
			return 0, err
		}
	}
	return int64(len(rows)), x.add(p.form, rows)
}

// add inserts rows, after looking at the same time whether one of them is there.
func (x *execution) add(f *form, rows [][]store.Value) error {
	there, made := make([]func() ([]byte, error), len(rows)), map[string]bool{}
	for i, row := range rows {
		there[i] = x.keys.get(f.key(row))
	}
	for i, row := range rows {
		value, err := there[i]()
		if err != nil {
			return err
		}
		key := string(f.key(row))
		if value != nil || made[key] {
			return &violation{store.Unique, "a row of table " + f.Name + " is there already"}
		}
		made[key] = true
	}
	for _, row := range rows {
		if err := x.write(f, nil, row); err != nil {
			return err
		}
	}
	return nil
}

// write sets a row and its entries in indexes, in the place of what it was; nil if it was
// not there.
func (x *execution) write(f *form, before, row []store.Value) error {
	for _, floor := range f.Floors {
		if row[f.place(floor.Column)].Number < floor.Least {
			return &violation{store.Floor, "column " + floor.Column + " of table " + f.Name + " would be too small"}
		}
	}
	if err := x.enter(f, before, row); err != nil {
		return err
	}
	x.keys.set(f.key(row), f.value(row))
	return nil
}

// enter sets a row's entries in indexes.
func (x *execution) enter(f *form, before, row []store.Value) error {
	var old [][]byte
	if before != nil {
		old = f.entries(before)
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
				return &violation{store.Unique, "another row of table " + f.Name + " has the same in index " + f.Indexes[i].Name}
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
func (x *execution) put(p *plan, parameters []store.Value) (err error) {
	row := make([]store.Value, len(p.form.Columns))
	if err := x.values(p, 0, parameters, row); err != nil {
		return err
	}
	var before []store.Value
	if len(p.form.Indexes) > 0 {
		if before, err = x.row(p.form, p.form.key(row)); err != nil {
			return err
		}
	}
	return x.write(p.form, before, row)
}

// grow reads a list and writes it longer by one element: FoundationDB's own atomic append
// does nothing when the value would become too large, and "No error is surfaced back to the
// user" (Go binding, AppendIfFits).
func (x *execution) grow(p *plan, parameters []store.Value) error {
	f := p.form
	row := make([]store.Value, 2)
	if err := x.values(p, 0, parameters, row); err != nil {
		return err
	}
	before, err := x.row(f, f.key(row))
	if err != nil {
		return err
	}
	var list []int64
	if before != nil {
		list = before[1].Numbers
	}
	row[1] = store.OfList(append(list, row[1].Number))
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
	for _, row := range r.kept {
		if p.Verb == store.Delete {
			x.keys.clear(p.form.key(row))
			for _, entry := range p.form.entries(row) {
				x.keys.clear(entry)
			}
			continue
		}
		after, err := x.assign(p, row, parameters)
		if err == nil {
			err = x.write(p.form, row, after)
		}
		if err == nil && give != nil && len(p.columns) > 0 {
			err = give(answer(p.pick(after)))
		}
		if err != nil {
			return 0, err
		}
	}
	return int64(len(r.kept)), nil
}

// assign is a row with what an Update sets.
func (x *execution) assign(p *plan, row, parameters []store.Value) ([]store.Value, error) {
	after := slices.Clone(row)
	for i := range p.Set {
		c := p.set[i]
		v, err := x.valueOf(&p.Set[i].Value, p.form, row, parameters)
		if err != nil {
			return nil, err
		}
		if p.Set[i].Add {
			sum, ok := add64(row[c].Number, v.Number)
			if !ok {
				return nil, errTooGreat
			}
			v.Number = sum
		}
		after[c] = fit(v, p.form.Columns[c].Type)
	}
	return after, nil
}

// pick are the columns that a statement gives.
func (p *plan) pick(row []store.Value) []store.Value {
	values := make([]store.Value, len(p.columns))
	for i, c := range p.columns {
		values[i] = row[c]
	}
	return values
}

// compare compares two values of one kind.
func compare(a, b store.Value) int {
	switch a.Kind {
	case store.Text:
		return strings.Compare(a.Text, b.Text)
	case store.Bytes:
		return bytes.Compare(a.Bytes, b.Bytes)
	default:
		return cmp.Compare(a.Number, b.Number)
	}
}

// add64 is a sum; ok is false if 64 bits do not hold it.
func add64(a, b int64) (sum int64, ok bool) {
	if b > 0 && a > math.MaxInt64-b || b < 0 && a < math.MinInt64-b {
		return 0, false
	}
	return a + b, true
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
func (a *ahead) ask(p *plan, parameters []store.Value) {
	if key, known := p.known(parameters); known {
		a.asked[string(key)] = a.get(key)
	}
}
