package sqldb

import (
	"errors"
	"fmt"
)

// Format is how a protocol has the values of a row.
type Format[V any] struct {
	Null    func(V) bool
	Integer func(V) (int64, error)
	Bool    func(V) (bool, error)
	Text    func(V) string
	// List appends the elements of a value of type Ints.
	List func(V, []int64) ([]int64, error)
}

// ScanRow is Row.Scan of these values.
func ScanRow[V any](format *Format[V], values []V, into []any) error {
	if len(values) != len(into) {
		return fmt.Errorf("a row of %d columns came where %d were asked for", len(values), len(into))
	}
	for i, value := range values {
		if into[i] == nil {
			continue
		}
		if err := scan(format, value, into[i]); err != nil {
			return fmt.Errorf("column %d: %w", i+1, err)
		}
	}
	return nil
}

func scan[V any](format *Format[V], value V, into any) (err error) {
	if format.Null(value) {
		return errors.New("it is null")
	}
	switch into := into.(type) {
	case *int64:
		*into, err = format.Integer(value)
	case *int:
		var n int64
		n, err = format.Integer(value)
		*into = int(n)
	case *bool:
		*into, err = format.Bool(value)
	case *string:
		*into = format.Text(value)
	case *[]byte:
		*into = append((*into)[:0], format.Text(value)...)
	case *[]int64:
		*into, err = format.List(value, (*into)[:0])
	default:
		err = fmt.Errorf("nothing is scanned into %T", into)
	}
	return err
}
