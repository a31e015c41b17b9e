package script

import (
	"errors"
	"fmt"
	"math"

	"assay/workload"
)

// function is one of an expression's, with how many arguments it takes.
type function struct {
	arguments int
	apply     func(r *workload.Random, a []scalar) (scalar, error)
}

// functions are those of pgbench that are understood (PostgreSQL manual, "pgbench
// Functions").
func functions() map[string]function {
	drawn := func(arguments int, draw distribution) function {
		return function{arguments, func(r *workload.Random, a []scalar) (scalar, error) {
			if a[0].real || a[1].real {
				return scalar{}, errors.New("the ends of the range are integers")
			}
			parameter := 0.0
			if arguments > 2 {
				parameter = a[2].float()
			}
			v, err := draw(r, a[0].whole, a[1].whole, parameter)
			return scalar{whole: v}, err
		}}
	}
	return map[string]function{
		"random":          drawn(2, func(r *workload.Random, low, high int64, _ float64) (int64, error) { return uniform(r, low, high) }),
		"random_gaussian": drawn(3, gaussian), "random_exponential": drawn(3, exponential), "random_zipfian": drawn(3, zipfian),
		"abs": {1, func(_ *workload.Random, a []scalar) (scalar, error) {
			if a[0].real {
				return scalar{fraction: math.Abs(a[0].fraction), real: true}, nil
			}
			if a[0].whole < 0 {
				return wholeOperation("-", 0, a[0].whole)
			}
			return a[0], nil
		}},
		"int": {1, func(_ *workload.Random, a []scalar) (scalar, error) {
			if !a[0].real {
				return a[0], nil
			}
			if math.Abs(a[0].fraction) >= 1<<63 {
				return scalar{}, errors.New("the integer is out of range")
			}
			return scalar{whole: int64(a[0].fraction)}, nil
		}},
		"double": {1, func(_ *workload.Random, a []scalar) (scalar, error) {
			return scalar{fraction: a[0].float(), real: true}, nil
		}},
		"mod": {2, func(_ *workload.Random, a []scalar) (scalar, error) {
			if a[0].real || a[1].real {
				return scalar{}, errors.New("mod is for integers")
			}
			return wholeOperation("%", a[0].whole, a[1].whole)
		}},
		"greatest": {2, func(_ *workload.Random, a []scalar) (scalar, error) { return extreme(a, 1), nil }},
		"least":    {2, func(_ *workload.Random, a []scalar) (scalar, error) { return extreme(a, -1), nil }},
	}
}

// extreme is the greater of two values, or with -1 the less.
func extreme(a []scalar, which float64) scalar {
	if (a[1].float()-a[0].float())*which > 0 {
		return a[1]
	}
	return a[0]
}

func (e *expressions) function(name token) (expression, error) {
	f, known := functions()[name.text]
	if !known {
		return nil, e.fail(name, fmt.Sprintf("%q is not understood", name.text), advicePart)
	}
	if err := e.want("("); err != nil {
		return nil, err
	}
	var arguments []expression
	for len(arguments) < f.arguments {
		if len(arguments) > 0 {
			if err := e.want(","); err != nil {
				return nil, err
			}
		}
		x, err := e.sum()
		if err != nil {
			return nil, err
		}
		arguments = append(arguments, x)
	}
	if err := e.want(")"); err != nil {
		return nil, err
	}
	return func(variables map[string]scalar, r *workload.Random) (scalar, error) {
		values := make([]scalar, len(arguments))
		for i, argument := range arguments {
			var err error
			if values[i], err = argument(variables, r); err != nil {
				return scalar{}, err
			}
		}
		return f.apply(r, values)
	}, nil
}
