package load

import (
	"math"
	"testing"
	"time"
)

// allOf takes all arrivals.
func allOf(a *arrivals) (due []int64) {
	for at, ok := a.due(); ok; at, ok = a.due() {
		due = append(due, at)
		a.take()
	}
	return due
}

// Rate times seconds, and not one more: the end of the run belongs to no
// arrival.
func TestArrivalsAreHalfOpen(t *testing.T) {
	for _, c := range []struct {
		rate             float64
		warmup, duration time.Duration
		want             int
	}{
		{10, 0, 5 * time.Second, 50},
		{500, 0, 2 * time.Second, 1000},
		{500, time.Second, 2 * time.Second, 1500},
		{3, 0, time.Second, 3},
		{7, 0, 11 * time.Second, 77},
		{0.3, 0, 10 * time.Second, 3},
		{10, 0, 5*time.Second + 1, 51},
		{10, 0, 5*time.Second - 1, 50},
		{10_000_000, 0, 20 * time.Millisecond, 200_000},
		{1, 0, time.Nanosecond, 1},
	} {
		p := Plan{Rate: c.rate, Arrivals: Uniform, Warmup: c.warmup, Duration: c.duration}
		due := allOf(newArrivals(p))
		if len(due) != c.want || due[0] != 0 || due[len(due)-1] >= int64(c.warmup+c.duration) {
			t.Errorf("%g/s for %v and %v: %d arrivals, want %d; the last at %d", c.rate, c.warmup, c.duration, len(due), c.want, due[len(due)-1])
		}
		end := int64(c.warmup + c.duration)
		if n := newArrivals(p).countBetween(0, end); n != int64(c.want) {
			t.Errorf("%g/s for %v and %v: counted %d, want %d", c.rate, c.warmup, c.duration, n, c.want)
		}
	}
}

// No error adds up over a long run.
func TestUniformArrivalsKeepTheirPlaces(t *testing.T) {
	a := newArrivals(Plan{Rate: 3, Arrivals: Uniform, Duration: 1000 * time.Hour})
	for n := int64(0); n < 10_000_000; n += 999_999 {
		if got, want := a.uniform(3*n), n*int64(time.Second); got != want {
			t.Fatalf("arrival %d is due at %d, want %d", 3*n, got, want)
		}
	}
}

// What nobody took is counted where it was due, the end excluded.
func TestArrivalsAreCountedWhereTheyWereDue(t *testing.T) {
	for _, arrival := range []Arrivals{Uniform, Poisson} {
		p := Plan{Rate: 1000, Arrivals: arrival, Seed: 3, Warmup: time.Second, Duration: 2 * time.Second}
		due := allOf(newArrivals(p))
		for _, c := range []struct {
			taken    int
			from, to int64
		}{
			{0, 0, 3e9}, {0, 1e9, 3e9}, {0, 1e9, 1e9}, {0, 2e9, 1e9}, {500, 0, 3e9}, {500, 1e9, 3e9}, {1500, 1e9, 3e9},
			{1500, 1e9, 2e9}, {2500, 1e9, 2e9}, {100, due[700], due[900]}, {100, due[700] + 1, due[900] + 1}, {0, 0, 1e12},
		} {
			want := int64(0)
			for i, at := range due {
				if i >= c.taken && at >= c.from && at < c.to {
					want++
				}
			}
			a := newArrivals(p)
			for range c.taken {
				a.take()
			}
			if got := a.countBetween(c.from, c.to); got != want {
				t.Errorf("%s, %d taken: %d in [%d, %d), want %d", arrival, c.taken, got, c.from, c.to, want)
			}
		}
	}
}

// With a number of operations as many are due in the measured part as that.
func TestArrivalsEndWithTheOperations(t *testing.T) {
	for _, arrival := range []Arrivals{Uniform, Poisson} {
		p := Plan{Rate: 100, Arrivals: arrival, Seed: 3, Warmup: time.Second, Ops: 70}
		measured := 0
		for _, at := range allOf(newArrivals(p)) {
			if at >= int64(p.Warmup) {
				measured++
			}
		}
		left := newArrivals(p).countBetween(int64(p.Warmup), 1e12)
		if measured != 70 || left != 70 {
			t.Errorf("%s: %d arrivals are due in the measured part, and %d are counted, want 70", arrival, measured, left)
		}
	}
}

func TestArrivalsFollowTheirLaw(t *testing.T) {
	p := Plan{Rate: 1000, Arrivals: Poisson, Seed: 5, Ops: 100_000}
	due, again := allOf(newArrivals(p)), allOf(newArrivals(p))
	n := len(due)
	if n != 100_000 || n != len(again) {
		t.Fatalf("%d and %d arrivals", n, len(again))
	}
	var last int64
	var over int
	for i, at := range due {
		if at != again[i] {
			t.Fatal("the arrivals of one seed differ")
		}
		if float64(at-last) > 1e6 {
			over++
		}
		last = at
	}
	if mean := float64(last) / float64(n-1); math.Abs(mean-1e6) > 2e4 {
		t.Errorf("mean gap %.0f ns, want 1000000", mean)
	}
	if share := float64(over) / float64(n); math.Abs(share-math.Exp(-1)) > 0.01 {
		t.Errorf("%.3f of the gaps are above the mean, want 1/e", share)
	}
}
