package trend

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"
)

// Options of a search. The zero value is invalid: use Defaults.
type Options struct {
	// Window is how many values are compared at a time, at least 4, so that a change is not
	// compared with last year's values.
	Window int
	// MaxP is the largest P of a change point.
	MaxP float64
	// MinChange is the least change that counts, as a share: 0.05 for 5 %.
	MinChange float64
}

// Defaults are Apache Otava's.
func Defaults() Options { return Options{Window: 50, MaxP: 0.001} }

// ChangePoint is where the values changed.
type ChangePoint struct {
	Index int
	// Before and After are the means up to the neighbouring change points.
	Before, After float64
	// P is by Student's t-test, on a logarithmic scale if all values are above 0.
	P float64
}

// Change is After/Before - 1; not finite if Before is 0.
func (c ChangePoint) Change() float64 { return c.After/c.Before - 1 }

// magnitude is the larger of the change there and the change back.
func (c ChangePoint) magnitude() float64 {
	largest := 0.0
	for _, share := range []float64{c.Change(), c.Before/c.After - 1} {
		if !math.IsNaN(share) {
			largest = max(largest, math.Abs(share))
		}
	}
	return largest
}

// weaker multiplies the limit for candidates. Otava has 10, with a t-test that takes a sample's
// deviation for the population's and so finds more.
const weaker = 20

// Find returns the change points of a series in order, the same for the same series. It takes
// time proportional to the series' length times the window's square.
func Find(series []float64, o Options) []ChangePoint {
	// Candidates get a weaker limit first, since each is tested against all that follows in the
	// window, even behind the next change. Then each is tested against its neighbours alone.
	weak := o
	weak.MaxP = min(o.MaxP*weaker, max(0.1, o.MaxP))
	scaled := scale(series)
	return strongest(series, scaled, candidates(scaled, weak), o)
}

// scale takes the logarithm of positive figures. Times and rates change by factors, and the
// t-test would take their long tails for changes.
func scale(series []float64) []float64 {
	if len(series) == 0 || slices.Min(series) <= 0 {
		return series
	}
	logs := make([]float64, len(series))
	for i, v := range series {
		logs[i] = math.Log(v)
	}
	return logs
}

func candidates(series []float64, o Options) []int {
	var found []int
	for start := 0; start < len(series); {
		window := series[start:min(start+o.Window, len(series))]
		last := 0
		for _, i := range divide(window, o.MaxP) {
			last = start + i
			if !slices.Contains(found, last) {
				found = append(found, last)
			}
		}
		start = max(last, start+o.Window/2)
	}
	slices.Sort(found)
	return found
}

// divide splits a series where its parts differ most, and then the parts, while significant.
func divide(series []float64, maxP float64) []int {
	pairs := newDistances(series)
	var points []int
	for {
		bounds := slices.Concat([]int{0}, points, []int{len(series)})
		best, at, from, to := math.Inf(-1), 0, 0, 0
		for i := range len(bounds) - 1 {
			if split, divergence := pairs.split(bounds[i], bounds[i+1]); split > 0 && divergence > best {
				best, at, from, to = divergence, split, bounds[i], bounds[i+1]
			}
		}
		if at == 0 || !(probability(series[from:at], series[at:to]) <= maxP) {
			return points
		}
		points = append(points, at)
		slices.Sort(points)
	}
}

// strongest drops the weakest candidate until all are significant and large enough.
func strongest(series, scaled []float64, at []int, o Options) []ChangePoint {
	for {
		var points []ChangePoint
		for i, index := range at {
			from, to := 0, len(series)
			if i > 0 {
				from = at[i-1]
			}
			if i+1 < len(at) {
				to = at[i+1]
			}
			c := ChangePoint{Index: index, Before: stat.Mean(series[from:index], nil), After: stat.Mean(series[index:to], nil)}
			c.P = probability(scaled[from:index], scaled[index:to])
			points = append(points, c)
		}
		weakest, ok := worst(points, o)
		if !ok {
			return points
		}
		at = slices.Delete(at, weakest, weakest+1)
	}
}

// worst is the change point to drop: the one with the largest P above the limit, or else the one
// with the smallest change not above its limit. ok is false if there is none.
func worst(points []ChangePoint, o Options) (i int, ok bool) {
	largest, smallest := 0, 0
	for i, c := range points {
		if c.P > points[largest].P {
			largest = i
		}
		if c.magnitude() < points[smallest].magnitude() {
			smallest = i
		}
	}
	switch {
	case len(points) == 0:
		return 0, false
	case points[largest].P >= o.MaxP:
		return largest, true
	}
	return smallest, points[smallest].magnitude() <= o.MinChange
}

// probability is the two-sided P of Student's t-test with equal variances. Without any spread it
// is 1 for equal means, otherwise 0.
func probability(a, b []float64) float64 {
	meanA, meanB, free := stat.Mean(a, nil), stat.Mean(b, nil), float64(len(a)+len(b)-2)
	if free < 1 || meanA == meanB {
		return 1
	}
	pooled := (squares(a, meanA) + squares(b, meanB)) / free
	t := math.Abs(meanA-meanB) / math.Sqrt(pooled*(1/float64(len(a))+1/float64(len(b))))
	if math.IsInf(t, 1) {
		return 0
	}
	return 2 * distuv.StudentsT{Sigma: 1, Nu: free}.Survival(t)
}

func squares(values []float64, mean float64) (sum float64) {
	for _, v := range values {
		sum += (v - mean) * (v - mean)
	}
	return sum
}
