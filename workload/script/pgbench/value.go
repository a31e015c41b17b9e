package pgbench

import (
	"math"
	"strconv"
	"strings"
)

// valueKind is what a value is.
type valueKind uint8

const (
	null valueKind = iota
	boolean
	integer
	double
)

// Value is what an expression computes: NULL, which is the zero value, a boolean, an
// integer of 64 bits, or a double.
type Value struct {
	kind  valueKind
	whole int64 // also of a boolean
	real  float64
}

// Int is an integer.
func Int(v int64) Value { return Value{kind: integer, whole: v} }

// Double is a number of double precision.
func Double(v float64) Value { return Value{kind: double, real: v} }

// Bool is a boolean.
func Bool(v bool) Value {
	if v {
		return Value{kind: boolean, whole: 1}
	}
	return Value{kind: boolean}
}

// String is the value as pgbench writes it into a statement.
func (v Value) String() string {
	switch v.kind {
	case boolean:
		return strconv.FormatBool(v.whole != 0)
	case integer:
		return strconv.FormatInt(v.whole, 10)
	case double:
		return formatDouble(v.real)
	}
	return "NULL"
}

// formatDouble is C's %.15g.
func formatDouble(v float64) string {
	switch {
	case math.IsInf(v, 0) || math.IsNaN(v):
		return infinite(v)
	case v == 0:
		return strconv.FormatFloat(v, 'f', 0, 64) // -0 has its sign
	}
	text := strconv.FormatFloat(v, 'e', 14, 64)
	digits, exponent, _ := strings.Cut(text, "e")
	n, _ := strconv.Atoi(exponent)
	if n >= -4 && n < 15 {
		digits = strconv.FormatFloat(v, 'f', 14-n, 64)
		if strings.Contains(digits, ".") {
			digits = strings.TrimRight(strings.TrimRight(digits, "0"), ".")
		}
		return digits
	}
	return strings.TrimRight(strings.TrimRight(digits, "0"), ".") + "e" + exponent
}

// infinite is what is no finite number, as PostgreSQL's programs print it.
func infinite(v float64) string {
	switch {
	case math.IsNaN(v):
		return "NaN"
	case v < 0:
		return "-Infinity"
	}
	return "Infinity"
}
