package scalability

import (
	"errors"
	"math"
	"math/rand/v2"
	"testing"

	"assay/internal/expect"
)

// load is throughput by clients.
type load func(clients float64) float64

func law(sigma, kappa float64) load {
	return func(n float64) float64 { return coefficients{100, sigma, kappa}.at(n) }
}

// ramped is a ramp of so many windows from 1 to 100 clients, with noise as a share of the
// throughput and a correlation between neighbours.
func ramped(at load, windows int, share, correlation float64, seed uint64) (points []Point) {
	rng := rand.New(rand.NewPCG(seed, 5))
	noise := rng.NormFloat64()
	for i := range windows {
		clients := 1 + 99*float64(i)/float64(windows-1)
		noise = correlation*noise + math.Sqrt(1-correlation*correlation)*rng.NormFloat64()
		points = append(points, Point{clients, max(0, at(clients)*(1+share*noise))})
	}
	return points
}

// TestKneeRates measures how often the answer is wrong. A wrong answer is a knee where the
// throughput grows to the end, none where it does not, and a knee beyond what its curve
// allows.
func TestKneeRates(t *testing.T) {
	curves := map[string]struct {
		at load
		// reached is whether there is a knee, which is between low and high clients.
		reached   bool
		low, high float64
		// known is the least share of answers that are not KneeNotKnown, in percent.
		known int
	}{
		"a line":                       {func(n float64) float64 { return 100 * n }, false, 0, 0, 40},
		"little contention":            {law(0.01, 0), false, 0, 0, 30},
		"flat":                         {func(float64) float64 { return 1000 }, true, 1, 4, 100},
		"a bend at 5":                  {func(n float64) float64 { return 100 * min(n, 5) }, true, 3, 8, 95},
		"a bend at 30":                 {func(n float64) float64 { return 100 * min(n, 30) }, true, 22, 39, 95},
		"a bend at 60":                 {func(n float64) float64 { return 100 * min(n, 60) }, true, 50, 72, 50},
		"a bend at 40, then less":      {func(n float64) float64 { return 100*min(n, 40) - 30*max(n-40, 0) }, true, 33, 47, 95},
		"half from 50 on":              {func(n float64) float64 { return stepped(n, 50, 2500) }, true, 40, 51, 95},
		"contention":                   {law(0.05, 0), true, 10, 33, 80},
		"contention and coherency":     {law(0.02, 0.001), true, 10, 31, 95}, // its peak is at 31
		"coherency without contention": {law(0, 0.0004), true, 20, 50, 95},   // its peak is at 50
	}
	const seeds = 40
	for name, curve := range curves {
		for _, noise := range []struct {
			windows            int
			share, correlation float64
			// wrong is how many answers in a hundred may be.
			wrong int
		}{{100, 0.05, 0, 3}, {40, 0.05, 0.6, 5}, {100, 0.15, 0.3, 8}} {
			wrong, known := 0, 0
			for seed := range uint64(seeds) {
				k, err := FindKnee(ramped(curve.at, noise.windows, noise.share, noise.correlation, seed), seed)
				expect.NoError(t, err)
				reached := k.State == KneeReached || k.State == KneeFromStart
				if k.State == KneeNotKnown {
					continue
				}
				known++
				if reached != curve.reached || reached && (k.Clients.Value < curve.low || k.Clients.Value > curve.high) {
					wrong++
				}
			}
			if 100*wrong > noise.wrong*seeds || 100*known < curve.known*seeds {
				t.Errorf("%s, %+v: %d of %d answers are known, %d wrong", name, noise, known, seeds, wrong)
			}
		}
	}
}

func stepped(n, at, after float64) float64 {
	if n > at {
		return after
	}
	return 100 * n
}

// TestKneeInterval measures how often the interval holds the knee.
func TestKneeInterval(t *testing.T) {
	held := 0
	const seeds = 100
	for seed := range uint64(seeds) {
		k, err := FindKnee(ramped(func(n float64) float64 { return 100 * min(n, 30) }, 100, 0.1, 0, seed), seed)
		expect.NoError(t, err)
		if k.Clients.Low <= 30 && k.Clients.High >= 30 && k.PerSecond.Low <= 3000 && k.PerSecond.High >= 3000 {
			held++
		}
	}
	if held < 85 {
		t.Errorf("%d of %d intervals hold the knee", held, seeds)
	}
}

func TestKneeOfNoise(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for seed := range uint64(20) {
		points := ramped(func(float64) float64 { return 0 }, 60, 0, 0, seed)
		for i := range points {
			points[i].PerSecond = math.Abs(rng.NormFloat64()) * 100
		}
		if k, err := FindKnee(points, seed); err != nil || k.State == KneeNotReached {
			t.Errorf("noise has %+v, %v", k, err)
		}
	}
	k, err := FindKnee(ramped(func(float64) float64 { return 0 }, 60, 0, 0, 1), 1)
	if err != nil || k.State != KneeNotKnown {
		t.Errorf("nothing at all has %+v, %v", k, err)
	}
}

func TestKneeNeedsGrowth(t *testing.T) {
	few := ramped(law(0, 0), LeastKneePoints-1, 0, 0, 1)
	alike := ramped(law(0, 0), 100, 0, 0, 1)[60:]
	for _, points := range [][]Point{nil, few, alike} {
		if _, err := FindKnee(points, 1); !errors.Is(err, ErrNoGrowth) {
			t.Errorf("%d points: %v", len(points), err)
		}
	}
}

func TestKneeIsRepeated(t *testing.T) {
	points := ramped(law(0.05, 0), 60, 0.1, 0, 3)
	a, _ := FindKnee(points, 9)
	if b, _ := FindKnee(points, 9); a != b {
		t.Errorf("%+v and %+v", a, b)
	}
	fall, _ := FindKnee(ramped(func(n float64) float64 { return stepped(n, 50, 2500) }, 60, 0.05, 0, 3), 9)
	if !fall.Fall || fall.Gain.High >= 0 {
		t.Errorf("a fall to a half is %+v", fall)
	}
}
