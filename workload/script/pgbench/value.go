package pgbench

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

type valueKind uint8

const (
	null valueKind = iota
	boolean
	integer
	double
)

func (k valueKind) String() string {
	return [...]string{"null", "a boolean", "an integer", "a double"}[k]
}

// Value is NULL (the zero value), a boolean, a 64-bit integer or a double.
type Value struct {
	kind  valueKind
	whole int64 // 1 is true of a boolean
	real  float64
}

// Int returns an integer.
func Int(v int64) Value { return Value{kind: integer, whole: v} }

// Double returns a double.
func Double(v float64) Value { return Value{kind: double, real: v} }

// Bool returns a boolean.
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

// Truth is the value as a condition of \if and CASE: numbers except 0 are true, NULL is false.
func (v Value) Truth() bool { return v.whole != 0 || v.real != 0 } // NaN is true, as in C

// asBool is for AND, OR and NOT, which take no numbers.
func (v Value) asBool() (bool, error) {
	if v.kind != boolean {
		return false, fmt.Errorf("AND, OR and NOT take booleans, and a value is %s: compare it, as in :x <> 0", v.kind)
	}
	return v.whole != 0, nil
}

// asInt rounds a double, halves to even.
func (v Value) asInt() (int64, error) {
	switch v.kind {
	case integer:
		return v.whole, nil
	case double:
		rounded := math.RoundToEven(v.real)
		if !(rounded >= math.MinInt64 && rounded < -math.MinInt64) {
			return 0, fmt.Errorf("the double %v does not fit into an integer", v)
		}
		return int64(rounded), nil
	}
	return 0, fmt.Errorf("an integer is wanted, and a value is %s", v.kind)
}

func (v Value) asDouble() (float64, error) {
	switch v.kind {
	case integer:
		return float64(v.whole), nil
	case double:
		return v.real, nil
	}
	return 0, fmt.Errorf("a number is wanted, and a value is %s", v.kind)
}

// valueOf reads a text as pgbench does.
func valueOf(text string) (Value, error) {
	lower := strings.ToLower(text)
	switch {
	case text == "":
		return Value{}, fmt.Errorf("it is empty")
	case lower == "null":
		return Value{}, nil
	case strings.HasPrefix("true", lower), strings.HasPrefix("yes", lower), lower == "on":
		return Bool(true), nil
	case strings.HasPrefix("false", lower), strings.HasPrefix("no", lower), lower == "of", lower == "off":
		return Bool(false), nil
	}
	trimmed := strings.TrimLeft(text, " \t\n\v\f\r")
	if unsigned := strings.TrimLeft(trimmed, "+-"); unsigned != "" && numberIsWhole(unsigned) {
		n, err := strconv.ParseInt(trimmed, 10, 64)
		if err != nil {
			return Value{}, fmt.Errorf("it does not fit into an integer of 64 bits")
		}
		return Int(n), nil
	}
	f, err := strconv.ParseFloat(trimmed, 64)
	if err != nil {
		return Value{}, fmt.Errorf("it is no number, no boolean and not NULL")
	}
	return Double(f), nil
}

// formatDouble is C's %.15g.
func formatDouble(v float64) string {
	switch {
	case math.IsNaN(v):
		return "NaN"
	case math.IsInf(v, 1):
		return "Infinity"
	case math.IsInf(v, -1):
		return "-Infinity"
	case v == 0:
		return strconv.FormatFloat(v, 'f', 0, 64) // -0 has its sign
	}
	digits, exponent, _ := strings.Cut(strconv.FormatFloat(v, 'e', 14, 64), "e")
	if n, _ := strconv.Atoi(exponent); n >= -4 && n < 15 {
		digits, exponent = strconv.FormatFloat(v, 'f', 14-n, 64), ""
	}
	if strings.Contains(digits, ".") {
		digits = strings.TrimRight(strings.TrimRight(digits, "0"), ".")
	}
	if exponent == "" {
		return digits
	}
	return digits + "e" + exponent
}
