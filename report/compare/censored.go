package compare

import (
	"cmp"
	"math"
	"slices"

	"assay/report"
)

// observation is a figure of a run. One that the run's end cut is not less than its value, and
// no more is known of it.
type observation struct {
	value float64
	cut   bool
}

// cut reports whether the run's end cut its figure of the metric. Of several outages that one is
// cut is enough: it may have become the longest.
func (m metric) cut(r *report.Result) bool {
	of := func(is func(*report.Fault) bool) bool {
		return slices.ContainsFunc(r.Faults, func(f report.Fault) bool { return !f.Skipped && is(&f) })
	}
	switch a := r.Availability; m.name {
	case outageName:
		return of(func(f *report.Fault) bool { return f.WritesAway }) || a != nil && a.WritesAway
	case readOutageName:
		return of(func(f *report.Fault) bool { return f.ReadsAway }) || a != nil && a.ReadsAway
	case longestCallName:
		return of(func(f *report.Fault) bool { return f.LongestCallCut })
	}
	return false
}

// surely reports whether a is longer than b, whatever was cut off either.
func (a observation) surely(b observation) bool {
	return !b.cut && (a.value > b.value || a.value == b.value && a.cut)
}

// mostArrangements is up to how many ways to divide the runs between the groups are gone through.
// Beyond it the normal distribution tells the tail.
const mostArrangements = 200_000

// gehan is the two-sided P of the generalized Wilcoxon test for censored values (E. Gehan, "A
// generalized Wilcoxon test for comparing arbitrarily singly-censored samples", Biometrika 52,
// 1965), by Mantel's scores: for each value how many are surely less, less how many are surely
// greater (N. Mantel, "Ranking procedures for arbitrarily restricted observation", Biometrics 23,
// 1967). P is over all ways to divide the values between the groups, which is exact where runs of
// both groups end as late. Without cut values it is the U test.
func gehan(x, y []observation) float64 {
	all := slices.Concat(x, y)
	scores := make([]float64, len(all))
	for i, a := range all {
		for _, b := range all {
			switch {
			case a.surely(b):
				scores[i]++
			case b.surely(a):
				scores[i]--
			}
		}
	}
	var sum, squares float64
	for i, s := range scores {
		squares += s * s
		if i < len(x) {
			sum += s
		}
	}
	n, m := float64(len(x)), float64(len(y))
	ways := 1.0
	for i := range x {
		ways *= (n + m - float64(i)) / float64(i+1)
	}
	switch {
	case squares == 0:
		return 1
	case ways > mostArrangements:
		deviation := math.Sqrt(n * m * squares / ((n + m) * (n + m - 1)))
		return math.Erfc(math.Abs(sum) / deviation / math.Sqrt2)
	}
	asFar, count := 0.0, 0.0
	var divide func(from, left int, part float64)
	divide = func(from, left int, part float64) {
		if left == 0 {
			if count++; math.Abs(part) >= math.Abs(sum) {
				asFar++
			}
			return
		}
		for i := from; i <= len(scores)-left; i++ {
			divide(i+1, left-1, part+scores[i])
		}
	}
	divide(0, len(x), 0)
	return asFar / count
}

// cutAt reports whether a figure at this value in the order of these is only a lower bound: one
// that is not above it was cut, and may belong above it.
func cutAt(all []observation, value float64) bool {
	return slices.ContainsFunc(all, func(o observation) bool { return o.cut && o.value <= value })
}

// upperMiddle is the greater of the two values in the middle, or the one.
func upperMiddle(all []observation) float64 {
	sorted := slices.SortedFunc(slices.Values(all), func(a, b observation) int { return cmp.Compare(a.value, b.value) })
	return sorted[len(sorted)/2].value
}
