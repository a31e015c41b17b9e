package measure

import (
	"fmt"
	"math"
	"slices"

	"assay/check"
	"assay/internal/quantity"
)

// Degradation is the point at which the throughput fell for good.
type Degradation struct {
	// Found is false if there is no such point, or too little data.
	Found bool
	// AtSeconds is when the first interval after the fall begins, since the start of the run.
	AtSeconds float64
	// Before and After are committed operations a second: on the level before the fall, and
	// from then to the end of the measured part. The level begins where the fall is most
	// certain.
	Before, After float64
	// PValue bounds the probability that equal noise shows such a fall anywhere.
	PValue    float64
	Intervals int
}

const (
	// minChangeIntervals is the number of intervals that the measured part must have.
	minChangeIntervals = 30
	// minLevel is the fewest intervals of a level, minRest the smallest share of all that a
	// fall must last.
	minLevel = 5
	minRest  = 0.1
	// minFall is the smallest fall, as a share of the level before.
	minFall      = 0.1
	changePValue = 0.01

	// minLasting is the smallest share of the values that a level of jump must last.
	minLasting = 0.1
	// jumpPValue bounds the probability that noise shows such a jump, smallPValue for jumps
	// below the margin.
	jumpPValue, smallPValue = 0.003, 0.0005
)

// FindDegradation looks for the strongest fall of the throughput that lasted to the end of the
// measured part. It takes at most MaxPoints squared steps.
//
// PELT finds the levels (R. Killick, P. Fearnhead, I. Eckley, "Optimal detection of changepoints
// with a linear computational cost", JASA 107, 2012), with squared deviations from the level's mean
// as cost. Since it finds levels in noise too, a fall must be at least a tenth, last a tenth of the
// intervals, and not be made up to within a tenth by a later level. The intervals before and after
// must differ by the Mann-Whitney test ("On a test of whether one of two random variables is
// stochastically larger than the other", Ann. Math. Stat. 18, 1947), which tolerates outliers.
//
// The test's statistic is reduced for correlated neighbours (G. Bayley, J. Hammersley, "The
// effective number of independent observations in an autocorrelated time series", Suppl. J. R.
// Stat. Soc. 8, 1946, for a first-order process). Its p value is multiplied by the number of pairs
// of places between which a level could lie (Bonferroni).
func FindDegradation(s Series) Degradation {
	var rates, starts []float64
	for i, whole := range s.Whole {
		if whole {
			rates = append(rates, float64(s.Committed[i])/s.IntervalSeconds)
			starts = append(starts, s.Start[i])
		}
	}
	best := Degradation{Intervals: len(rates)}
	bounds := levels(rates, minLevel)
	pairs := float64(len(rates)) * float64(len(rates)) / 2
	for i := 1; i+1 < len(bounds); i++ {
		after := rates[bounds[i]:]
		if float64(len(after)) < minRest*float64(len(rates)) {
			continue
		}
		fall := Degradation{PValue: 1}
		for _, start := range bounds[:i] {
			before := rates[start:bounds[i]]
			from := meanOf(before)
			if from <= 0 || !below(rates, bounds[i:], from*(1-minFall)) {
				continue
			}
			if p := min(1, pairs*rankTest(before, after, inflationOf(before, after))); p < fall.PValue {
				fall = Degradation{AtSeconds: starts[bounds[i]], Before: from, After: meanOf(after), PValue: p}
			}
		}
		if fall.PValue < changePValue && (!best.Found || fall.Before-fall.After > best.Before-best.After) {
			best = fall
			best.Found, best.Intervals = true, len(rates)
		}
	}
	return best
}

// String is one sentence with figures.
func (d Degradation) String() string {
	if !d.Found {
		if d.Intervals < minChangeIntervals {
			return fmt.Sprintf("a point of degradation was not looked for: the measured part has %s, and %d are needed",
				check.Counted(d.Intervals, "whole interval", "whole intervals"), minChangeIntervals)
		}
		return fmt.Sprintf("no point of degradation: in %d intervals the throughput did not fall for good", d.Intervals)
	}
	return fmt.Sprintf("point of degradation: at %.4g s the throughput fell for good, from %s/s to %s/s (%+.0f %%, p < %.1g, %d intervals)",
		d.AtSeconds, quantity.Figure(d.Before), quantity.Figure(d.After), 100*(d.After/d.Before-1), max(d.PValue, 1e-9), d.Intervals)
}

// jump finds the largest step above least and beyond this chance, with FindDegradation's tests:
// between two neighbouring levels, or between all before one and all from the other on.
func jump(values []float64, least, chance float64) (from, to float64, found bool) {
	n := len(values)
	places := float64(n) * float64(n) / 2
	bounds := levels(values, max(minLevel, int(minLasting*float64(n))))
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
			if p := 2 * min(rankTest(before, after, inflation), rankTest(after, before, inflation)); places*p < chance {
				from, to, found = a, b, true
			}
		}
	}
	return from, to, found
}

