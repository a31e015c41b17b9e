package rows

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"assay/store"
)

// Reader finds the rows of store.Left.
type Reader interface {
	// Row returns the row with a key, as the transaction sees it.
	Row(t *Table, key []Value) (row Row, there bool, err error)
}

// Evaluation computes the values of statements. Each result is valid until the next call that
// writes the same field.
type Evaluation struct {
	// Where is Bind's result.
	Where []Bound
	// Values is the result of Row, Given and Assign. Key is the result of KeyOf and Known.
	Values, Key []Value
	left        []Value
}

type Bound struct {
	Column int
	Is     store.Comparison
	Value  Value
	Keys   []int64
}

var errTooGreat = errors.New("a sum is greater than 64 bits hold")

func add(a, b int64) (int64, error) {
	if b > 0 && a > math.MaxInt64-b || b < 0 && a < math.MinInt64-b {
		return 0, errTooGreat
	}
	return a + b, nil
}

func (v *Evaluation) evaluate(e *expression, parameters []store.Value, t *Table, old Row, r Reader) (Value, error) {
	switch e.source {
	case store.FromParameter:
		if e.parameter >= len(parameters) {
			return Value{}, fmt.Errorf("parameter $%d is missing", e.parameter+1)
		}
		return given(&parameters[e.parameter], e.text)
	case store.FromNumber:
		return Value{Number: e.number}, nil
	case store.FromColumn:
		return t.Get(old, e.column), nil
	case store.FromLeft:
		return v.leftOf(e, parameters, r)
	default:
		return Value{}, errors.New("a value is missing")
	}
}

func (v *Evaluation) leftOf(e *expression, parameters []store.Value, r Reader) (of Value, err error) {
	first := len(v.left)
	for column := range e.key {
		k, err := v.evaluate(&e.key[column], parameters, e.table, Row{}, r)
		if err != nil {
			v.left = v.left[:first]
			return of, err
		}
		v.left = append(v.left, k)
	}
	row, there, err := r.Row(e.table, v.left[first:])
	v.left = v.left[:first]
	if err != nil {
		return of, err
	}
	if !there {
		return of, &Violation{store.Absent, fmt.Sprintf("table %q has no row of this key to take column %q from", e.table.Name, e.table.Columns[e.column].Name)}
	}
	return e.table.Get(row, e.column), nil
}

// Rows is the number of rows that a statement inserts or puts.
func (p *Plan) Rows() int { return len(p.values) / len(p.Columns) }

// Row sets Values to row i of an Insert or Put, in the order of p.Columns. For an Append the
// second value is the element.
func (v *Evaluation) Row(p *Plan, i int, parameters []store.Value, r Reader) error {
	v.Values = v.Values[:0]
	for n := range p.Columns {
		of, err := v.evaluate(&p.values[i*len(p.Columns)+n], parameters, p.Table, Row{}, r)
		if err != nil {
			return err
		}
		v.Values = append(v.Values, of)
	}
	return nil
}

// Given sets Values to a row given for the columns.
func (v *Evaluation) Given(t *Table, columns []int, row []store.Value) error {
	if len(row) != len(columns) {
		return fmt.Errorf("table %q: a row has %d values for %d columns", t.Name, len(row), len(columns))
	}
	v.Values = v.Values[:0]
	for i := range row {
		of, err := given(&row[i], t.places[columns[i]].text)
		if err != nil {
			return err
		}
		v.Values = append(v.Values, of)
	}
	return nil
}

// KeyOf sets Key from Values, whose columns must be all of the table's.
func (v *Evaluation) KeyOf(t *Table, columns []int) error {
	if len(columns) != len(t.Columns) {
		return fmt.Errorf("table %q: a row has %d columns, and must have %d", t.Name, len(columns), len(t.Columns))
	}
	v.Key = v.Key[:0]
	for column := range t.Keys() {
		i := slices.Index(columns, column)
		if i < 0 {
			return fmt.Errorf("table %q: column %q of the key has no value", t.Name, t.Columns[column].Name)
		}
		v.Key = append(v.Key, v.Values[i])
	}
	return nil
}

// Assign sets Values to an Update's new values of p.Written.
func (v *Evaluation) Assign(p *Plan, parameters []store.Value, old Row, r Reader) error {
	v.Values = v.Values[:0]
	for i := range p.set {
		of, err := v.evaluate(&p.set[i].value, parameters, p.Table, old, r)
		if err == nil && p.set[i].add {
			of.Number, err = add(of.Number, p.Table.Get(old, p.Written[i]).Number)
		}
		if err != nil {
			return err
		}
		v.Values = append(v.Values, of)
	}
	return nil
}

