package store

import "fmt"

// Kind is the type of a Value.
type Kind uint8

const (
	Int Kind = iota
	Bool
	Text
	Bytes
	// List is a list of integers stored in a column of the type Ints.
	List
	// Keys is a list of integers that a column is compared with (In).
	Keys
	// Real is a floating-point number and Nothing is NULL. Both need an Open Schema.
	Real
	Nothing
	Tree
)

// Value is one parameter. Do not change what it refers to until the call is over.
type Value struct {
	Kind     Kind
	Number   int64 // of Int, and 0 or 1 of Bool
	Text     string
	Bytes    []byte
	Numbers  []int64 // of List and Keys
	Real     float64
	Document Document
}

// OfInt is a 64-bit integer.
func OfInt(n int64) Value { return Value{Number: n} }

// OfInts are integers.
func OfInts(numbers ...int64) []Value {
	values := make([]Value, len(numbers))
	for i, n := range numbers {
		values[i] = OfInt(n)
	}
	return values
}

// OfBool is a boolean.
func OfBool(b bool) Value {
	if b {
		return Value{Kind: Bool, Number: 1}
	}
	return Value{Kind: Bool}
}

// OfText is UTF-8 text.
func OfText(s string) Value { return Value{Kind: Text, Text: s} }

// OfBytes is a UUID or another type of bytes.
func OfBytes(b []byte) Value { return Value{Kind: Bytes, Bytes: b} }

// OfList is a value of the type Ints, of at least one element.
func OfList(list []int64) Value { return Value{Kind: List, Numbers: list} }

// OfDocument is a Document.
func OfDocument(d Document) Value { return Value{Kind: Tree, Document: d} }

// OfKeys is for the comparison In, of at least one element.
func OfKeys(keys []int64) Value { return Value{Kind: Keys, Numbers: keys} }

// Values are a Row of values. A scanned value must be of the type that the caller expects.
type Values []Value

// Scan implements Row.
func (v Values) Scan(into ...any) error {
	for i, to := range into {
		switch to := to.(type) {
		case nil:
		case *int64:
			*to = v[i].Number
		case *int:
			*to = int(v[i].Number)
		case *bool:
			*to = v[i].Number != 0
		case *string:
			*to = v[i].Text
		case *[]byte:
			*to = append((*to)[:0], v[i].Bytes...)
		case *[]int64:
			*to = append((*to)[:0], v[i].Numbers...)
		default:
			return fmt.Errorf("column %d cannot be scanned into a %T", i+1, to)
		}
	}
	return nil
}

// AppendValues implements Row.
func (v Values) AppendValues(into []any) ([]any, error) {
	for i, one := range v {
		switch one.Kind {
		case Int:
			into = append(into, one.Number)
		case Bool:
			into = append(into, one.Number != 0)
		case Text:
			into = append(into, one.Text)
		default:
			return nil, fmt.Errorf("column %d is of a type that is not given", i+1)
		}
	}
	return into, nil
}
