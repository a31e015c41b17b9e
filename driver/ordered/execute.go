package ordered

import (
	"bytes"
	"errors"
	"fmt"

	"assay/driver/rows"
	"assay/store"
)

// Keys is a transaction for statements. It sees its own writes and keeps no slice given to it.
type Keys interface {
	Ask(key []byte) Asked
	// Scan returns at most limit pairs from begin to before end, the last first if reverse.
	Scan(begin, end []byte, limit int, reverse bool) ([]Pair, error)
	Set(key, value []byte)
	Clear(key []byte)
}

// Asked is an answer: Value, nil if the key is missing, or Wait, which waits for it.
type Asked struct {
	Value []byte
	Wait  func() ([]byte, error)
}

func (a Asked) get() ([]byte, error) {
	if a.Wait == nil {
		return a.Value, nil
	}
	return a.Wait()
}

// Pair is a key with its value.
type Pair struct{ Key, Value []byte }

// Errors of statements that exceed the Limits.
var (
	ErrLongList = errors.New("a list would be longer than a value can be")
	ErrManyRows = errors.New("more is changed than one transaction can write")
)

// Plan is a compiled statement on ordered keys.
type Plan struct {
	*rows.Plan
	form *Form
}

// Compile makes a statement's plan. Only if direct, rows are found by index or asked for by key;
// otherwise in one range of the table.
func Compile(forms Forms, s *store.Statement, direct bool) (*Plan, error) {
	tables := map[string]*rows.Table{}
	for name, f := range forms {
		tables[name] = f.Table
	}
	p, err := rows.Compile(tables, s, rows.Ways{Keyed: direct, InOrder: true, Usable: func(_ *rows.Table, index int) bool { return direct || index == rows.ByKey }})
	if err != nil {
		return nil, err
	}
	return &Plan{p, forms[s.Table]}, nil
}

// Execution does statements in one transaction. It reuses its memory.
type Execution struct {
	Forms  Forms
	Keys   Keys
	Limits Limits
	e      rows.Evaluation
	scratch
	reading Reading
	made    []rows.Row
}

// scratch has memory that is valid until the next statement.
type scratch struct {
	numbers    []int64
	texts      []string
	key, value []byte
}

func (s *scratch) reset() { s.numbers, s.texts = s.numbers[:0], s.texts[:0] }

func (s *scratch) row(t *rows.Table) rows.Row {
	return rows.Row{Numbers: part(&s.numbers, t.Numbers), Texts: part(&s.texts, t.Texts)}
}

func (s *scratch) back(of rows.Row) {
	s.numbers, s.texts = s.numbers[:len(s.numbers)-len(of.Numbers)], s.texts[:len(s.texts)-len(of.Texts)]
}

func part[T any](of *[]T, n int) []T {
	at := len(*of)
	if at+n > cap(*of) {
		*of = make([]T, at, 2*cap(*of)+n) // those before keep what they have
	}
	*of = (*of)[:at+n]
	clear((*of)[at:])
	return (*of)[at : at+n : at+n]
}

// keyOf and valueOf are valid until their next call.
func (s *scratch) keyOf(f *Form, row rows.Row) []byte {
	s.key = f.appendKey(s.key[:0], row)
	return s.key
}

func (s *scratch) valueOf(f *Form, row rows.Row) []byte {
	s.value = f.appendValue(s.value[:0], row)
	return s.value
}

// Row implements rows.Reader.
func (x *Execution) Row(t *rows.Table, key []rows.Value) (row rows.Row, there bool, err error) {
	f := x.Forms[t.Name]
	x.key = f.appendKeyOf(x.key[:0], key)
	return x.find(f, x.key)
}

func (x *Execution) find(f *Form, key []byte) (row rows.Row, there bool, err error) {
	value, err := x.Keys.Ask(key).get()
	if err != nil || value == nil {
		return row, false, err
	}
	row = x.row(f.Table)
	return row, true, f.read(key, value, row)
}

// Do does a statement, calls row with each of its rows and counts the changed rows.
func (x *Execution) Do(p *Plan, parameters []store.Value, row func(store.Row) error) (changed int64, err error) {
	switch p.Verb {
	case store.Read, store.Count:
		r, err := x.Reading(p, parameters, row)
		for over := false; !over && err == nil; {
			over, err = r.Step()
		}
		if err != nil {
			return 0, err
		}
		return 0, r.Finish()
	case store.Insert, store.Put, store.Append:
		x.reset()
		x.made = x.made[:0]
		for i := range p.Rows() {
			row, err := x.make(p, i, parameters)
			if err != nil {
				return 0, err
			}
			x.made = append(x.made, row)
		}
		switch p.Verb {
		case store.Put:
			err = x.put(p.form, x.made[0])
		case store.Append:
			err = x.grow(p.form, x.made[0])
		default:
			err = x.Add(p.form, x.made)
		}
		if err != nil {
			return 0, err
		}
		return int64(len(x.made)), nil
	default:
		return x.change(p, parameters, row)
	}
}

// Call is Do with a call's parameters and Row.
func (x *Execution) Call(p *Plan, call *store.Call) (changed int64, err error) {
	if call.Want == 0 {
		return x.Do(p, call.Parameters, call.Row)
	}
	err = call.Counted(func(row func(store.Row) error) (err error) {
		changed, err = x.Do(p, call.Parameters, row)
		return err
	})
	return changed, err
}