// Bind sets Where to a statement's conditions.
func (v *Evaluation) Bind(p *Plan, parameters []store.Value, r Reader) error {
	v.Where = v.Where[:0]
	for i := range p.where {
		c := &p.where[i]
		b := Bound{Column: c.column, Is: c.is}
		if c.is == store.In {
			if c.value.parameter >= len(parameters) || parameters[c.value.parameter].Kind != store.Keys || c.value.text {
				return fmt.Errorf("parameter $%d is no list of keys for a column of integers", c.value.parameter+1)
			}
			b.Keys = parameters[c.value.parameter].Numbers
		} else {
			var err error
			if b.Value, err = v.evaluate(&c.value, parameters, p.Table, Row{}, r); err != nil {
				return err
			}
		}
		v.Where = append(v.Where, b)
	}
	return nil
}

// Limit is the greatest number of rows to give, or -1 without a limit.
func (v *Evaluation) Limit(p *Plan, parameters []store.Value) (int64, error) {
	if !p.Limited() {
		return -1, nil
	}
	of, err := v.evaluate(&p.limit, parameters, p.Table, Row{}, nil)
	return max(of.Number, 0), err
}

// Keys yields the keys that a keyed statement names, each once and in order. It stops when yield
// returns false.
func (v *Evaluation) Keys(p *Plan, where []Bound, yield func(key []Value) (more bool)) {
	v.Key = v.Key[:0]
	in := -1
	for column, i := range p.Keyed {
		if where[i].Is == store.In {
			in = column
		}
		v.Key = append(v.Key, where[i].Value)
	}
	if in < 0 {
		yield(v.Key)
		return
	}
	keys := slices.Clone(where[p.Keyed[in]].Keys)
	slices.Sort(keys)
	for _, key := range slices.Compact(keys) {
		if v.Key[in].Number = key; !yield(v.Key) {
			return
		}
	}
}

// Known sets Key to the key of the statement's first row, if the key is known without a look at
// another row.
func (v *Evaluation) Known(p *Plan, parameters []store.Value) (is bool) {
	v.Key = v.Key[:0]
	for column := range p.Table.Keys() {
		var e *expression
		switch {
		case (p.Verb == store.Insert || p.Verb == store.Append) && p.Rows() == 1:
			e = &p.values[slices.Index(p.Columns, column)]
		case p.Keyed != nil && p.where[p.Keyed[column]].is == store.Equal:
			e = &p.where[p.Keyed[column]].value
		}
		if e == nil || e.source != store.FromParameter && e.source != store.FromNumber {
			return false
		}
		of, err := v.evaluate(e, parameters, p.Table, Row{}, nil)
		if err != nil {
			return false
		}
		v.Key = append(v.Key, of)
	}
	return true
}

// Match reports whether a row satisfies all conditions.
func (t *Table) Match(r Row, where []Bound) bool {
	for i := range where {
		if !t.satisfies(r, &where[i]) {
			return false
		}
	}
	return true
}

func (t *Table) satisfies(r Row, b *Bound) bool {
	of := t.Get(r, b.Column)
	switch b.Is {
	case store.Equal:
		return of == b.Value
	case store.In:
		return slices.Contains(b.Keys, of.Number)
	case store.AtLeast:
		return t.Compare(b.Column, of, b.Value) >= 0
	case store.Below:
		return t.Compare(b.Column, of, b.Value) < 0
	default: // store.MultipleOf
		return b.Value.Number != 0 && of.Number%b.Value.Number == 0
	}
}

// Compare compares rows in the statement's order.
func (p *Plan) Compare(a, b Row) int {
	for _, column := range p.order {
		if c := p.Table.Compare(column, p.Table.Get(a, column), p.Table.Get(b, column)); c != 0 {
			if p.descending {
				return -c
			}
			return c
		}
	}
	return 0
}

// Totals returns a Count's totals before the first row.
func (p *Plan) Totals(into []int64) []int64 {
	into = into[:0]
	for range 1 + len(p.Columns) {
		into = append(into, 0)
	}
	return into
}

// Total adds a row to a Count's totals.
func (p *Plan) Total(totals []int64, r Row) (err error) {
	totals[0]++
	for i, column := range p.Columns {
		if totals[i+1], err = add(totals[i+1], p.Table.Get(r, column).Number); err != nil {
			return err
		}
	}
	return nil
}
