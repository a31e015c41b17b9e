package measure

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"
)

// steps makes intervals of a second of a rate and a mean latency over time, t
// from 0 to 1.
func steps(n int, rate, millis func(t float64) float64) Steps {
	s := Steps{Seconds: 1}
	for i := range n {
		t := float64(i) / float64(n-1)
		s.Committed = append(s.Committed, int64(math.Round(max(rate(t), 0))))
		s.MeanMillis = append(s.MeanMillis, millis(t))
	}
	return s
}

func flat(level float64) func(float64) float64 { return func(float64) float64 { return level } }

func noisy(rng *rand.Rand, share float64, f func(float64) float64) func(float64) float64 {
	return func(t float64) float64 { return f(t) * math.Exp(share*rng.NormFloat64()) }
}

func ramp(from, to float64) func(float64) float64 {
	return func(t float64) float64 { return from + (to-from)*t }
}

// False alarms: of runs that only fluctuate, hardly any may be called
// unsteady. The p value alone would allow 2 % (two series at 0.01 each).
func TestFlatNoiseIsSteady(t *testing.T) {
	for n, seeds := range map[int]int{10: 1000, 30: 1000, 120: 300} {
		for _, share := range []float64{0.02, 0.10, 0.30, 0.60} {
			alarms := 0
			for seed := range uint64(seeds) {
				rng := rand.New(rand.NewPCG(seed, uint64(n)))
				got := JudgeSteadiness(steps(n, noisy(rng, share, flat(5000)), noisy(rng, share, flat(3))), DefaultLimits())
				if !got.Judged {
					t.Fatalf("not judged: %s", got.Text)
				}
				if !got.Steady {
					alarms++
				}
			}
			t.Logf("%d intervals, noise %.0f %%: %d false alarms in %d", n, 100*share, alarms, seeds)
			if alarms > seeds*3/100 {
				t.Errorf("%d intervals, noise %.0f %%: %d false alarms in %d", n, 100*share, alarms, seeds)
			}
		}
	}
}

// Noise that lags behind itself breaks the test's assumption; that a trend must
// be large then keeps the false alarms few.
func TestNoiseWithMemoryIsMostlySteady(t *testing.T) {
	const seeds = 1000
	alarms := 0
	for seed := range uint64(seeds) {
		rng := rand.New(rand.NewPCG(seed, 5))
		remembered := func(level float64) func(float64) float64 {
			state := rng.NormFloat64()
			return func(float64) float64 {
				state = 0.6*state + 0.8*rng.NormFloat64() // standard deviation 1
				return level * math.Exp(0.05*state)
			}
		}
		if !JudgeSteadiness(steps(60, remembered(5000), remembered(3)), DefaultLimits()).Steady {
			alarms++
		}
	}
	t.Logf("%d false alarms in %d", alarms, seeds)
	if alarms > seeds/100 {
		t.Errorf("%d false alarms in %d", alarms, seeds)
	}
}

func TestRampsAreCaught(t *testing.T) {
	const seeds = 200
	for _, c := range []struct {
		name         string
		n            int
		rate, millis func(float64) float64
		said         string
	}{
		{"throughput falls by a half", 20, ramp(2000, 1000), flat(3), "throughput changed by -"},
		{"throughput rises", 20, ramp(1000, 1500), flat(3), "throughput changed by +"},
		{"a warm-up that ends in the first quarter does not end soon enough", 60,
			func(t float64) float64 { return 2000 * min(1, 0.2+3*t*t+t) }, flat(3), "throughput"},
		{"an open loop whose queue grows", 20, flat(1000), ramp(2, 40), "mean latency changed by +"},
		{"latency falls", 20, flat(1000), ramp(9, 5), "mean latency changed by -"},
	} {
		missed := 0
		for seed := range uint64(seeds) {
			rng := rand.New(rand.NewPCG(seed, 77))
			got := JudgeSteadiness(steps(c.n, noisy(rng, 0.05, c.rate), noisy(rng, 0.05, c.millis)), DefaultLimits())
			if got.Steady || !got.Judged {
				missed++
			} else if !strings.Contains(got.Text, c.said) || !strings.HasPrefix(got.Text, "not steady over") {
				t.Errorf("%s: %q", c.name, got.Text)
			}
		}
		if missed > seeds/100 {
			t.Errorf("%s: missed %d of %d", c.name, missed, seeds)
		}
	}
}

