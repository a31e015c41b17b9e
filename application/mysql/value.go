package mysql

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"strconv"

	"assay/application/wire"
)

// kind is the type of a parameter or a column.
type kind struct {
	code     byte
	unsigned bool
}

// The codes of types whose values have a form of their own (MySQL 8.4 source documentation,
// "field_types.h"). typeNotKnown is none of them.
const (
	typeTiny       = 1
	typeShort      = 2
	typeLong       = 3
	typeFloat      = 4
	typeDouble     = 5
	typeNull       = 6
	typeTimestamp  = 7
	typeLongLong   = 8
	typeInt24      = 9
	typeDate       = 10
	typeTime       = 11
	typeDateTime   = 12
	typeYear       = 13
	typeVarchar    = 15
	typeBit        = 16
	typeDecimal    = 0
	typeNotKnown   = 0xe0
	typeFirstTexts = 0xf5 // JSON, and all that follow: numbers of any length, texts and bytes
)

// The flags of a parameter and of a column that say that a whole number has no sign.
const (
	parameterUnsigned = 0x80
	columnUnsigned    = 0x20
)

// definitionTail is what a column's definition ends with: its character set, length, type, flags and
// decimals, and two bytes more.
const definitionTail = 12

// defines is the type that a column's definition tells, of which all is there.
func defines(b []byte) kind {
	if len(b) <= definitionTail || b[len(b)-definitionTail-1] != definitionTail {
		return kind{code: typeNotKnown}
	}
	tail := b[len(b)-definitionTail:]
	return kind{tail[6], binary.LittleEndian.Uint16(tail[7:])&columnUnsigned != 0}
}

// value is one in its binary form as text, and how many bytes it takes (MySQL 8.4 source documentation,
// "Binary Protocol Value"). One of a type that is not read takes all that is left.
func value(b []byte, of kind) (text string, n int) {
	switch of.code {
	case typeNull:
		return wire.Null, 0
	case typeTiny:
		return whole(b, 1, of)
	case typeShort, typeYear:
		return whole(b, 2, of)
	case typeLong, typeInt24, typeFloat:
		return whole(b, 4, of)
	case typeLongLong, typeDouble:
		return whole(b, 8, of)
	case typeTimestamp, typeDate, typeTime, typeDateTime:
		n = min(1+int(first(b)), len(b))
		return moment(b[min(1, n):n], of), n
	}
	if of.code != typeDecimal && of.code != typeVarchar && of.code != typeBit && of.code < typeFirstTexts {
		return unread(b, of), len(b)
	}
	size, n := number(b)
	there := b[n:]
	if size > uint64(len(there)) {
		return wire.Beginning(wire.Text(there), fmt.Sprintf("%d of %d", len(there), size), wire.Sum(there)), len(b)
	}
	return wire.Text(there[:size]), n + int(size)
}

// unread is a value that is not read as one of its type.
func unread(b []byte, of kind) string {
	if of.code == typeNotKnown {
		return wire.Bytes(b, ", type not known")
	}
	return wire.Bytes(b, ", type "+strconv.Itoa(int(of.code)))
}

// whole is a number of so many bytes.
func whole(b []byte, n int, of kind) (string, int) {
	if len(b) < n {
		return unread(b, of), len(b)
	}
	v := little(b[:n])
	switch {
	case of.code == typeFloat:
		return wire.Float(float64(math.Float32frombits(uint32(v))), 32), n
	case of.code == typeDouble:
		return wire.Float(math.Float64frombits(v), 64), n
	case of.unsigned:
		return strconv.FormatUint(v, 10), n
	}
	shift := 64 - 8*n
	return strconv.FormatInt(int64(v<<shift)>>shift, 10), n
}

// moment is a date, a time or both. What is 0 at its end is left out of the bytes.
func moment(b []byte, of kind) string {
	part := func(at, size int) int64 { return int64(little(b[min(at, len(b)):min(at+size, len(b))])) }
	switch n := len(b); {
	case of.code == typeTime && (n == 0 || n == 8 || n == 12):
		sign := ""
		if part(0, 1) != 0 {
			sign = "-"
		}
		return sign + wire.Clock(24*part(1, 4)+part(5, 1), part(6, 1), part(7, 1), part(8, 4))
	case of.code != typeTime && (n == 0 || n == 4 || n == 7 || n == 11):
		text := fmt.Sprintf("%04d-%02d-%02d", part(0, 2), part(2, 1), part(3, 1))
		if of.code != typeDate || n > 4 {
			text += " " + wire.Clock(part(4, 1), part(5, 1), part(6, 1), part(7, 4))
		}
		return text
	}
	return unread(b, of)
}

func first(b []byte) byte {
	if len(b) == 0 {
		return 0
	}
	return b[0]
}

// number is a number of a length of its own, and how many bytes that is.
func number(b []byte) (uint64, int) {
	n := map[byte]int{0xfc: 3, 0xfd: 4, 0xfe: 9}[first(b)]
	if n == 0 || len(b) < n {
		return uint64(first(b)), min(1, len(b))
	}
	return little(b[1:n]), n
}

// little is a number of so many bytes, the least first; 0 of none.
func little(b []byte) (v uint64) {
	for _, c := range slices.Backward(b) {
		v = v<<8 | uint64(c)
	}
	return v
}
