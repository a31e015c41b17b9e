package measure

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"assay/history"
)

// seriesOf makes a series of rates a second, all in the measured part.
func seriesOf(rates []float64) Series {
	s := Series{IntervalSeconds: 0.5}
	for i, r := range rates {
		s.Start = append(s.Start, 10+float64(i)*0.5)
		s.Committed = append(s.Committed, int64(math.Round(max(r, 0)*0.5)))
		s.Whole = append(s.Whole, true)
	}
	return s
}

// wavering is a level with first-order autocorrelated noise around it, and a pause
// now and then, if there are to be any.
func wavering(r *rand.Rand, n int, deviation, correlation, pauses float64, level func(i int) float64) []float64 {
	out := make([]float64, n)
	state := r.NormFloat64()
	for i := range out {
		state = correlation*state + math.Sqrt(1-correlation*correlation)*r.NormFloat64()
		out[i] = level(i) * (1 + deviation*state)
		if r.Float64() < pauses {
			out[i] = 0
		}
	}
	return out
}

// TestNoiseIsNoDegradation: of 1,000 flat series of each kind at most 5 (the
// bound stated is 1 %) may be taken for one.
func TestNoiseIsNoDegradation(t *testing.T) {
	for name, kind := range map[string]struct {
		n                              int
		deviation, correlation, pauses float64
	}{
		"short":               {30, 0.1, 0, 0},
		"white, 5 %":          {200, 0.05, 0, 0},
		"white, 40 %":         {200, 0.4, 0, 0},
		"long":                {600, 0.2, 0, 0},
		"correlated by 0.5":   {240, 0.2, 0.5, 0},
		"correlated by 0.8":   {240, 0.2, 0.8, 0},
		"with pauses":         {240, 0.1, 0.3, 0.02},
		"correlated and long": {600, 0.3, 0.7, 0.01},
	} {
		r := rand.New(rand.NewPCG(1, 2))
		found := 0
		for range 1000 {
			if FindDegradation(seriesOf(wavering(r, kind.n, kind.deviation, kind.correlation, kind.pauses, func(int) float64 { return 2000 }))).Found {
				found++
			}
		}
		t.Logf("%s: %d of 1000 flat series have a point of degradation", name, found)
		if found > 5 {
			t.Errorf("%s: %d of 1000 flat series have a point of degradation", name, found)
		}
	}
}

// TestFallsAreFound where they are.
func TestFallsAreFound(t *testing.T) {
	for name, test := range map[string]struct {
		n     int
		level func(i int) float64
		at    int // 0 for none
		least int // of 200
		white bool
	}{
		"a quarter":                 {240, func(i int) float64 { return pick(i < 100, 2000, 1500) }, 100, 198, false},
		"a half, short":             {40, func(i int) float64 { return pick(i < 20, 2000, 1000) }, 20, 185, true},
		"ramp, then a fall":         {240, func(i int) float64 { return pick(i < 150, 500+10*float64(min(i, 100)), 1000) }, 150, 190, false},
		"to nothing":                {100, func(i int) float64 { return pick(i < 70, 2000, 0) }, 70, 198, false},
		"comes back":                {240, func(i int) float64 { return pick(i < 100 || i > 150, 2000, 1000) }, 0, 198, false},
		"a twentieth":               {240, func(i int) float64 { return pick(i < 100, 2000, 1900) }, 0, 198, false},
		"a rise":                    {240, func(i int) float64 { return pick(i < 100, 1000, 2000) }, 0, 198, false},
		"a pause at the very end":   {240, func(i int) float64 { return pick(i < 230, 2000, 0) }, 0, 198, false},
		"two falls, the larger one": {240, func(i int) float64 { return pick(i < 80, 2000, pick(i < 160, 1700, 600)) }, 160, 190, false},
	} {
		r := rand.New(rand.NewPCG(3, 4))
		right := 0
		var last Degradation
		for range 200 {
			d := FindDegradation(seriesOf(wavering(r, test.n, 0.08, pick(test.white, 0, 0.3), 0, test.level)))
			place := int(math.Round((d.AtSeconds - 10) / 0.5))
			if d.Found == (test.at > 0) && (!d.Found || place >= test.at-5 && place <= test.at+5 && d.Before > d.After) {
				right++
			} else {
				last = d
			}
		}
		t.Logf("%s: %d of 200 are right", name, right)
		if right < test.least {
			t.Errorf("%s: %d of 200 are right, one that is not: %v", name, right, last)
		}
	}
}

func pick(first bool, a, b float64) float64 {
	if first {
		return a
	}
	return b
}

func TestFewOrEqualIntervals(t *testing.T) {
	for _, n := range []int{0, 1, 29, 30, 200} {
		rates := make([]float64, n)
		for i := range rates {
			rates[i] = 1000
		}
		if d := FindDegradation(seriesOf(rates)); d.Found || d.Intervals != n {
			t.Errorf("%d equal intervals: %+v", n, d)
		}
	}
	rates := make([]float64, 29)
	for i := range rates {
		rates[i] = float64(100 * (29 - i))
	}
	if FindDegradation(seriesOf(rates)).Found {
		t.Error("29 intervals are enough")
	}
	// Without any noise but the fall itself.
	clean := make([]float64, 100)
	for i := range clean {
		clean[i] = pick(i < 40, 1000, 500)
	}
	d := FindDegradation(seriesOf(clean))
	if !d.Found || d.AtSeconds != 30 || d.Before != 1000 || d.After != 500 {
		t.Errorf("a clean fall: %+v", d)
	}
	// What is not wholly measured does not count.
	s := seriesOf(clean)
	for i := range s.Whole {
		s.Whole[i] = i >= 40
	}
	if d := FindDegradation(s); d.Found || d.Intervals != 60 {
		t.Errorf("a fall before the measured part: %+v", d)
	}
}

// TestOneIntervalIsNotMany: counts agree with their words.
func TestOneIntervalIsNotMany(t *testing.T) {
	if text := (Degradation{Intervals: 1}).String(); !strings.Contains(text, "has 1 whole interval, and") {
		t.Errorf("%q", text)
	}
	v := Judge(Figures{Measured: history.Counts{Committed: 1}, Scope: Scope{MeasureEnd: 1e9}}, Conditions{CPUShare: -1}, DefaultLimits())
	if text := strings.Join(v.Reasons, "; "); !strings.Contains(text, "1 operation was committed in the measured part") {
		t.Errorf("%q", text)
	}
}
