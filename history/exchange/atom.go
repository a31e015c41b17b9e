package exchange

import (
	"errors"
	"strconv"
	"strings"
)

// AtomKind describes what an Atom is.
type AtomKind uint8

const (
	// Nil is nothing: a value that was never written.
	Nil AtomKind = iota
	// Number is a whole number of 64 bits, in Int.
	Number
	// Big is a whole number beyond 64 bits; Text has its digits.
	Big
	// Bool is true or false, 1 or 0 in Int.
	Bool
	// String is text.
	String
	// Keyword is a word such as :x; Text has it without its first colon.
	Keyword
)

// Atom is a key or a value. Two atoms are equal as Go values (==) exactly if
// they are the same key or value.
type Atom struct {
	Kind AtomKind
	Int  int64
	Text string
}

// Int64 returns the atom of a whole number.
func Int64(v int64) Atom { return Atom{Kind: Number, Int: v} }

// String writes the atom as EDN does, so that two atoms have the same text
// exactly if they are equal: nil, 5, true, "five", :five.
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

// ParseAtom reads an atom as EDN writes it, and so as String does. Its error
// describes what was found instead of one.
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
