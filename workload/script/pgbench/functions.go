package pgbench

import (
	"errors"
	"fmt"
	"math"
)

type function struct {
	// least and most bound the number of arguments.
	least, most int
	apply       func(s *Scope, a []Value) (Value, error)
	// seeded: the variable default_seed stands for a missing last argument.
	seeded    bool
	takesNull bool
}

// functionOf knows the functions of the PostgreSQL manual, pgbench, "Built-In Functions".
func functionOf(name string) (f function, known bool) {
	switch name {
	case "abs":
		return function{least: 1, most: 1, apply: absolute}, true
	case "debug":
		return function{least: 1, most: 1, apply: debug, takesNull: true}, true
	case "double":
		return ofDouble(func(x float64) float64 { return x }), true
	case "exp":
		return ofDouble(math.Exp), true
	case "greatest":
		return function{least: 1, most: maxArguments, apply: greatest}, true
	case "hash", "hash_murmur2":
		return hashing(hashMurmur2), true
	case "hash_fnv1a":
		return hashing(hashFNV1a), true
	case "int":
		return function{least: 1, most: 1, apply: toInt}, true
	case "least":
		return function{least: 1, most: maxArguments, apply: least}, true
	case "ln":
		return ofDouble(math.Log), true
	case "mod":
		return function{least: 2, most: 2, apply: operatorOf("%")}, true
	case "permute":
		return function{least: 2, most: 3, apply: permutation, seeded: true}, true
	case "pi":
		return function{apply: func(*Scope, []Value) (Value, error) { return Double(math.Pi), nil }}, true
	case "pow", "power":
		return function{least: 2, most: 2, apply: power}, true
	case "random", "random_exponential", "random_gaussian", "random_zipfian":
		return drawing(name), true
	case "sqrt":
		return ofDouble(math.Sqrt), true
	}
	return f, false
}

func ofDouble(of func(float64) float64) function {
	return function{least: 1, most: 1, apply: func(_ *Scope, a []Value) (Value, error) {
		x, err := a[0].asDouble()
		return Double(of(x)), err
	}}
}

func hashing(of func(value, seed uint64) uint64) function {
	return function{least: 1, most: 2, seeded: true, apply: func(_ *Scope, a []Value) (Value, error) {
		v, err := a[0].asInt()
		seed, err2 := a[1].asInt()
		return Int(int64(of(uint64(v), uint64(seed)))), errors.Join(err, err2)
	}}
}

func absolute(_ *Scope, a []Value) (Value, error) {
	if a[0].kind == integer {
		return Int(max(a[0].whole, -a[0].whole)), nil // the least integer has no other, and stays, as in pgbench
	}
	x, err := a[0].asDouble()
	return Double(math.Abs(x)), err
}

func debug(s *Scope, a []Value) (Value, error) {
	if s.Debug != nil {
		s.Debug(a[0])
	}
	return a[0], nil
}

func toInt(_ *Scope, a []Value) (Value, error) {
	v, err := a[0].asInt()
	return Int(v), err
}

func power(_ *Scope, a []Value) (Value, error) {
	x, err := a[0].asDouble()
	y, err2 := a[1].asDouble()
	return Double(math.Pow(x, y)), errors.Join(err, err2)
}

func greatest(_ *Scope, a []Value) (Value, error) { return extreme(a, false) }
func least(_ *Scope, a []Value) (Value, error)    { return extreme(a, true) }

// extreme is a double if any value is.
func extreme(a []Value, least bool) (Value, error) {
	real := false
	for _, v := range a {
		real = real || v.kind == double
	}
	if !real {
		return extremeOf(a, Value.asInt, Int, least)
	}
	return extremeOf(a, Value.asDouble, Double, least)
}

func extremeOf[T int64 | float64](a []Value, number func(Value) (T, error), value func(T) Value, least bool) (Value, error) {
	var of T
	for i, v := range a {
		n, err := number(v)
		if err != nil {
			return Value{}, err
		}
		if i == 0 || !(least && of < n || !least && of > n) { // so NaN is taken, as in pgbench
			of = n
		}
	}
	return value(of), nil
}

func permutation(_ *Scope, a []Value) (Value, error) {
	v, err := a[0].asInt()
	size, err2 := a[1].asInt()
	seed, err3 := a[2].asInt()
	if err := errors.Join(err, err2, err3); err != nil {
		return Value{}, err
	}
	if size <= 0 {
		return Value{}, fmt.Errorf("permute is for a size above 0, not %d", size)
	}
	return Int(int64(permute(uint64(v), uint64(size), uint64(seed)))), nil
}

func negation(_ *Scope, a []Value) (Value, error) {
	truth, err := a[0].asBool()
	return Bool(!truth), err
}
