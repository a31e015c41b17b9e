package postgres

import (
	"encoding/binary"
	"fmt"

	"github.com/jackc/pgx/v5/pgconn"

	"assay/driver/sqldb"
	"assay/store"
)

// Binary formats as the server's int8send and array_send make them
// (src/backend/utils/adt/int8.c, arrayfuncs.c). A bigint is eight bytes, big-endian. An array is
// dimensions, null flag, element type, then length and first index of each dimension, then each
// element's length (-1: null) and bytes. All these numbers have four bytes.

// Object ids of types (pg_type), and the protocol's format code.
const (
	oidBigint      = 20
	oidBigintArray = 1016
	oidBool        = 16
	oidInteger     = 23
	oidText        = 25
	oidUUID        = 2950
	binaryFormat   = 1
)

// binaryFormats is for all parameters and columns. It is never written to.
var binaryFormats = []int16{binaryFormat}

const (
	arrayPrefix  = 12 // of an array without dimensions
	arrayHeader  = 20 // of one with one dimension
	elementBytes = 4 + 8
)

// bigintArray appends the elements of an array of at most one dimension.
func bigintArray(data []byte, into []int64) ([]int64, error) {
	field := func(at int) uint32 { return binary.BigEndian.Uint32(data[at:]) }
	if len(data) == arrayPrefix && field(0) == 0 {
		return into, nil
	}
	if len(data) < arrayHeader || field(0) != 1 || field(8) != oidBigint ||
		uint64(len(data)) != arrayHeader+uint64(field(12))*elementBytes {
		return into, fmt.Errorf("%d bytes came that are not an array of bigint without nulls", len(data))
	}
	for at := arrayHeader; at < len(data); at += elementBytes {
		if field(at) != 8 {
			return into, fmt.Errorf("an element of %d bytes is not a bigint", int32(field(at)))
		}
		into = append(into, int64(binary.BigEndian.Uint64(data[at+4:])))
	}
	return into, nil
}

func appendArray(data []byte, elements []int64) []byte {
	for _, n := range []uint32{1, 0, oidBigint, uint32(len(elements)), 1} {
		data = binary.BigEndian.AppendUint32(data, n)
	}
	for _, element := range elements {
		data = binary.BigEndian.AppendUint32(data, 8)
		data = binary.BigEndian.AppendUint64(data, uint64(element))
	}
	return data
}

// appendValue appends a parameter in binary format. oid is the type that the server wants, or 0 for
// the value's own.
func appendValue(data []byte, v *store.Value, oid uint32) []byte {
	switch v.Kind {
	case store.Bool:
		return append(data, byte(v.Number))
	case store.Text:
		return append(data, v.Text...)
	case store.Bytes:
		return append(data, v.Bytes...)
	case store.List, store.Keys:
		return appendArray(data, v.Numbers)
	default:
		if oid == oidInteger {
			return binary.BigEndian.AppendUint32(data, uint32(v.Number))
		}
		return binary.BigEndian.AppendUint64(data, uint64(v.Number))
	}
}

// typeOf is a parameter's type if the server is not asked. 0, for bytes, leaves it to the server.
func typeOf(k store.Kind) uint32 {
	switch k {
	case store.Bool:
		return oidBool
	case store.Text:
		return oidText
	case store.Bytes:
		return 0
	case store.List, store.Keys:
		return oidBigintArray
	default:
		return oidBigint
	}
}

// encoder encodes parameters in reused memory, since pgconn copies them when it sends.
type encoder struct {
	buffer []byte
	data   [][]byte
	types  []uint32
}

// encode returns parameters and types, valid until the next call. wanted are the server's types,
// nil if it was not asked.
func (e *encoder) encode(parameters []store.Value, wanted []uint32) (data [][]byte, types []uint32) {
	e.begin()
	e.types = e.types[:0]
	for i := range parameters {
		oid := typeOf(parameters[i].Kind)
		if i < len(wanted) {
			oid = wanted[i]
		}
		at := len(e.buffer)
		e.buffer = appendValue(e.buffer, &parameters[i], oid)
		e.data = append(e.data, e.buffer[at:len(e.buffer):len(e.buffer)])
		e.types = append(e.types, oid)
	}
	return e.data, e.types
}

func (e *encoder) begin() {
	if e.buffer == nil {
		e.buffer = make([]byte, 0, 256) // an empty part of nil would be a null
	}
	e.buffer, e.data = e.buffer[:0], e.data[:0]
}

// columns is a store.Row: of binary columns for Scan, of text columns for AppendValues.
type columns struct {
	values [][]byte
	fields []pgconn.FieldDescription
}

func (c *columns) Scan(into ...any) error { return sqldb.ScanRow(&format, c.values, into) }

var format = sqldb.Format[[]byte]{
	Null:    func(value []byte) bool { return value == nil },
	Integer: integerOf,
	Bool: func(value []byte) (bool, error) {
		if len(value) != 1 {
			return false, fmt.Errorf("%d bytes are not a boolean", len(value))
		}
		return value[0] != 0, nil
	},
	Text: func(value []byte) string { return string(value) },
	List: bigintArray,
}

func integerOf(value []byte) (int64, error) {
	switch len(value) {
	case 8:
		return int64(binary.BigEndian.Uint64(value)), nil
	case 4:
		return int64(int32(binary.BigEndian.Uint32(value))), nil
	default:
		return 0, fmt.Errorf("%d bytes are not an integer", len(value))
	}
}