// A trend must be certain and large.
func TestWhatIsNoTrend(t *testing.T) {
	limits := DefaultLimits()
	small := JudgeSteadiness(steps(60, ramp(1000, 1100), flat(3)), limits)
	if !small.Steady || small.Throughput.PValue > 1e-9 || math.Abs(small.Throughput.ChangeShare-0.095) > 0.005 {
		t.Errorf("certain but small: %+v", small)
	}
	uncertain := JudgeSteadiness(steps(10, func(t float64) float64 {
		return []float64{100, 300, 120, 320, 140, 340, 160, 360, 180, 380}[int(math.Round(t*9))]
	}, flat(3)), limits)
	if !uncertain.Steady || uncertain.Throughput.ChangeShare < 0.2 || uncertain.Throughput.PValue < 0.01 {
		t.Errorf("large but uncertain: %+v", uncertain)
	}
	// One pause, however long, is no trend.
	pause := JudgeSteadiness(steps(30, func(t float64) float64 {
		if t > 0.4 && t < 0.6 {
			return 0
		}
		return 1000
	}, flat(3)), limits)
	if !pause.Judged || !pause.Steady {
		t.Errorf("a pause: %+v", pause)
	}
}

func TestTooLittleToJudge(t *testing.T) {
	limits := DefaultLimits()
	for name, s := range map[string]Steps{
		"nothing":        {Seconds: 1},
		"nine intervals": steps(9, ramp(1, 1000), flat(3)),
		"mostly idle": steps(12, func(t float64) float64 {
			if t < 0.5 {
				return 0
			}
			return 100
		}, flat(3)),
	} {
		got := JudgeSteadiness(s, limits)
		if got.Judged || got.Steady || !strings.HasPrefix(got.Text, "not judged: ") {
			t.Errorf("%s: %+v", name, got)
		}
	}
	if got := JudgeSteadiness(steps(10, ramp(1000, 2000), flat(3)), limits); !got.Judged || got.Steady {
		t.Errorf("ten intervals are enough: %+v", got)
	}
	limits.MinIntervals = 0
	for n := 1; n < 5; n++ {
		if got := JudgeSteadiness(Steps{Seconds: 1, Committed: []int64{1, 2, 3, 4}[:n], MeanMillis: []float64{1, 1, 1, 1}[:n]}, limits); got.Judged != (n >= 3) {
			t.Errorf("%d intervals: %+v", n, got)
		}
	}
}

// Values with ties, whose Kendall's S is counted by hand.
func TestMannKendallByHand(t *testing.T) {
	values := []float64{10, 22, 21, 30, 22, 30, 22, 40, 30, 40}
	// Ties: 22 three times, 30 three times, 40 twice.
	if got, want := kendallVariance(values), (10*9*25.0-2*3*2*11-2*1*9)/18; got != want {
		t.Errorf("variance %v, want %v", got, want)
	}
	times := make([]float64, len(values))
	for i := range times {
		times[i] = float64(i)
	}
	got := trendOf(times, values)
	// Later and larger minus later and smaller, value by value: 9, 5-1, 7, 2-2,
	// 4, 2-1, 3, 0-1, 1.
	const s = 28
	want := math.Erfc((s - 1) / math.Sqrt(kendallVariance(values)) / math.Sqrt2)
	if math.Abs(got.PValue-want) > 1e-12 || got.Median != 26 {
		t.Errorf("p %v, want %v; median %v", got.PValue, want, got.Median)
	}
	for name, c := range map[string]struct{ values, change float64 }{"up": {1, 0.9 * 2}, "down": {-1, -0.9 * 2}} {
		line := make([]float64, 10)
		for i := range line {
			line[i] = 5 + c.values*(float64(i)-4.5)
		}
		trend := trendOf(times, line)
		if math.Abs(trend.ChangeShare-c.change) > 1e-12 || trend.PValue > 1e-4 {
			t.Errorf("%s: %+v, want a change of %v", name, trend, c.change)
		}
	}
	if none := trendOf(times[:4], []float64{1, 3, 3, 1}); none.PValue != 1 {
		t.Errorf("as many up as down: %+v", none)
	}
	if same := trendOf(times, []float64{4, 4, 4, 4, 4, 4, 4, 4, 4, 4}); same.PValue != 1 || same.ChangeShare != 0 {
		t.Errorf("equal values: %+v", same)
	}
}

func TestSpread(t *testing.T) {
	rng := rand.New(rand.NewPCG(9, 9))
	values := make([]float64, 20_000)
	for i := range values {
		values[i] = 100 + 7*rng.NormFloat64()
	}
	mad, deviation := spread(values)
	if math.Abs(mad-0.07) > 0.002 || math.Abs(deviation-0.07) > 0.002 {
		t.Errorf("normal noise of 7 %%: spread %v, deviation %v", mad, deviation)
	}
	mad, deviation = spread([]float64{10, 10, 11, 9, 10, 1000})
	if mad > 0.16 || deviation < 10 {
		t.Errorf("with an outlier: spread %v, deviation %v", mad, deviation)
	}
}
