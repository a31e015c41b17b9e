package pgbench

import (
	"errors"
	"math"
	"math/bits"
)

var (
	errZero  = errors.New("division by zero")
	errRange = errors.New("the integer is out of range")
)

// operatorOf computes in doubles if an operand is one; % and bit operators round to integers.
func operatorOf(operator string) func(*Scope, []Value) (Value, error) {
	switch operator {
	case "%", "&", "|", "#", "<<", ">>":
		return func(_ *Scope, a []Value) (Value, error) { return wholeOperation(operator, a) }
	}
	return func(_ *Scope, a []Value) (Value, error) {
		if a[0].kind == double || a[1].kind == double {
			return realOperation(operator, a)
		}
		return wholeOperation(operator, a)
	}
}

func realOperation(operator string, a []Value) (Value, error) {
	x, err := a[0].asDouble()
	y, err2 := a[1].asDouble()
	if err := errors.Join(err, err2); err != nil {
		return Value{}, err
	}
	switch operator {
	case "+":
		return Double(x + y), nil
	case "-":
		return Double(x - y), nil
	case "*":
		return Double(x * y), nil
	case "/":
		return Double(x / y), nil // infinite for 0, as in pgbench
	case "<":
		return Bool(x < y), nil
	case "<=":
		return Bool(x <= y), nil
	case "=":
		return Bool(x == y), nil
	}
	return Bool(x != y), nil
}

func wholeOperation(operator string, a []Value) (Value, error) {
	x, err := a[0].asInt()
	y, err2 := a[1].asInt()
	if err := errors.Join(err, err2); err != nil {
		return Value{}, err
	}
	switch operator {
	case "<":
		return Bool(x < y), nil
	case "<=":
		return Bool(x <= y), nil
	case "=":
		return Bool(x == y), nil
	case "<>":
		return Bool(x != y), nil
	case "&":
		return Int(x & y), nil
	case "|":
		return Int(x | y), nil
	case "#":
		return Int(x ^ y), nil
	case "<<":
		return Int(x << (uint64(y) & 63)), nil // as processors shift
	case ">>":
		return Int(x >> (uint64(y) & 63)), nil
	}
	v, err := arithmetic(operator, x, y)
	return Int(v), err
}

// arithmetic refuses overflow.
func arithmetic(operator string, x, y int64) (int64, error) {
	switch operator {
	case "+":
		if v := x + y; (v > x) == (y > 0) || y == 0 {
			return v, nil
		}
	case "-":
		if v := x - y; (v < x) == (y > 0) || y == 0 {
			return v, nil
		}
	case "*":
		high, low := bits.Mul64(magnitude(x), magnitude(y))
		negative := (x < 0) != (y < 0)
		if high == 0 && (low <= math.MaxInt64 || negative && low == 1<<63) {
			return x * y, nil
		}
	case "/":
		if y == 0 {
			return 0, errZero
		}
		if x != math.MinInt64 || y != -1 {
			return x / y, nil
		}
	default:
		if y == 0 {
			return 0, errZero
		}
		return x % y, nil // 0 for -1, also of the least integer
	}
	return 0, errRange
}

func magnitude(v int64) uint64 {
	if v < 0 {
		return -uint64(v)
	}
	return uint64(v)
}
