package cassandra

import (
	"encoding/binary"
	"fmt"

	gocql "github.com/apache/cassandra-gocql-driver/v2"
)

type cell struct {
	kind gocql.Type
	data []byte // nil for NULL
}

// UnmarshalCQL implements gocql.Unmarshaler. The bytes are valid until the next row.
func (c *cell) UnmarshalCQL(info gocql.TypeInfo, data []byte) error {
	c.kind, c.data = info.Type(), data
	return nil
}

// row is a store.Row, into which the library scans each row of an answer.
type row struct {
	cells []cell
	scan  []any // the cells
}

func newRow(columns int) *row {
	r := &row{cells: make([]cell, columns), scan: make([]any, columns)}
	for i := range r.cells {
		r.scan[i] = &r.cells[i]
	}
	return r
}

func (r *row) Scan(into ...any) error {
	if len(into) != len(r.cells) {
		return fmt.Errorf("cassandra: a row has %d columns, %d are wanted", len(r.cells), len(into))
	}
	for i, to := range into {
		if to == nil {
			continue
		}
		if err := r.cells[i].decode(to); err != nil {
			return fmt.Errorf("cassandra: column %d: %w", i+1, err)
		}
	}
	return nil
}

func (c *cell) decode(into any) error {
	ok := false
	switch into := into.(type) {
	case *int64:
		*into, ok = c.integer()
	case *int:
		var n int64
		n, ok = c.integer()
		*into = int(n)
	case *bool:
		if ok = c.kind == gocql.TypeBoolean && len(c.data) == 1; ok {
			*into = c.data[0] != 0
		}
	case *string:
		if ok = c.text(); ok {
			*into = string(c.data)
		}
	case *[]byte:
		if ok = c.kind == gocql.TypeUUID && c.data != nil; ok {
			*into = append((*into)[:0], c.data...)
		}
	}
	switch {
	case ok:
		return nil
	case c.data == nil:
		return fmt.Errorf("NULL came where a %T is wanted", into)
	default:
		return fmt.Errorf("a %v came where a %T is wanted", c.kind, into)
	}
}

func (c *cell) integer() (int64, bool) {
	switch {
	case c.kind == gocql.TypeBigInt && len(c.data) == 8:
		return int64(binary.BigEndian.Uint64(c.data)), true
	case c.kind == gocql.TypeInt && len(c.data) == 4:
		return int64(int32(binary.BigEndian.Uint32(c.data))), true
	}
	return 0, false
}

func (c *cell) text() bool {
	return c.data != nil && (c.kind == gocql.TypeVarchar || c.kind == gocql.TypeText || c.kind == gocql.TypeAscii)
}

// AppendValues implements store.Row. A UUID is a string.
func (r *row) AppendValues(into []any) ([]any, error) {
	for i := range r.cells {
		c := &r.cells[i]
		number, whole := c.integer()
		switch {
		case c.data == nil:
			into = append(into, nil)
		case whole:
			into = append(into, number)
		case c.text():
			into = append(into, string(c.data))
		case c.kind == gocql.TypeBoolean && len(c.data) == 1:
			into = append(into, c.data[0] != 0)
		case c.kind == gocql.TypeUUID && len(c.data) == 16:
			into = append(into, gocql.UUID(c.data).String())
		default:
			return into, fmt.Errorf("cassandra: column %d: a %v of %d bytes cannot be read", i+1, c.kind, len(c.data))
		}
	}
	return into, nil
}
