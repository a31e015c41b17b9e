package exchange

import (
	"errors"
	"strconv"
	"strings"
)

// AtomKind is the kind of an Atom.
type AtomKind uint8

const (
	// Nil is no value, such as that of an unwritten register.
	Nil AtomKind = iota
	// Number is a whole number of 64 bits, in Int.
	Number
	// Big is a whole number beyond 64 bits; Text has its digits.
	Big
	// Bool is true or false, 1 or 0 in Int.
	Bool
	// String is a text.
	String
	// Keyword is a word such as :x; Text omits the first colon.
	Keyword
)

// Atom is a key or a value. Atoms are the same exactly if they are equal as Go values (==).
type Atom struct {
	Kind AtomKind
	Int  int64
	Text string
}

// Int64 returns the atom of a whole number.
func Int64(v int64) Atom { return Atom{Kind: Number, Int: v} }

// Whole returns the whole number of 64 bits that a string spells, or else the atom. JSON has strings
// as the names of members, so that a map's key 1 is "1" there.
func (a Atom) Whole() Atom {
	if text := []byte(a.Text); a.Kind == String && len(text) > 0 && jsonWhole(text) && a.Text != "-0" {
		if v, ok := wholeNumber(text); ok {
			return Int64(v)
		}
	}
	return a
}

// String writes the atom as EDN: nil, 5, true, "five", :five. Different atoms differ in text.
func (a Atom) String() string {
	switch a.Kind {
	case Number:
		return strconv.FormatInt(a.Int, 10)
	case Bool:
		return strconv.FormatBool(a.Int != 0)
	case Big:
		return a.Text
	case String:
		return strconv.Quote(a.Text)
	case Keyword:
		return ":" + a.Text
	default:
		return "nil"
	}
}

// ParseAtom reads an atom as EDN and String write it. Its error quotes other text.
func ParseAtom(text string) (Atom, error) {
	in, t := newInput(strings.NewReader(text)), &tree{}
	r := ednReader{in: in, tree: t}
	if err := r.blank(0); err != nil {
		return Atom{}, err
	}
	if _, ok := in.peek(); !ok {
		return Atom{}, errors.New("there is nothing")
	}
	if err := r.value(0); err != nil {
		return Atom{}, err
	}
	a, ok := t.atom(0)
	if !ok {
		return Atom{}, errors.New(t.describe(0) + " is no key or value; these are whole numbers, words or nil")
	}
	if err := r.blank(0); err != nil {
		return Atom{}, err
	}
	if _, more := in.peek(); more {
		return Atom{}, errors.New("something follows " + a.String())
	}
	return a, nil
}
