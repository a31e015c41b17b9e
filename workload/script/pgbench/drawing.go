package pgbench

import (
	"errors"
	"fmt"
	"math"

	"assay/workload"
)

// drawing has pgbench's laws and limits (PostgreSQL manual, pgbench, "Random Functions").
func drawing(name string) function {
	f := function{least: 3, most: 3}
	if name == "random" {
		f.least, f.most = 2, 2
	}
	f.apply = func(s *Scope, a []Value) (Value, error) {
		low, err := a[0].asInt()
		high, err2 := a[1].asInt()
		parameter, err3 := 0.0, error(nil)
		if len(a) > 2 {
			parameter, err3 = a[2].asDouble()
		}
		if err := errors.Join(err, err2, err3); err != nil {
			return Value{}, err
		}
		if low > high {
			return Value{}, fmt.Errorf("the range from %d to %d is empty", low, high)
		}
		if uint64(high)-uint64(low) >= math.MaxInt64 {
			return Value{}, fmt.Errorf("the range from %d to %d is too large", low, high)
		}
		v, err := draw(name, s.Random, low, high, parameter)
		return Int(v), err
	}
	return f
}

func draw(name string, r *workload.Random, low, high int64, parameter float64) (int64, error) {
	wrong := func(want string) (int64, error) {
		return 0, fmt.Errorf("the parameter of %s is %s, not %s", name, want, formatDouble(parameter))
	}
	switch name {
	case "random_gaussian":
		if !(parameter >= 2) {
			return wrong("2 or more")
		}
		return workload.Gaussian(r, low, high, parameter), nil
	case "random_exponential":
		if !(parameter > 0) {
			return wrong("above 0")
		}
		return workload.Exponential(r, low, high, parameter), nil
	case "random_zipfian":
		if !(parameter >= 1.001 && parameter <= 1000) {
			return wrong("1.001 to 1000")
		}
		z := workload.NewZipf(high-low+1, parameter)
		return low + z.Rank(r) - 1, nil
	}
	return workload.Uniform(r, low, high), nil
}
