// Package table writes rows of plain values as CSV, JSON lines or Parquet, for
// programs that analyse data.
//
// It must not know what the rows are.
package table

import (
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"reflect"
	"strconv"
	"strings"

	"github.com/parquet-go/parquet-go"
)

// Format is how rows are written.
type Format string

// The formats.
const (
	// CSV is RFC 4180 with a line of names, lines that end in LF, and nothing where
	// there is no value.
	CSV Format = "csv"
	// JSON is one object on each line.
	JSON Format = "json"
	// Parquet is Apache Parquet, compressed with zstd.
	Parquet Format = "parquet"
)

// rowGroup is how many rows are held in memory until they are written as Parquet.
const rowGroup = 64 << 10

// Writer writes rows of one type: a struct whose fields are of type string, bool,
// int64, float64 or *float64, with a tag "parquet" that begins with the name of the
// column and a tag "json" that is the same name. It is not safe for concurrent use.
type Writer[T any] struct {
	add   func(row *T) error
	close func() error
}

// NewWriter writes the head of the table. Errors are w's, and one for a format
// that does not exist.
func NewWriter[T any](w io.Writer, f Format) (*Writer[T], error) {
	switch f {
	case CSV:
		return newCSV[T](w)
	case JSON:
		encoder := json.NewEncoder(w)
		return &Writer[T]{add: func(row *T) error { return encoder.Encode(row) }, close: func() error { return nil }}, nil
	case Parquet:
		out := parquet.NewGenericWriter[T](w, parquet.MaxRowsPerRowGroup(rowGroup), parquet.Compression(&parquet.Zstd))
		one := make([]T, 1)
		return &Writer[T]{close: out.Close, add: func(row *T) error {
			one[0] = *row
			_, err := out.Write(one)
			return err
		}}, nil
	default:
		return nil, fmt.Errorf("table: there is no format %q", f)
	}
}

// Add writes a row. The caller keeps it.
func (w *Writer[T]) Add(row *T) error {
	if err := w.add(row); err != nil {
		return fmt.Errorf("write a row: %w", err)
	}
	return nil
}

// Close writes what is left. It does not close what is below.
func (w *Writer[T]) Close() error {
	if err := w.close(); err != nil {
		return fmt.Errorf("end a table: %w", err)
	}
	return nil
}

func newCSV[T any](w io.Writer) (*Writer[T], error) {
	out := csv.NewWriter(w)
	kind := reflect.TypeFor[T]()
	fields := make([]string, kind.NumField())
	for i := range fields {
		fields[i], _, _ = strings.Cut(kind.Field(i).Tag.Get("parquet"), ",")
	}
	if err := out.Write(fields); err != nil {
		return nil, fmt.Errorf("write a head: %w", err)
	}
	return &Writer[T]{
		add: func(row *T) error {
			value := reflect.ValueOf(row).Elem()
			for i := range fields {
				fields[i] = text(value.Field(i))
			}
			return out.Write(fields)
		},
		close: func() error {
			out.Flush()
			return out.Error()
		},
	}, nil
}

// text is a value as CSV has it.
func text(v reflect.Value) string {
	switch v.Kind() {
	case reflect.Pointer:
		if v.IsNil() {
			return ""
		}
		return text(v.Elem())
	case reflect.Float64:
		return strconv.FormatFloat(v.Float(), 'g', -1, 64)
	default:
		return fmt.Sprint(v.Interface())
	}
}
