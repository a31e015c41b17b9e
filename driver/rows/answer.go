package rows

import (
	"fmt"

	"assay/store"
)

// Answer is an answer's row: columns of Row, or the totals of a Count. It is a store.Row.
type Answer struct {
	Plan   *Plan
	Row    Row
	Totals []int64
	// Unread is the error of decoding the row, which Scan and AppendValues return.
	Unread error
}

func (a *Answer) given() int {
	if a.Plan.Verb == store.Count {
		return len(a.Totals)
	}
	return len(a.Plan.Columns)
}

func (a *Answer) get(i int) (Value, store.Type) {
	if a.Plan.Verb == store.Count {
		return Value{Number: a.Totals[i]}, store.Integer
	}
	t, column := a.Plan.Table, a.Plan.Columns[i]
	return t.Get(a.Row, column), t.Columns[column].Type
}

// Scan implements store.Row.
func (a *Answer) Scan(into ...any) error {
	if a.Unread != nil {
		return a.Unread
	}
	if len(into) != a.given() {
		return fmt.Errorf("%d columns are scanned of a row of %d", len(into), a.given())
	}
	for i, to := range into {
		if to == nil {
			continue
		}
		if v, of := a.get(i); !v.into(to, of != store.Integer && of != store.Boolean) {
			return fmt.Errorf("column %d cannot be scanned into a %T", i+1, to)
		}
	}
	return nil
}

// into decodes a value and reports whether the destination's type fits.
func (v *Value) into(to any, text bool) bool {
	switch to := to.(type) {
	case *int64:
		*to = v.Number
		return !text
	case *int:
		*to = int(v.Number)
		return !text
	case *bool:
		*to = v.Number != 0
		return !text
	case *string:
		*to = v.Text
	case *[]byte:
		*to = append((*to)[:0], v.Text...)
	case *[]int64:
		*to = appendList((*to)[:0], v.Text)
	default:
		return false
	}
	return text
}

// AppendValues implements store.Row. Bytes and lists become strings.
func (a *Answer) AppendValues(into []any) ([]any, error) {
	if a.Unread != nil {
		return into, a.Unread
	}
	for i := range a.given() {
		switch v, of := a.get(i); of {
		case store.Integer:
			into = append(into, v.Number)
		case store.Boolean:
			into = append(into, v.Number != 0)
		default:
			into = append(into, v.Text)
		}
	}
	return into, nil
}

// Zero is a store.Row of zeros, of any number of columns.
type Zero struct{}

func (Zero) Scan(into ...any) error {
	for _, to := range into {
		new(Value).into(to, false) // whatever its type is
	}
	return nil
}

func (Zero) AppendValues(into []any) ([]any, error) { return append(into, int64(0)), nil }
