package measure

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"
)

// steps makes intervals of a second of a rate and a typical latency over time, t
// from 0 to 1.
func steps(n int, rate, millis func(t float64) float64) Steps {
	s := Steps{Seconds: 1}
	for i := range n {
		t := float64(i) / float64(n-1)
		s.Committed = append(s.Committed, int64(math.Round(max(rate(t), 0))))
		s.TypicalMillis = append(s.TypicalMillis, millis(t))
	}
	return s
}

// tenths makes the intervals ten times as short.
func tenths(s Steps) Steps {
	s.Seconds = 0.1
	return s
}

// judged is the steadiness of a closed loop without faults.
func judged(s Steps) Steadiness { return judgeSteadiness(s, everyPosition(s), false, DefaultLimits()) }

func everyPosition(s Steps) []int {
	positions := make([]int, len(s.Committed))
	for i := range positions {
		positions[i] = i
	}
	return positions
}

func flat(level float64) func(float64) float64 { return func(float64) float64 { return level } }

// noisy multiplies by noise of this standard deviation and correlation between
// neighbours.
func noisy(rng *rand.Rand, share, correlation float64, f func(float64) float64) func(float64) float64 {
	state := rng.NormFloat64()
	return func(t float64) float64 {
		state = correlation*state + math.Sqrt(1-correlation*correlation)*rng.NormFloat64()
		return f(t) * (1 + share*state)
	}
}

func ramp(from, to float64) func(float64) float64 {
	return func(t float64) float64 { return from + (to-from)*t }
}

// noise is of a length, in tenths of a second, and a kind.
type noise struct {
	tenths             int
	share, correlation float64
}

// rate is the share of seeds that end in this state, for a throughput that
// drifts over its median by so much.
func (x noise) rate(drift float64, state SteadyState, seeds int) float64 {
	found := 0
	for seed := range uint64(seeds) {
		rng := rand.New(rand.NewPCG(seed, uint64(x.tenths)))
		s := tenths(steps(x.tenths, noisy(rng, x.share, x.correlation, ramp(50000*(1-drift/2), 50000*(1+drift/2))), flat(3)))
		if judged(s).State == state {
			found++
		}
	}
	return float64(found) / float64(seeds)
}

// A drift as large as the margin is called steady in at most 5 % of runs.
func TestFalseSteadyRate(t *testing.T) {
	const seeds = 300
	var sum, kinds float64
	for _, n := range []int{120, 300} {
		for _, share := range []float64{0.05, 0.15} {
			for _, correlation := range []float64{0, 0.3, 0.6} {
				for _, drift := range []float64{0.2, -0.2} {
					x := noise{n, share, correlation}
					got := x.rate(drift, Steady, seeds)
					sum, kinds = sum+got, kinds+1
					t.Logf("%+v, drift %g: %.1f %% are called steady", x, drift, 100*got)
					if got > 0.09 { // three standard errors of 300 draws above 5 %
						t.Errorf("%+v, drift %g: %.1f %% are called steady", x, drift, 100*got)
					}
				}
			}
		}
	}
	if sum/kinds > 0.05 {
		t.Errorf("%.1f %% of all are called steady", 100*sum/kinds)
	}
}

// Noise around a level is mostly shown to be one: the default run of 12 s bears
// 15 % between tenths of a second, and longer ones bear more.
func TestLevelNoiseIsSteady(t *testing.T) {
	const seeds = 200
	for _, c := range []struct {
		noise
		least float64
	}{
		{noise{120, 0.05, 0.6}, 0.97}, {noise{120, 0.10, 0.3}, 0.94}, {noise{120, 0.15, 0}, 0.92}, {noise{120, 0.15, 0.3}, 0.65},
		{noise{300, 0.15, 0.6}, 0.70}, {noise{600, 0.15, 0.6}, 0.95}, {noise{600, 0.30, 0.3}, 0.80},
	} {
		steady, against := c.rate(0, Steady, seeds), c.rate(0, NotSteady, seeds)
		t.Logf("%+v: %.1f %% are called steady, %.1f %% not steady", c.noise, 100*steady, 100*against)
		if steady < c.least || against > 0.02 {
			t.Errorf("%+v: %.1f %% are called steady, %.1f %% not steady", c.noise, 100*steady, 100*against)
		}
	}
}

// Absence of significance is no evidence of steadiness: what changed by half or
// more, with so much noise that it may be chance, is not shown.
func TestWhatIsNotShown(t *testing.T) {
	for name, rates := range map[string][]float64{
		"+154 %":  {100, 900, 300, 80, 1200, 250, 700, 1100, 150, 1000, 1500, 200},
		"-53.9 %": {1000, 400, 1100, 900, 300, 800, 950, 350, 700, 300, 650, 500},
	} {
		got := judged(steps(len(rates), func(t float64) float64 { return rates[int(math.Round(t*float64(len(rates)-1)))] }, flat(3)))
		if got.State == Steady || got.State == NotJudged {
			t.Errorf("%s: %+v", name, got)
		}
	}
	rng := rand.New(rand.NewPCG(3, 3))
	warming := judged(steps(60, noisy(rng, 0.05, 0.3, func(t float64) float64 { return 2000 * min(1, 0.2+3*t*t+t) }), flat(3)))
	if warming.State == Steady || warming.State == NotShown && !strings.Contains(warming.Text, "warm up longer") {
		t.Errorf("a warm-up that ends in the second quarter: %+v", warming)
	}
	got := judged(tenths(steps(120, noisy(rng, 0.30, 0.6, flat(5000)), flat(3))))
	if got.State != NotShown || !strings.HasPrefix(got.Text, "not shown within 20 %: over 12 s throughput changed by") ||
		!strings.Contains(got.Text, "spread") || !strings.Contains(got.Text, "longer") {
		t.Errorf("30 %% of noise in 12 s: %+v", got)
	}
}

