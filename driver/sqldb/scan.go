package sqldb

import (
	"database/sql/driver"
	"errors"
	"fmt"
	"strconv"
	"time"
)

// Format decodes a protocol's values.
type Format[V any] struct {
	Null    func(V) bool
	Integer func(V) (int64, error)
	Bool    func(V) (bool, error)
	Text    func(V) string
	// List appends a list's elements.
	List func(V, []int64) ([]int64, error)
}

// ScanRow implements store.Row's Scan for a protocol's values.
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

// IntegerOf reads a value as an integer. Some libraries return decimals, and so sums, as text.
func IntegerOf(value driver.Value) (int64, error) {
	switch value := value.(type) {
	case int64:
		return value, nil
	case uint64:
		if value > 1<<63-1 {
			return 0, fmt.Errorf("%d is too large", value)
		}
		return int64(value), nil
	case []byte:
		return strconv.ParseInt(string(value), 10, 64)
	default:
		return 0, fmt.Errorf("a value of type %T is not an integer", value)
	}
}

// TextOf reads a value as text; NULL is empty.
func TextOf(value driver.Value) string {
	switch value := value.(type) {
	case []byte:
		return string(value)
	case string:
		return value
	case nil:
		return ""
	default:
		return fmt.Sprint(value)
	}
}

// StandardFormat is for libraries of the standard library's kind: integers are numbers or text,
// booleans are bool or numbers, everything else is text or bytes. list reads a list.
func StandardFormat(list func(text string, into []int64) ([]int64, error)) *Format[driver.Value] {
	return &Format[driver.Value]{
		Null:    func(value driver.Value) bool { return value == nil },
		Integer: IntegerOf,
		Bool: func(value driver.Value) (bool, error) {
			if is, boolean := value.(bool); boolean {
				return is, nil
			}
			n, err := IntegerOf(value)
			return n != 0, err
		},
		Text: TextOf,
		List: func(value driver.Value, into []int64) ([]int64, error) { return list(TextOf(value), into) },
	}
}

// StandardValue decodes a value for store.Row's AppendValues.
func StandardValue(value driver.Value) (any, error) {
	switch v := value.(type) {
	case nil, int64, float64, string, bool:
		return v, nil
	case float32: // its shortest text is what the server wrote
		return strconv.ParseFloat(strconv.FormatFloat(float64(v), 'g', -1, 32), 64)
	case uint64:
		if v > 1<<63-1 {
			return float64(v), nil
		}
		return int64(v), nil
	case time.Time: // what some libraries make of a column that is declared so
		return v.Format("2006-01-02 15:04:05.999999"), nil
	case []byte:
		return string(v), nil
	default:
		return nil, fmt.Errorf("a value of type %T is not understood", value)
	}
}
