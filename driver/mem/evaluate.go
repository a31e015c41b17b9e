package mem

import (
	"encoding/binary"
	"fmt"
	"slices"

	"assay/store"
)

// bound is a condition with its value.
type bound struct {
	column int
	is     store.Comparison
	value  value
	keys   []int64
}

// match reports whether a row satisfies conditions.
func (r *relation) match(v version, where []bound) bool {
	for i := range where {
		if !r.satisfies(v, &where[i]) {
			return false
		}
	}
	return true
}

func (r *relation) satisfies(v version, b *bound) bool {
	of := r.get(v, b.column)
	switch b.is {
	case store.Equal:
		return of == b.value
	case store.In:
		return slices.Contains(b.keys, of.number)
	case store.AtLeast:
		return r.compare(b.column, of, b.value) >= 0
	case store.Below:
		return r.compare(b.column, of, b.value) < 0
	default: // store.MultipleOf
		return b.value.number != 0 && of.number%b.value.number == 0
	}
}

// given is the value of a parameter, for a column of texts or of numbers.
func given(v *store.Value, text bool) (of value, err error) {
	switch v.Kind {
	case store.Int, store.Bool:
		if !text {
			return value{number: v.Number}, nil
		}
	case store.Text:
		if text {
			return value{text: v.Text}, nil
		}
	case store.Bytes:
		if text {
			return value{text: string(v.Bytes)}, nil
		}
	case store.List:
		if text {
			return value{text: listText(v.Numbers)}, nil
		}
	}
	return of, fmt.Errorf("mem: a value of the kind %d is given for a column of another type", v.Kind)
}

// listText is a list as it is stored, 8 bytes an element.
func listText(list []int64) string {
	text := make([]byte, 0, 8*len(list))
	for _, n := range list {
		text = binary.LittleEndian.AppendUint64(text, uint64(n))
	}
	return string(text)
}

func appendList(list []int64, text string) []int64 {
	for ; len(text) >= 8; text = text[8:] {
		n := uint64(0)
		for i := range 8 {
			n |= uint64(text[i]) << (8 * i)
		}
		list = append(list, int64(n))
	}
	return list
}

// evaluate is the value of an expression. old is the row that is changed, as it was.
func (x *optimistic) evaluate(e *expression, parameters []store.Value, r *relation, old version) (value, error) {
	switch e.source {
	case store.FromParameter:
		if e.parameter >= len(parameters) {
			return value{}, fmt.Errorf("mem: parameter $%d is missing", e.parameter+1)
		}
		return given(&parameters[e.parameter], e.text)
	case store.FromNumber:
		return value{number: e.number}, nil
	case store.FromColumn:
		return r.get(old, e.column), nil
	case store.FromLeft:
		return x.left(e, parameters)
	default:
		return value{}, fmt.Errorf("mem: a value is missing")
	}
}

// left is the value of a column of another row.
func (x *optimistic) left(e *expression, parameters []store.Value) (of value, err error) {
	var room [4]value
	key := room[:0]
	hash := uint64(0)
	for column := range e.key {
		k, err := x.evaluate(&e.key[column], parameters, e.r, version{})
		if err != nil {
			return of, err
		}
		key, hash = append(key, k), e.r.mix(hash, column, k)
	}
	s := x.read(e.r, hash, key)
	if s == 0 {
		return of, &violation{store.Absent, fmt.Sprintf("mem: table %q has no row of this key, of which column %q is taken", e.r.table.Name, e.r.table.Columns[e.column].Name)}
	}
	return e.r.get(e.r.at(s), e.column), nil
}

// read is the version that a transaction sees of the row with a key; 0 if there is none.
func (x *optimistic) read(r *relation, hash uint64, key []value) slot {
	s, w := x.see(r, hash, key)
	if w == nil && s != 0 {
		x.remember(r, s)
	} else if w == nil {
		where := make([]bound, 0, 4)
		if x.open && !x.reads {
			for column, k := range key {
				where = append(where, bound{column: column, value: k})
			}
			x.rememberPredicate(r, where)
		}
	}
	return s
}

// see is read without that it is remembered, and the transaction's own write to the row.
func (x *optimistic) see(r *relation, hash uint64, key []value) (slot, *write) {
	if w := x.mine(r, hash, key); w != nil {
		x.whole(w)
		if w.deleted {
			return 0, w
		}
		return w.s, w
	}
	return x.asOf(r, r.newest(hash, key)), nil
}

// bind gives conditions their values.
func (x *optimistic) bind(p *plan, parameters []store.Value, into []bound) ([]bound, error) {
	for i := range p.where {
		c := &p.where[i]
		b := bound{column: c.column, is: c.is}
		if c.is == store.In {
			if c.value.parameter >= len(parameters) || parameters[c.value.parameter].Kind != store.Keys || c.value.text {
				return into, fmt.Errorf("mem: %s: parameter $%d is no list of keys for a column of integers", p.name, c.value.parameter+1)
			}
			b.keys = parameters[c.value.parameter].Numbers
		} else {
			var err error
			if b.value, err = x.evaluate(&c.value, parameters, p.r, version{}); err != nil {
				return into, err
			}
		}
		into = append(into, b)
	}
	return into, nil
}
