package measure

import (
	"math"
	"slices"

	"assay/quantity"
)

const (
	// minBatches is the fewest batches that a line is fitted through,
	// maxBatches the most.
	minBatches, maxBatches = 10, 30
	// maxCorrelation keeps the inflation finite.
	maxCorrelation = 0.9
)

// batches are equal stretches of the measured part, with the middle of each in
// seconds.
type batches struct {
	seconds                               float64
	times, rates, latencyTimes, latencies []float64
}

// batchesOf joins neighbouring steps, so that few batches are left whose means
// depend on each other less than those of the steps do (the method of batch
// means; G. Fishman, "Principles of Discrete Event Simulation", 1978). A batch
// that lacks more than half of its steps, since faults acted, is left out.
func batchesOf(steps Steps, positions []int) batches {
	width := (len(positions) + maxBatches - 1) / maxBatches
	out := batches{seconds: float64(width) * steps.Seconds}
	for first := 0; first < len(positions); {
		last := first
		for last < len(positions) && positions[last] < positions[first]+width {
			last++
		}
		var count, middle, logs float64
		for i := first; i < last; i++ {
			n := float64(steps.Committed[i])
			count += n
			middle += (float64(positions[i]) + 0.5) * steps.Seconds / float64(last-first)
			if n > 0 {
				logs += n * math.Log(steps.TypicalMillis[i])
			}
		}
		if (last-first)*2 > width {
			out.times = append(out.times, middle)
			out.rates = append(out.rates, count/float64(last-first)/steps.Seconds)
			if count > 0 {
				out.latencyTimes = append(out.latencyTimes, middle)
				out.latencies = append(out.latencies, math.Exp(logs/count))
			}
		}
		first = last
	}
	return out
}

// changeOf fits a line by least squares through the values at these times and
// returns its change over length, both in seconds. The median must be above 0,
// and there must be at least minBatches values.
//
// Values that resemble their neighbours say less than independent ones. The
// variance is inflated, and the degrees of freedom are reduced, by what the
// correlation of neighbouring residuals costs (G. Bayley, J. Hammersley, "The
// effective number of independent observations in an autocorrelated time
// series", Suppl. J. R. Stat. Soc. 8, 1946, for a first-order process). That
// correlation is estimated too low beside a fitted line, by (2+4r)/n on
// average (M. Kendall, "Note on bias in the estimation of autocorrelation",
// Biometrika 41, 1954), which is added.
func changeOf(times, values []float64, length float64) Change {
	n := float64(len(values))
	middle, mean := meanOf(times), meanOf(values)
	var xx, xy float64
	for i, v := range values {
		xx += (times[i] - middle) * (times[i] - middle)
		xy += (times[i] - middle) * (v - mean)
	}
	slope := xy / xx
	var squares, products, before float64
	for i, v := range values {
		residual := v - mean - slope*(times[i]-middle)
		squares += residual * residual
		products += residual * before
		before = residual
	}
	inflation := 1.0
	if squares > 0 {
		r := min(max((n*products/squares+2)/(n-4), 0), maxCorrelation)
		inflation = (1 + r) / (1 - r)
	}
	free := max(n/inflation-2, minFreedom)
	c := Change{Median: quantity.Median(slices.Clone(values))}
	c.Share = slope * length / c.Median
	half := studentQuantile(free) * math.Sqrt(squares/(n-2)*inflation/xx) * length / c.Median
	c.Low, c.High = c.Share-half, c.Share+half
	return c
}

// minFreedom is the fewest degrees of freedom for which studentQuantile is true.
const minFreedom = 3

// studentQuantile returns the 95 % quantile of Student's distribution, within
// 0.3 % for 3 degrees of freedom or more (M. Abramowitz, I. Stegun, "Handbook of
// Mathematical Functions", 1964, 26.7.5).
func studentQuantile(free float64) float64 {
	const x = 1.6448536269514722 // the normal distribution's
	x3, x5, x7, x9 := math.Pow(x, 3), math.Pow(x, 5), math.Pow(x, 7), math.Pow(x, 9)
	return x + (x3+x)/4/free + (5*x5+16*x3+3*x)/96/math.Pow(free, 2) +
		(3*x7+19*x5+17*x3-15*x)/384/math.Pow(free, 3) +
		(79*x9+776*x7+1482*x5-1920*x3-945*x)/92160/math.Pow(free, 4)
}

const (
	// minLasting is the least share of the values that a level must last for.
	minLasting = 0.1
	// jumpPValue is the largest probability that noise shows such a jump.
	jumpPValue = 0.01
)

// jump finds the largest step that is above least and beyond chance (see
// FindDegradation for the tests): between two neighbouring levels, or between all
// before the one and all from the other on.
func jump(values []float64, least float64) (from, to float64, found bool) {
	n := len(values)
	if n < minChangeIntervals {
		return 0, 0, false
	}
	noise := noiseOf(values)
	if noise == 0 {
		return 0, 0, false
	}
	places := float64(n) * float64(n) / 2
	bounds := levels(values, noise*noise*changePenalty*math.Log(float64(n)), max(minLevel, int(minLasting*float64(n))))
	for i := 1; i+1 < len(bounds); i++ {
		for _, part := range [][]float64{values[bounds[i-1]:bounds[i+1]], values} {
			at := bounds[i]
			if len(part) < n {
				at -= bounds[i-1]
			}
			before, after := part[:at], part[at:]
			a, b := meanOf(before), meanOf(after)
			if math.Abs(b-a) <= max(least, math.Abs(to-from)) {
				continue
			}
			inflation := inflationOf(before, after)
			if p := 2 * min(rankTest(before, after, inflation), rankTest(after, before, inflation)); places*p < jumpPValue {
				from, to, found = a, b, true
			}
		}
	}
	return from, to, found
}
