package script

import (
	"fmt"

	"assay/workload"
)

type distribution func(r *workload.Random, low, high int64, parameter float64) (int64, error)

// uniform draws from low to high, both included.
func uniform(r *workload.Random, low, high int64) (int64, error) {
	if low > high {
		return 0, fmt.Errorf("the range from %d to %d is empty", low, high)
	}
	return workload.Uniform(r, low, high), nil
}

// usable refuses a range that a double does not hold exactly.
func usable(low, high int64) error {
	if low > high || float64(high)-float64(low)+1 > 1<<53 {
		return fmt.Errorf("the range from %d to %d cannot be used", low, high)
	}
	return nil
}

func gaussian(r *workload.Random, low, high int64, parameter float64) (int64, error) {
	if !(parameter >= 2) {
		return 0, fmt.Errorf("the parameter of a Gaussian distribution is 2 or more, not %v", parameter)
	}
	if err := usable(low, high); err != nil {
		return 0, err
	}
	return workload.Gaussian(r, low, high, parameter), nil
}

func exponential(r *workload.Random, low, high int64, parameter float64) (int64, error) {
	if !(parameter > 0) {
		return 0, fmt.Errorf("the parameter of an exponential distribution is above 0, not %v", parameter)
	}
	if err := usable(low, high); err != nil {
		return 0, err
	}
	return workload.Exponential(r, low, high, parameter), nil
}

// zipfian is pgbench's random_zipfian: value low+k has a probability proportional to (k+1)^-s.
func zipfian(r *workload.Random, low, high int64, s float64) (int64, error) {
	if err := usable(low, high); err != nil {
		return 0, err
	}
	if !(s > 0 && s <= 100) || s == 1 {
		return 0, fmt.Errorf("the parameter of a Zipf distribution is above 0, at most 100, and not 1; it is %v", s)
	}
	z := workload.NewZipf(high-low+1, s)
	return low + z.Rank(r) - 1, nil
}

// distinct draws n different values.
func distinct(r *workload.Random, n, low, high int64) ([]int64, error) {
	if n < 1 || n > 1000 || low > high || float64(high)-float64(low)+1 < float64(n) {
		return nil, fmt.Errorf("%d different values from %d to %d cannot be drawn; want 1 to 1000, and a range with as many", n, low, high)
	}
	drawn := make([]int64, 0, n)
	taken := make(map[int64]bool, n)
	// Floyd's method (J. Bentley, "Programming Pearls: A sample of brilliance", CACM 30/9,
	// 1987): n draws, and every subset is equally likely.
	for last := high - n + 1; int64(len(drawn)) < n; last++ {
		v, err := uniform(r, low, last)
		if err != nil {
			return nil, err
		}
		if taken[v] {
			v = last
		}
		taken[v] = true
		drawn = append(drawn, v)
	}
	workload.Shuffle(r, drawn)
	return drawn, nil
}

// letters draws lower-case letters and digits.
func letters(r *workload.Random, length int64) (string, error) {
	if length < 0 || length > 1_000_000 {
		return "", fmt.Errorf("a text of %d characters cannot be drawn; want 0 to 1000000", length)
	}
	const characters = "abcdefghijklmnopqrstuvwxyz012345"
	text := make([]byte, length)
	var bits uint64
	for i := range text {
		if i%12 == 0 {
			bits = r.Next()
		}
		text[i], bits = characters[bits&31], bits>>5
	}
	return string(text), nil
}
