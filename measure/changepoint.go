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
	// Found is false if there is no such point, or too little to say.
	Found bool
	// AtSeconds is since the start of the run, at the beginning of the first
	// interval after the fall.
	AtSeconds float64
	// Before and After are committed operations a second: on the level from
	// which it fell, and from then to the end of the measured part. That level
	// begins where the fall is most certain.
	Before, After float64
	// PValue bounds the probability that noise of the same kind looks so, at
	// whatever place.
	PValue float64
	// Intervals is how many were looked at.
	Intervals int
}

// What a fall must be to count.
const (
	// minChangeIntervals is how many intervals of the measured part are needed.
	minChangeIntervals = 30
	// minLevel is the fewest intervals of a level, and minRest the least share
	// of all that a fall must last for.
	minLevel = 5
	minRest  = 0.1
	// minFall is the least fall as a share of the level before.
	minFall = 0.1
	// changePValue is the largest PValue.
	changePValue = 0.01

	// minLasting is the least share of the values that a level of jump must last for.
	minLasting = 0.1
	// jumpPValue is the largest probability that noise shows such a jump, smallPValue
	// the largest for a jump below the margin.
	jumpPValue, smallPValue = 0.003, 0.0005
)

// FindDegradation looks for the strongest fall of the throughput that lasted to
// the end of the measured part. It takes at most MaxPoints squared steps.
//
// The levels of the throughput are found by PELT (R. Killick, P. Fearnhead, I.
// Eckley, "Optimal detection of changepoints with a linear computational cost",
// JASA 107, 2012) with squared deviations from the level's mean as cost. That
// alone finds levels in noise too. So a fall counts only if it is by a tenth at
// least, if no later level comes back to within a tenth of the one before, if
// it lasts for a tenth of the intervals, and if the intervals before and after
// differ by the test of H. Mann and D. Whitney ("On a test of whether one of
// two random variables is stochastically larger than the other", Ann. Math.
// Stat. 18, 1947), which bears pauses and other outliers. Its statistic is
// reduced by as much as intervals that resemble their neighbours say less than
// independent ones (G. Bayley, J. Hammersley, "The effective number of
// independent observations in an autocorrelated time series", Suppl. J. R.
// Stat. Soc. 8, 1946, for a first-order process), and its p value multiplied by
// the number of pairs of places that a level could lie between (Bonferroni).
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

// jump finds the largest step that is above least and beyond this chance (see
// FindDegradation for the tests): between two neighbouring levels, or between all
// before the one and all from the other on.
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

// changePenalty times the noise's variance and the logarithm of the length is
// what one more level must save.
const changePenalty = 4

// noiseOf estimates the standard deviation around the levels from the
// differences of neighbours, which levels hardly change: the median absolute
// one, or where most neighbours are equal the root of the mean square.
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

// levels returns the bounds of the segments that cost least: the squared
// deviations from each one's mean, and the penalty for each. None has fewer than
// least values. The first bound is 0, the last the number of values; there are no bounds
// of too few values, or of values without noise.
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

// below reports whether all levels from these bounds on have a lower mean.
func below(values []float64, bounds []int, limit float64) bool {
	for i := 1; i < len(bounds); i++ {
		if meanOf(values[bounds[i-1]:bounds[i]]) >= limit {
			return false
		}
	}
	return true
}

// inflationOf says by how much the variance of a mean exceeds the variance of the mean
// of independent values, from the correlation of neighbours within these parts.
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

// rankTest is the probability that the values before are as much larger than
// those after by chance, with the normal approximation, the correction for
// ties, and the variance inflated.
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
