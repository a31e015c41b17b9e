package exchange

import (
	"fmt"
	"slices"
	"strings"
)

// Form is the form of a Value.
type Form uint8

const (
	// Scalar is one atom, which may be nil.
	Scalar Form = iota
	// List is a vector or a list.
	List
	// Map has keys and values alternately.
	Map
	// Inexact is a symbol or a number that is not whole, such as a ratio; Atom.Text is as written.
	Inexact
	// Set is a set, whose elements have no order.
	Set
)

// Value is a value of an operation as written. The zero value is nil.
type Value struct {
	Form  Form
	Atom  Atom
	Items []Value
}

// IsNil reports whether the value is nil.
func (v *Value) IsNil() bool { return v.Form == Scalar && v.Atom.Kind == Nil }

// Equal reports whether both values are the same.
func (v *Value) Equal(other *Value) bool {
	return v.Form == other.Form && v.Atom == other.Atom &&
		slices.EqualFunc(v.Items, other.Items, func(a, b Value) bool { return a.Equal(&b) })
}

// Pair returns both elements of a list of two; ok is false for anything else.
func (v *Value) Pair() (first, second *Value, ok bool) {
	if v.Form != List || len(v.Items) != 2 {
		return nil, nil, false
	}
	return &v.Items[0], &v.Items[1], true
}

// Field returns the value of a map under a keyword or a string; nil if there is none.
func (v *Value) Field(name string) *Value {
	if v.Form != Map {
		return nil
	}
	for i := 0; i+1 < len(v.Items); i += 2 {
		key := &v.Items[i]
		if key.Form == Scalar && (key.Atom.Kind == Keyword || key.Atom.Kind == String) && key.Atom.Text == name {
			return &v.Items[i+1]
		}
	}
	return nil
}

// Word returns the text of a keyword or a string; "" for anything else.
func (v *Value) Word() string {
	if v.Form == Scalar && (v.Atom.Kind == Keyword || v.Atom.Kind == String) {
		return v.Atom.Text
	}
	return ""
}

// String writes the value as EDN does, but only the beginning of a long list.
func (v *Value) String() string {
	const most = 20
	open, end := "[", "]"
	switch v.Form {
	case Scalar:
		return v.Atom.String()
	case Inexact:
		return v.Atom.Text
	case Map:
		open, end = "{", "}"
	case Set:
		open, end = "#{", "}"
	}
	var parts []string
	for i := range v.Items {
		if i == most {
			parts = append(parts, fmt.Sprintf("and %d more", len(v.Items)-most))
			break
		}
		parts = append(parts, v.Items[i].String())
	}
	return open + strings.Join(parts, " ") + end
}

// Canonical writes the whole value, and equal values alike: the entries of maps and the elements of
// sets have no order.
func (v *Value) Canonical() string {
	if v.Form == Scalar || v.Form == Inexact {
		return v.String()
	}
	parts, size := make([]string, 0, len(v.Items)), 1
	if v.Form == Map {
		size = 2
	}
	for entry := range slices.Chunk(v.Items, size) {
		part := ""
		for i := range entry {
			part += entry[i].Canonical() + " "
		}
		parts = append(parts, part)
	}
	if v.Form != List {
		slices.Sort(parts)
	}
	return fmt.Sprint(v.Form, parts)
}

// roomKept bounds the values whose memory an operation keeps for its next use.
const roomKept = 1 << 10

// carve returns room for n values, which belongs to the operation until it is reset.
func (o *Operation) carve(n int) []Value {
	if n > cap(o.room)-len(o.room) {
		o.room = make([]Value, 0, max(n, min(2*cap(o.room), roomKept)))
	}
	first := len(o.room)
	o.room = o.room[:first+n]
	return o.room[first : first+n : first+n]
}

// value returns the form as a Value, which shares nothing with the tree.
func (t *tree) value(at int, op *Operation) Value {
	var v Value
	if at != none {
		t.valueInto(&v, at, op)
	}
	return v
}

func (t *tree) valueInto(v *Value, at int, op *Operation) {
	switch n := &t.nodes[at]; n.kind {
	case intNode:
		*v = Value{Atom: Int64(n.num)}
		return
	case mapNode:
		*v = Value{Form: Map}
	case listNode:
		*v = Value{Form: List}
	case setNode:
		*v = Value{Form: Set}
	case inexactNode, symbolNode:
		*v = Value{Form: Inexact, Atom: Atom{Kind: String, Text: string(t.bytes(at))}}
		return
	default:
		*v = Value{}
		v.Atom, _ = t.atom(at)
		return
	}
	n, end := 0, t.after(at)
	for child := at + 1; child < end; child = t.after(child) {
		n++
	}
	v.Items = op.carve(n)
	child := at + 1
	for i := range v.Items {
		t.valueInto(&v.Items[i], child, op)
		child = t.after(child)
	}
}

// Clone returns a copy that shares nothing with v.
func (v Value) Clone() Value {
	v.Items = slices.Clone(v.Items)
	for i := range v.Items {
		v.Items[i] = v.Items[i].Clone()
	}
	return v
}

func (t *eventText) anyValue(v *Value) {
	switch v.Form {
	case Scalar:
		t.atom(v.Atom)
	case Inexact:
		if t.edn && symbolText(v.Atom.Text) {
			t.raw(v.Atom.Text)
		} else {
			t.quote(v.Atom.Text)
		}
	case Map:
		t.mapValue(v)
	default:
		open, end := "[", "]"
		if v.Form == Set && t.edn {
			open, end = "#{", "}"
		}
		t.raw(open)
		for i := range v.Items {
			if i > 0 {
				t.next()
			}
			t.anyValue(&v.Items[i])
		}
		t.raw(end)
	}
}

func (t *eventText) mapValue(v *Value) {
	t.raw("{")
	for i := 0; i+1 < len(v.Items); i += 2 {
		if i > 0 {
			t.next()
		}
		key := &v.Items[i]
		switch {
		case t.edn:
			t.anyValue(key)
			t.raw(" ")
		case key.Word() != "":
			t.quote(key.Word())
			t.raw(":")
		default:
			t.quote(key.String())
			t.raw(":")
		}
		t.anyValue(&v.Items[i+1])
	}
	t.raw("}")
}

// symbolText reports whether this text reads back as the same number or symbol.
func symbolText(s string) bool {
	return keywordText(s) && s[0] != ':' && s[0] != '\\' && s[0] != '#' && (ednInexact([]byte(s)) && digit(s[0]) || !digit(s[0]) && s[0] != '-' && s[0] != '+' && symbolStart(s[0]))
}
