package script

import (
	"fmt"
	"math"

	"assay/workload"
)

// distribution draws from low to high by a parameter.
type distribution func(r *workload.Random, low, high int64, parameter float64) (int64, error)

// uniform draws from low to high, both included.
func uniform(r *workload.Random, low, high int64) (int64, error) {
	if low > high {
		return 0, fmt.Errorf("the range from %d to %d is empty", low, high)
	}
	width := uint64(high) - uint64(low) + 1
	if width == 0 { // all 64 bits
		return int64(r.Next()), nil
	}
	return low + int64(r.Below(width)), nil
}

// spread puts a number of [0, 1) onto the range.
func spread(low, high int64, share float64) (int64, error) {
	width := float64(high) - float64(low) + 1
	if low > high || width > 1<<53 {
		return 0, fmt.Errorf("the range from %d to %d cannot be used", low, high)
	}
	return low + int64(width*share), nil
}

// gaussian draws as pgbench's random_gaussian does (PostgreSQL manual, "pgbench", "Random
// Functions"): a normal distribution around the middle, cut off at parameter standard
// deviations, which are half of the range.
func gaussian(r *workload.Random, low, high int64, parameter float64) (int64, error) {
	if !(parameter >= 2) {
		return 0, fmt.Errorf("the parameter of a Gaussian distribution is 2 or more, not %v", parameter)
	}
	for {
		// Box and Muller, "A Note on the Generation of Random Normal Deviates", 1958.
		deviate := math.Sqrt(-2*math.Log(1-r.Float())) * math.Sin(2*math.Pi*r.Float())
		if deviate >= -parameter && deviate < parameter {
			return spread(low, high, (deviate+parameter)/(2*parameter))
		}
	}
}

// exponential draws as pgbench's random_exponential does: low values are more likely.
func exponential(r *workload.Random, low, high int64, parameter float64) (int64, error) {
	if !(parameter > 0) {
		return 0, fmt.Errorf("the parameter of an exponential distribution is above 0, not %v", parameter)
	}
	cut := math.Exp(-parameter)
	share := -math.Log(cut+(1-cut)*(1-r.Float())) / parameter
	return spread(low, high, min(share, 1-1e-16))
}

// zipfian draws low with a probability proportional to 1, the next value to 2^-s, and so
// on: that of pgbench's random_zipfian.
func zipfian(r *workload.Random, low, high int64, s float64) (int64, error) {
	n := float64(high) - float64(low) + 1
	if low > high || n > 1<<53 {
		return 0, fmt.Errorf("the range from %d to %d cannot be used", low, high)
	}
	if !(s > 0 && s <= 100) || s == 1 {
		return 0, fmt.Errorf("the parameter of a Zipf distribution is above 0, at most 100, and not 1; it is %v", s)
	}
	z := workload.NewZipf(int64(n), s)
	return low + z.Rank(r) - 1, nil
}

// distinct draws n different values of a range.
func distinct(r *workload.Random, n, low, high int64) ([]int64, error) {
	if n < 1 || n > 1000 || low > high || float64(high)-float64(low)+1 < float64(n) {
		return nil, fmt.Errorf("%d different values from %d to %d cannot be drawn; want 1 to 1000, and a range with as many", n, low, high)
	}
	drawn := make([]int64, 0, n)
	taken := make(map[int64]bool, n)
	// Floyd's method (J. Bentley, "Programming Pearls: A sample of brilliance", CACM 30/9,
	// 1987): each subset is equally likely, and there are n draws.
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

// letters draws a text of lower-case letters and digits.
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
