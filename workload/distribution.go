package workload

import (
	"math"
	"math/rand/v2"
)

// One draws one element of a list.
func One(random *rand.Rand, of []string) string { return of[random.IntN(len(of))] }

// Uniform draws from low to high, both included. low must not be above high.
func Uniform(r *Random, low, high int64) int64 {
	width := uint64(high) - uint64(low) + 1
	if width == 0 { // all 64 bits
		return int64(r.Next())
	}
	return low + int64(r.Below(width))
}

// Gaussian draws from low to high as pgbench's random_gaussian does (PostgreSQL manual,
// "pgbench", "Random Functions"). It cuts a normal distribution off at parameter standard
// deviations on each side. parameter must be at least 2: below, most draws are rejected.
func Gaussian(r *Random, low, high int64, parameter float64) int64 {
	for {
		// G. Box and M. Muller, "A Note on the Generation of Random Normal Deviates", 1958.
		deviate := math.Sqrt(-2*math.Log(1-r.Float())) * math.Sin(2*math.Pi*r.Float())
		if deviate >= -parameter && deviate < parameter {
			return spread(low, high, (deviate+parameter)/(2*parameter))
		}
	}
}

// Exponential draws from low to high as pgbench's random_exponential does; parameter is above 0.
func Exponential(r *Random, low, high int64, parameter float64) int64 {
	cut := math.Exp(-parameter)
	share := -math.Log(cut+(1-cut)*(1-r.Float())) / parameter
	return spread(low, high, share)
}

// spread maps a share of [0, 1) to the range; min keeps a rounded product inside it.
func spread(low, high int64, share float64) int64 {
	width := float64(high) - float64(low) + 1
	return low + int64(min(uint64(width*share), uint64(high)-uint64(low)))
}