func TestRampsAreCaught(t *testing.T) {
	const seeds = 100
	for _, c := range []struct {
		name         string
		n            int
		rate, millis func(float64) float64
		said         string
	}{
		{"throughput falls by a half", 20, ramp(2000, 1000), flat(3), "throughput changed by -"},
		{"throughput rises", 20, ramp(1000, 1900), flat(3), "throughput changed by +"},
		{"it falls for the last fifth", 120, func(t float64) float64 {
			if t > 0.8 {
				return 1400
			}
			return 2000
		}, flat(3), "throughput went from"},
		{"an open loop whose queue grows", 20, flat(1000), ramp(2, 40), "typical latency changed by +"},
		{"latency falls", 20, flat(1000), ramp(9, 5), "typical latency changed by -"},
	} {
		missed := 0
		for seed := range uint64(seeds) {
			rng := rand.New(rand.NewPCG(seed, 77))
			s := steps(c.n, noisy(rng, 0.05, 0.3, c.rate), noisy(rng, 0.05, 0.3, c.millis))
			got := judgeSteadiness(s, everyPosition(s), strings.HasPrefix(c.name, "an open loop"), DefaultLimits())
			if got.State != NotSteady {
				missed++
			} else if !strings.HasPrefix(got.Text, "not steady over") {
				t.Errorf("%s: %q", c.name, got.Text)
			} else if !strings.Contains(got.Text, c.said) {
				missed++
			}
		}
		if missed > seeds/10 {
			t.Errorf("%s: missed %d of %d", c.name, missed, seeds)
		}
	}
}

func TestWhatIsSteady(t *testing.T) {
	small := judged(steps(60, ramp(1000, 1100), flat(3)))
	if small.State != Steady || math.Abs(small.Throughput.Share-0.095) > 0.005 {
		t.Errorf("certain but small: %+v", small)
	}
	pause := judged(tenths(steps(300, func(t float64) float64 {
		if t > 0.5 && t < 0.51 {
			return 0
		}
		return 1000
	}, flat(3))))
	if pause.State != Steady {
		t.Errorf("a short pause: %+v", pause)
	}
	rng := rand.New(rand.NewPCG(5, 5))
	arrivals := steps(20, noisy(rng, 0.3, 0, flat(10)), noisy(rng, 0.03, 0, flat(3)))
	if got := judgeSteadiness(arrivals, everyPosition(arrivals), true, DefaultLimits()); got.State != Steady {
		t.Errorf("an open loop with few arrivals: %+v", got)
	}
	if got := judged(arrivals); got.State == Steady {
		t.Errorf("the same as a closed loop: %+v", got)
	}
}

func TestTooLittleToJudge(t *testing.T) {
	for name, s := range map[string]Steps{
		"nothing":      {Seconds: 1},
		"nine seconds": tenths(steps(99, ramp(1, 1000), flat(3))),
		"mostly idle": steps(12, func(t float64) float64 {
			if t < 0.5 {
				return 0
			}
			return 100
		}, flat(3)),
	} {
		if got := judged(s); got.State != NotJudged || !strings.HasPrefix(got.Text, "not judged: ") {
			t.Errorf("%s: %+v", name, got)
		}
	}
	if got := judged(tenths(steps(100, ramp(1000, 2000), flat(3)))); got.State != NotSteady {
		t.Errorf("ten seconds are enough: %+v", got)
	}
}

// A line through values by hand: slope 1, residuals 0.5 up and down.
func TestChangeByHand(t *testing.T) {
	var times, values []float64
	for i := range 12 {
		times, values = append(times, float64(i)), append(values, 100+float64(i)+[]float64{0.5, -0.5, -0.5, 0.5}[i%4])
	}
	got := changeOf(times, values, 12)
	if math.Abs(got.Share-12/got.Median) > 1e-9 || got.Median < 105 || got.Median > 106 {
		t.Errorf("%+v", got)
	}
	// The products of neighbouring residuals come to -1/12 of their squares, and the
	// correlation to (-1+1.2)/(12-4): inflated by 1.0513, t with 9.41 degrees of freedom,
	// s^2 = 12/4/10.
	half := 1.825 * math.Sqrt(0.3*1.0513/143) * 12 / got.Median
	if math.Abs(got.High-got.Share-half) > 0.005*half {
		t.Errorf("%+v, want half a width of %v", got, half)
	}
	if same := changeOf(times, make12(4), 12); same.Share != 0 || same.High != 0 {
		t.Errorf("equal values: %+v", same)
	}
}

func make12(v float64) []float64 {
	all := make([]float64, 12)
	for i := range all {
		all[i] = v
	}
	return all
}

func TestSpread(t *testing.T) {
	rng := rand.New(rand.NewPCG(9, 9))
	values := make([]float64, 20_000)
	for i := range values {
		values[i] = 100 + 7*rng.NormFloat64()
	}
	if got := spread(values); math.Abs(got-0.07) > 0.002 {
		t.Errorf("normal noise of 7 %%: spread %v", got)
	}
	if got := spread([]float64{10, 10, 11, 9, 10, 1000}); got > 0.16 {
		t.Errorf("with an outlier: spread %v", got)
	}
}
