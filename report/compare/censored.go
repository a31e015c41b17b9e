package compare

import (
	"cmp"
	"math"
	"slices"

	"assay/report"
)

// observation is a run's figure. A cut one is a lower bound: the run's end cut it.
type observation struct {
	value float64
	cut   bool
}

// cut reports whether the run's end cut the metric. One cut outage may be the longest.
func (m metric) cut(r *report.Result) bool {
	switch a := r.Availability; m.name {
	case outageName:
		return r.LongestOutage(false).AtLeast || a != nil && a.WritesAway
	case readOutageName:
		return r.LongestOutage(true).AtLeast || a != nil && a.ReadsAway
	case longestCallName:
		return slices.ContainsFunc(r.Faults, func(f report.Fault) bool { return !f.Skipped && f.LongestCallCut })
	}
	return false
}

// surely reports whether a is longer than b, whatever was cut off.
func (a observation) surely(b observation) bool {
	return !b.cut && (a.value > b.value || a.value == b.value && a.cut)
}

// mostDivided is the most runs for which all divisions between the groups are counted. Beyond it
// a normal distribution approximates the sum.
const mostDivided = 60

// probability is the two-sided P that equal groups lie this far apart, by the generalized
// Wilcoxon test for censored values (E. Gehan, "A generalized Wilcoxon test for comparing
// arbitrarily singly-censored samples", Biometrika 52, 1965). A value's score is the number of
// surely lesser values minus the number of surely greater ones (N. Mantel, "Ranking procedures
// for arbitrarily restricted observation", Biometrics 23, 1967). Without cut values that is the U
// test, or van Elteren's for several pairs. It is exact if the runs of both groups end at the
// same time.
func probability(pairs ...[2][]observation) (p float64) {
	sum, middle, chances := 0, 0, []float64{1}
	for _, one := range pairs {
		all, n := slices.Concat(one[0], one[1]), len(one[0])
		ranks := make([]int, len(all))
		for i, a := range all {
			ranks[i] = len(all) - 1
			for _, b := range all {
				switch {
				case a.surely(b):
					ranks[i]++
				case b.surely(a):
					ranks[i]--
				}
			}
			if i < n {
				sum += ranks[i]
			}
		}
		middle += n * (len(all) - 1)
		chances = joinedChances(chances, divisions(ranks, n))
	}
	for at, chance := range chances {
		if max(at-middle, middle-at) >= max(sum-middle, middle-sum) {
			p += chance
		}
	}
	return min(p, 1)
}

// divisions are the chances of each sum of n ranks drawn at random.
func divisions(ranks []int, n int) []float64 {
	sorted := slices.Sorted(slices.Values(ranks))
	most, all := 0, 0
	for i, rank := range sorted {
		if all += rank; i >= len(ranks)-n {
			most += rank
		}
	}
	if len(ranks) > mostDivided {
		return normalSums(ranks, n, most, float64(all)/float64(len(ranks)))
	}
	ways := make([][]float64, n+1) // to take so many of the ranks seen so far, by their sum
	for k := range ways {
		ways[k] = make([]float64, most+1)
	}
	ways[0][0] = 1
	for i, rank := range sorted {
		for k := min(i+1, n); k > 0; k-- {
			for sum := most; sum >= rank; sum-- {
				ways[k][sum] += ways[k-1][sum-rank]
			}
		}
	}
	return shares(ways[n])
}

// normalSums approximates divisions for ranks with this mean.
func normalSums(ranks []int, n, most int, mean float64) []float64 {
	squares, of := 0.0, float64(len(ranks))
	for _, rank := range ranks {
		squares += (float64(rank) - mean) * (float64(rank) - mean)
	}
	variance := max(float64(n)*(of-float64(n))*squares/(of*(of-1)), 1e-9)
	sums := make([]float64, most+1)
	for at := range sums {
		away := float64(at) - float64(n)*mean
		sums[at] = math.Exp(-away * away / (2 * variance))
	}
	return shares(sums)
}

func shares(parts []float64) []float64 {
	whole := 0.0
	for _, part := range parts {
		whole += part
	}
	for i := range parts {
		parts[i] /= whole
	}
	return parts
}

func joinedChances(a, b []float64) []float64 {
	all := make([]float64, len(a)+len(b)-1)
	for i, p := range a {
		if p == 0 {
			continue
		}
		for j, q := range b {
			all[i+j] += p * q
		}
	}
	return all
}

// cutAt reports whether a value is a lower bound: a cut figure at or below it may be above it.
func cutAt(all []observation, value float64) bool {
	return slices.ContainsFunc(all, func(o observation) bool { return o.cut && o.value <= value })
}

func upperMiddle(all []observation) float64 {
	sorted := slices.SortedFunc(slices.Values(all), func(a, b observation) int { return cmp.Compare(a.value, b.value) })
	return sorted[len(sorted)/2].value
}
