package postgres

import (
	"encoding/binary"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"assay/application/wire"
)

// The types whose binary form is read, by their numbers in pg_type.dat.
const (
	typeBool        = 16
	typeBytea       = 17
	typeName        = 19
	typeInt8        = 20
	typeInt2        = 21
	typeInt4        = 23
	typeText        = 25
	typeJSON        = 114
	typeFloat4      = 700
	typeFloat8      = 701
	typeBpchar      = 1042
	typeVarchar     = 1043
	typeDate        = 1082
	typeTimestamp   = 1114
	typeTimestampTZ = 1184
	typeNumeric     = 1700
	typeUUID        = 2950
)

// The formats of a value.
const (
	formatText     = 0
	formatBinary   = 1
	formatNotKnown = -1
)

// printed is a value as wire keeps it, of a type by its number; 0 of one that is not known. A value that
// is nil is NULL.
func printed(b []byte, format int, of uint32) string {
	switch {
	case b == nil:
		return wire.Null
	case format == formatText:
		return wire.Text(b)
	case of == 0 || format != formatBinary:
		return wire.Bytes(b, ", type not known")
	}
	if text, is := read(b, of); is {
		return text
	}
	return wire.Bytes(b, ", type "+strconv.FormatUint(uint64(of), 10))
}

// read is a value's binary form as the server writes it as text, with ISO dates, in UTC (PostgreSQL 18
// source, the functions that end in recv and out); false of a type, or a length, that is not read.
func read(b []byte, of uint32) (text string, is bool) {
	switch {
	case of == typeText || of == typeVarchar || of == typeBpchar || of == typeName || of == typeJSON:
		return wire.Text(b), true
	case of == typeBytea:
		return wire.Bytes(b, ""), true
	case of == typeNumeric:
		return numeric(b)
	case of == typeBool && len(b) == 1:
		return map[bool]string{true: "t", false: "f"}[b[0] != 0], true
	case of == typeInt2 && len(b) == 2:
		return strconv.Itoa(int(int16(binary.BigEndian.Uint16(b)))), true
	case of == typeUUID && len(b) == 16:
		return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:]), true
	case len(b) == 4:
		v := binary.BigEndian.Uint32(b)
		switch of {
		case typeInt4:
			return strconv.Itoa(int(int32(v))), true
		case typeFloat4:
			return wire.Float(float64(math.Float32frombits(v)), 32), true
		case typeDate:
			return date(int32(v)), true
		}
	case len(b) == 8:
		v := binary.BigEndian.Uint64(b)
		switch of {
		case typeInt8:
			return strconv.FormatInt(int64(v), 10), true
		case typeFloat8:
			return wire.Float(math.Float64frombits(v), 64), true
		case typeTimestamp:
			return timestamp(int64(v), ""), true
		case typeTimestampTZ:
			return timestamp(int64(v), "+00"), true
		}
	}
	return "", false
}

// date is a day by its number since the first of 2000, of which the least and the most are infinite.
func date(days int32) string {
	switch days {
	case math.MinInt32:
		return "-infinity"
	case math.MaxInt32:
		return "infinity"
	}
	text, era := day(int64(days))
	return text + era
}

// timestamp is a moment in microseconds since the beginning of 2000.
func timestamp(micros int64, zone string) string {
	const second, ofDay = 1_000_000, 86_400_000_000
	switch micros {
	case math.MinInt64:
		return "-infinity"
	case math.MaxInt64:
		return "infinity"
	}
	days, rest := micros/ofDay, micros%ofDay
	if rest < 0 {
		days, rest = days-1, rest+ofDay
	}
	text, era := day(days)
	return text + " " + wire.Clock(rest/(3600*second), rest/(60*second)%60, rest/second%60, rest%second) + zone + era
}

// day is a day by its number. There is no year 0: before 1 comes 1 BC.
func day(days int64) (text, era string) {
	t := time.Date(2000, time.January, 1, 0, 0, 0, 0, time.UTC).AddDate(0, 0, int(days))
	year := t.Year()
	if year <= 0 {
		year, era = 1-year, " BC"
	}
	return fmt.Sprintf("%04d-%02d-%02d", year, t.Month(), t.Day()), era
}

// numeric is a number of any length: groups of four digits, of which the first counts 10,000 to the power
// of its weight, and so many digits behind the point.
func numeric(b []byte) (text string, is bool) {
	const head = 8
	if len(b) < head || len(b) != head+2*int(binary.BigEndian.Uint16(b)) {
		return "", false
	}
	weight, scale := int(int16(binary.BigEndian.Uint16(b[2:]))), int(binary.BigEndian.Uint16(b[6:]))
	sign := ""
	switch binary.BigEndian.Uint16(b[4:]) {
	case 0:
	case 0x4000:
		sign = "-"
	case 0xc000:
		return "NaN", true
	case 0xd000:
		return "Infinity", true
	case 0xf000:
		return "-Infinity", true
	default:
		return "", false
	}
	group := func(out *strings.Builder, place int) { // of 10,000 to the power of place
		at, v := head+2*(weight-place), uint16(0)
		if at >= head && at < len(b) {
			v = binary.BigEndian.Uint16(b[at:])
		}
		fmt.Fprintf(out, "%04d", v)
	}
	var whole, behind strings.Builder
	for place := weight; place >= 0; place-- {
		group(&whole, place)
	}
	for place := -1; behind.Len() < scale; place-- {
		group(&behind, place)
	}
	text = strings.TrimLeft(whole.String(), "0")
	if text == "" {
		text = "0"
	}
	if text = sign + text; scale > 0 {
		text += "." + behind.String()[:scale]
	}
	return wire.Shortened(text), true
}

// formatOf is the format of a value: one is all of theirs, and none says that they are text.
func formatOf(formats []int, at int) int {
	switch {
	case len(formats) == 1:
		return formats[0]
	case at < len(formats):
		return formats[at]
	}
	return formatText
}

func typeOf(types []uint32, at int) uint32 {
	if at < len(types) {
		return types[at]
	}
	return 0
}
