package measure

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

// exact is the nearest-rank quantile of sorted values.
func exact(sorted []int64, q float64) int64 {
	rank := int(math.Ceil(q * float64(len(sorted))))
	if back := float64(rank-1) / float64(len(sorted)); rank > 1 && math.Abs(back-q) < 1e-12 {
		rank-- // a rounding error above a whole rank
	}
	return sorted[max(rank, 1)-1]
}

// within reports whether a figure is the true value as far as the histogram's
// precision goes: not below it, and above it by at most one part in 10^digits
// or 512 ns.
func within(got, want int64, digits int) bool {
	return got >= want && float64(got-want) <= max(512, float64(want)/math.Pow10(digits))
}

func TestQuantilesAgreeWithSortedSamples(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	shapes := map[string]func() int64{
		"constant":    func() int64 { return 3_000_000 },
		"uniform":     func() int64 { return rng.Int64N(50_000_000) },
		"exponential": func() int64 { return int64(rng.ExpFloat64() * 2e6) },
		"lognormal":   func() int64 { return int64(math.Exp(rng.NormFloat64()*1.5 + 14)) },
		"two peaks":   func() int64 { return []int64{900_000, 45_000_000_000}[rng.IntN(2)] + rng.Int64N(1000) },
		"tiny":        func() int64 { return rng.Int64N(5000) },
	}
	for name, draw := range shapes {
		for _, digits := range []int{fine, coarse} {
			for _, n := range []int{1, 2, 3, 10, 31, 99, 100, 101, 5000} {
				d := newDistribution(digits)
				var values []int64
				var sum float64
				for range n {
					v := draw()
					d.record(v)
					values = append(values, v)
					sum += float64(v)
				}
				slices.Sort(values)
				for _, q := range []float64{0, 0.001, 0.25, 0.5, 0.9, 0.95, 0.99, 0.999, 1} {
					if got, want := d.quantile(q), exact(values, q); !within(got, want, digits) || got > values[n-1] {
						t.Errorf("%s, %d values, %d digits: quantile %v is %d, want %d", name, n, digits, q, got, want)
					}
				}
				l := d.latency()
				if l.Count != int64(n) || l.Max != float64(values[n-1])/1e6 {
					t.Errorf("%s: count %d, max %v; want %d, %v", name, l.Count, l.Max, n, values[n-1])
				}
				if want := sum / float64(n) / 1e6; math.Abs(l.Mean-want) > 1e-9*want {
					t.Errorf("%s: mean %v, want %v", name, l.Mean, want)
				}
			}
		}
	}
}

func TestNearestRankHasNoOffByOne(t *testing.T) {
	for n := int64(1); n <= 300; n++ {
		d := newDistribution(fine)
		for i := range n {
			d.record((i + 1) * int64(leastTold) * 2) // far enough apart to be told apart
		}
		for percent := int64(1); percent <= 100; percent++ {
			rank := (percent*n + 99) / 100
			if got := d.quantile(float64(percent) / 100); !within(got, rank*int64(leastTold)*2, fine) {
				t.Fatalf("%d %% of %d is %d ns, want rank %d", percent, n, got, rank)
			}
		}
	}
}

func TestOutOfRangeIsClampedAndCounted(t *testing.T) {
	d := newDistribution(fine)
	d.record(-5)
	d.record(int64(MaxTrackable))
	d.record(int64(3 * MaxTrackable))
	l := d.withCurve()
	if l.Count != 3 || l.OutOfRange != 2 {
		t.Errorf("count %d, out of range %d", l.Count, l.OutOfRange)
	}
	hour := float64(MaxTrackable / time.Millisecond)
	if l.Max != 3*hour || l.P50 < hour || l.P50 > hour*1.001 {
		t.Errorf("max %v, p50 %v ms", l.Max, l.P50)
	}
	if want := 4 * hour / 3; math.Abs(l.Mean-want) > 1e-6 {
		t.Errorf("mean %v, want %v", l.Mean, want)
	}
	if last := d.quantile(1); last != int64(3*MaxTrackable) {
		t.Errorf("greatest %d", last)
	}
	if first := d.quantile(0); first < 0 || first > 512 {
		t.Errorf("least %d", first)
	}
}

func TestNothingIsZero(t *testing.T) {
	if l := newDistribution(fine).withCurve(); l.Count != 0 || l.P999 != 0 || l.Max != 0 || len(l.Curve) != 0 {
		t.Errorf("got %+v", l)
	}
}

func TestMergeIsTheSameAsRecordingAllInOne(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	whole, parts := newDistribution(fine), newDistribution(fine)
	for range 5 {
		part := newDistribution(fine)
		for range 1000 {
			v := int64(rng.ExpFloat64()*1e7) - 1000
			whole.record(v)
			part.record(v)
		}
		parts.merge(part)
	}
	a, b := whole.latency(), parts.latency()
	if math.Abs(a.Mean-b.Mean) > 1e-9*a.Mean {
		t.Errorf("means %v and %v", a.Mean, b.Mean)
	}
	a.Mean, b.Mean = 0, 0
	if a.P99 != b.P99 || a.Max != b.Max || a.OutOfRange != b.OutOfRange || a.Count != b.Count || a.OutOfRange == 0 {
		t.Errorf("in one: %+v\nmerged: %+v", a, b)
	}
	parts.reset()
	if l := parts.latency(); l.Count != 0 || l.Max != 0 || l.OutOfRange != 0 || parts.sum != 0 {
		t.Errorf("after reset: %+v", l)
	}
}

func TestCurve(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	for _, n := range []int{1, 2, 10, 1000, 200_000} {
		d := newDistribution(fine)
		var values []int64
		for range n {
			v := int64(rng.ExpFloat64() * 5e6)
			d.record(v)
			values = append(values, v)
		}
		slices.Sort(values)
		curve := d.withCurve().Curve
		if len(curve) > curvePoints+1 || n >= 1000 && len(curve) < 60 {
			t.Errorf("%d values: %d points", n, len(curve))
		}
		for i, p := range curve {
			if !within(int64(math.Round(p[1]*1e6)), exact(values, p[0]), fine) {
				t.Errorf("%d values: %v ms at %v, want %d ns", n, p[1], p[0], exact(values, p[0]))
			}
			if i > 0 && (p[0] <= curve[i-1][0] || p[1] < curve[i-1][1]) {
				t.Errorf("%d values: point %v follows %v", n, p, curve[i-1])
			}
		}
		if last := curve[len(curve)-1]; last[0] != 1 || last[1] != float64(values[n-1])/1e6 {
			t.Errorf("%d values: the curve ends at %v", n, last)
		}
	}
	// It reaches as far into the tail as there are values.
	d := newDistribution(fine)
	for i := range int64(100_000) {
		d.record(i * 1000)
	}
	curve := d.withCurve().Curve
	if beyond := curve[len(curve)-2][0]; beyond < 0.9999 {
		t.Errorf("the last share before 1 is %v", beyond)
	}
}
