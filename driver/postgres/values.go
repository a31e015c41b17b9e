package postgres

import (
	"encoding/binary"
	"fmt"
)

// The binary formats of bigint and bigint[], as the server's functions
// int8send and array_send make them (src/backend/utils/adt/int8.c and
// arrayfuncs.c): a bigint is eight bytes, big-endian. An array is the number of
// dimensions, a flag for nulls and the type of its elements, then for each
// dimension its length and first index, then for each element its length in
// bytes, -1 for null, and its bytes; all of these numbers are of four bytes.

// Object ids of types (pg_type), and the format code of the protocol.
const (
	oidBigint      = 20
	oidBigintArray = 1016
	binaryFormat   = 1
)

// bigints decodes a row, which must be of bigint columns.
func bigints(row [][]byte, into ...*int64) error {
	if len(row) != len(into) {
		return fmt.Errorf("a row of %d columns came where %d were asked for", len(row), len(into))
	}
	for i, value := range row {
		if len(value) != 8 {
			return fmt.Errorf("column %d holds %d bytes and not a bigint", i+1, len(value))
		}
		*into[i] = int64(binary.BigEndian.Uint64(value))
	}
	return nil
}

func bigintBytes(n int64) []byte { return binary.BigEndian.AppendUint64(nil, uint64(n)) }

const (
	arrayPrefix  = 12 // of an array without dimensions
	arrayHeader  = 20 // of one with one dimension
	elementBytes = 4 + 8
)

// bigintArray appends the elements of an array of at most one dimension to
// into.
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

// arrayBytes encodes an array that is not empty.
func arrayBytes(elements []int64) []byte {
	data := make([]byte, 0, arrayHeader+elementBytes*len(elements))
	for _, n := range []uint32{1, 0, oidBigint, uint32(len(elements)), 1} {
		data = binary.BigEndian.AppendUint32(data, n)
	}
	for _, element := range elements {
		data = binary.BigEndian.AppendUint32(data, 8)
		data = binary.BigEndian.AppendUint64(data, uint64(element))
	}
	return data
}