// Calls does calls in order; plans are all the session's. It first asks for all rows with known
// keys, in parallel.
func (x *Execution) Calls(plans []*Plan, calls []store.Call) error {
	outer := x.Keys
	defer func() { x.Keys = outer }()
	asked := newAhead(outer)
	x.Keys = asked
	for i := range calls {
		asked.ask(plans[calls[i].Statement], calls[i].Parameters)
	}
	for i := range calls {
		if _, err := x.Call(plans[calls[i].Statement], &calls[i]); err != nil {
			return err
		}
	}
	return nil
}

func (x *Execution) make(p *Plan, i int, parameters []store.Value) (row rows.Row, err error) {
	if err := x.e.Row(p.Plan, i, parameters, x); err != nil {
		return row, err
	}
	if p.Verb == store.Append {
		x.e.Values[1].Text = rows.ListText(x.e.Values[1].Number)
	}
	row = x.row(p.Table)
	p.form.Write(row, p.Columns, x.e.Values)
	return row, nil
}

// Add inserts rows, after asking in parallel whether they exist.
func (x *Execution) Add(f *Form, made []rows.Row) error {
	var seen map[string]bool
	if len(made) > 1 {
		seen = map[string]bool{}
	}
	r := &x.reading
	r.found = r.found[:0]
	for _, row := range made {
		key := x.keyOf(f, row)
		r.found = append(r.found, x.Keys.Ask(key))
		if seen[string(key)] {
			return f.Exists()
		}
		if seen != nil {
			seen[string(key)] = true
		}
	}
	for i := range made {
		if value, err := r.found[i].get(); err != nil {
			return err
		} else if value != nil {
			return f.Exists()
		}
	}
	for _, row := range made {
		if err := x.Write(f, nil, row); err != nil {
			return err
		}
	}
	return nil
}

// Write sets a row and its index entries. before is the row it replaces, or nil.
func (x *Execution) Write(f *Form, before *rows.Row, row rows.Row) error {
	if err := f.Allow(row); err != nil {
		return err
	}
	if err := x.enter(f, before, row); err != nil {
		return err
	}
	x.Keys.Set(x.keyOf(f, row), x.valueOf(f, row))
	return nil
}

func (x *Execution) enter(f *Form, before *rows.Row, row rows.Row) error {
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
			others, err := x.Keys.Scan(begin, end, 1, false)
			if err != nil {
				return err
			}
			if len(others) > 0 {
				return f.Twin()
			}
		}
		if old != nil {
			x.Keys.Clear(old[i])
		}
		x.Keys.Set(entry, []byte{})
	}
	return nil
}

func (x *Execution) put(f *Form, row rows.Row) error {
	if len(f.Indexes) == 0 {
		return x.Write(f, nil, row)
	}
	before, there, err := x.find(f, x.keyOf(f, row))
	if err != nil {
		return err
	}
	if !there {
		return x.Write(f, nil, row)
	}
	return x.Write(f, &before, row)
}

func (x *Execution) grow(f *Form, row rows.Row) error {
	before, there, err := x.find(f, x.keyOf(f, row))
	if err != nil {
		return err
	}
	if list := len(row.Texts) - 1; there {
		row.Texts[list] = before.Texts[list] + row.Texts[list]
	}
	value := x.valueOf(f, row)
	if len(value) > x.Limits.Value {
		return fmt.Errorf("%w, which is %d bytes", ErrLongList, x.Limits.Value)
	}
	x.Keys.Set(x.keyOf(f, row), value)
	return nil
}

// change does an Update or a Delete. It reads all rows before it writes any.
func (x *Execution) change(p *Plan, parameters []store.Value, give func(store.Row) error) (int64, error) {
	r, err := x.Reading(p, parameters, nil)
	for over := false; !over && err == nil; {
		if over, err = r.Step(); err == nil && r.bytes > x.Limits.Changed {
			err = fmt.Errorf("%w: a statement reads rows of more than %d bytes to change them", ErrManyRows, x.Limits.Changed)
		}
	}
	if err != nil {
		return 0, err
	}
	f := p.form
	for _, row := range r.kept {
		if p.Verb == store.Delete {
			x.Keys.Clear(x.keyOf(f, row))
			for _, entry := range f.entries(row) {
				x.Keys.Clear(entry)
			}
			continue
		}
		after := x.row(f.Table)
		after.Copy(row)
		err := x.e.Assign(p.Plan, parameters, row, x)
		if err == nil {
			f.Write(after, p.Written, x.e.Values)
			err = x.Write(f, &row, after)
		}
		if err == nil && give != nil && len(p.Columns) > 0 {
			r.answer.Row = after
			err = give(&r.answer)
		}
		if err != nil {
			return 0, err
		}
	}
	return int64(len(r.kept)), nil
}

// ahead has answers that were asked for before the statement needs them.
type ahead struct {
	Keys
	asked map[string]Asked
	e     rows.Evaluation
}

func newAhead(of Keys) *ahead { return &ahead{Keys: of, asked: map[string]Asked{}} }

func (a *ahead) Ask(key []byte) Asked {
	if asked, is := a.asked[string(key)]; is {
		return asked
	}
	return a.Keys.Ask(key)
}

// Set and Clear implement Keys. They drop the key's early answer.
func (a *ahead) Set(key, value []byte) {
	delete(a.asked, string(key))
	a.Keys.Set(key, value)
}

func (a *ahead) Clear(key []byte) {
	delete(a.asked, string(key))
	a.Keys.Clear(key)
}

// ask asks for the statement's row if its key is known.
func (a *ahead) ask(p *Plan, parameters []store.Value) {
	if a.e.Known(p.Plan, parameters) {
		key := p.form.appendKeyOf(nil, a.e.Key)
		a.asked[string(key)] = a.Ask(key)
	}
}
