// Package table writes rows of plain values as CSV, JSON lines or Parquet.
//
// It must not know the meaning of the rows.
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

const (
	// CSV is RFC 4180 with a header, LF at line ends, and nothing for a missing value.
	CSV  Format = "csv"
	JSON Format = "json"
	// Parquet is Apache Parquet, compressed with zstd.
	Parquet Format = "parquet"
)

// rowGroup is how many rows of Parquet are held in memory.
const rowGroup = 64 << 10

// Writer writes rows of one struct type, with fields of type string, bool, int64, float64 or
// *float64. The tag "parquet" begins with the column's name, and the tag "json" is that name. It
// is not safe for concurrent use.
type Writer[T any] struct {
	add   func(row *T) error
	close func() error
}

// NewWriter writes the head of the table. Errors are w's, or for an unknown format.
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

// Add writes a row, which the caller keeps.
func (w *Writer[T]) Add(row *T) error {
	if err := w.add(row); err != nil {
		return fmt.Errorf("write a row: %w", err)
	}
	return nil
}

// Close writes the remaining rows. It does not close the underlying writer.
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