// changePenalty, times the noise's variance and the logarithm of the length, is what one more level
// must save.
const changePenalty = 4

// noiseOf estimates the standard deviation around the levels from the differences of neighbours,
// which levels hardly change: the median absolute difference or, if most neighbours are equal, the
// root of the mean square.
func noiseOf(values []float64) float64 {
	var away []float64
	var squares float64
	for i := 1; i < len(values); i++ {
		d := values[i] - values[i-1]
		away = append(away, math.Abs(d))
		squares += d * d
	}
	if m := quantity.Median(away); m > 0 {
		return madScale * m / math.Sqrt2
	}
	return math.Sqrt(squares / float64(len(away)) / 2)
}

// levels returns the bounds of the segments with the least cost: squared deviations from each mean,
// and a penalty for each. A segment has at least least values. The first bound is 0, the last the
// number of values. There are no bounds for too few values or values without noise.
func levels(values []float64, least int) []int {
	n, noise := len(values), 0.0
	if n >= minChangeIntervals {
		noise = noiseOf(values)
	}
	if noise == 0 {
		return nil
	}
	penalty := noise * noise * changePenalty * math.Log(float64(n))
	sums, squares := make([]float64, n+1), make([]float64, n+1)
	middle := meanOf(values) // taken off, so that squares keep their digits
	for i, v := range values {
		sums[i+1], squares[i+1] = sums[i]+v-middle, squares[i]+(v-middle)*(v-middle)
	}
	cost := func(from, to int) float64 {
		sum := sums[to] - sums[from]
		return squares[to] - squares[from] - sum*sum/float64(to-from)
	}
	cheapest, last := make([]float64, n+1), make([]int, n+1)
	cheapest[0] = -penalty
	candidates := []int{0}
	for to := least; to <= n; to++ {
		cheapest[to] = math.Inf(1)
		for _, from := range candidates {
			if to-from < least {
				continue
			}
			if c := cheapest[from] + cost(from, to) + penalty; c < cheapest[to] {
				cheapest[to], last[to] = c, from
			}
		}
		candidates = slices.DeleteFunc(candidates, func(from int) bool {
			return to-from >= least && cheapest[from]+cost(from, to) > cheapest[to]
		})
		if next := to - least + 1; next >= least {
			candidates = append(candidates, next)
		}
	}
	bounds := []int{n}
	for at := n; at > 0; at = last[at] {
		bounds = append(bounds, last[at])
	}
	slices.Reverse(bounds)
	return bounds
}

// below reports whether all levels from these bounds on have a mean below limit.
func below(values []float64, bounds []int, limit float64) bool {
	for i := 1; i < len(bounds); i++ {
		if meanOf(values[bounds[i-1]:bounds[i]]) >= limit {
			return false
		}
	}
	return true
}

// inflationOf is the ratio of a mean's variance to the variance of independent values' mean, from
// the correlation of neighbours within these parts.
func inflationOf(parts ...[]float64) float64 {
	var products, squares float64
	for _, part := range parts {
		mean := meanOf(part)
		for k, v := range part {
			squares += (v - mean) * (v - mean)
			if k > 0 {
				products += (v - mean) * (part[k-1] - mean)
			}
		}
	}
	if squares == 0 {
		return 1
	}
	r := min(max(products/squares, 0), maxCorrelation)
	return (1 + r) / (1 - r)
}

// rankTest is the probability that the values before exceed those after by chance. It uses the
// normal approximation, the correction for ties, and the inflated variance.
func rankTest(before, after []float64, inflation float64) float64 {
	all := slices.Concat(before, after)
	slices.Sort(all)
	n1, n2, n := float64(len(before)), float64(len(after)), float64(len(all))
	var u, ties float64
	for _, v := range before {
		low, _ := slices.BinarySearch(all, v)
		high, _ := slices.BinarySearch(all, math.Nextafter(v, math.Inf(1)))
		u += (float64(low+high) + 1) / 2
	}
	for i := 0; i < len(all); {
		k := i
		for k < len(all) && all[k] == all[i] {
			k++
		}
		t := float64(k - i)
		ties += t*t*t - t
		i = k
	}
	u -= n1 * (n1 + 1) / 2
	variance := n1 * n2 / 12 * (n + 1 - ties/(n*(n-1))) * inflation
	if variance <= 0 {
		return 1
	}
	return math.Erfc((u-n1*n2/2)/math.Sqrt(variance)/math.Sqrt2) / 2
}

func meanOf(values []float64) float64 {
	var sum float64
	for _, v := range values {
		sum += v
	}
	return sum / float64(len(values))
}
