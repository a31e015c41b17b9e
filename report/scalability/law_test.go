package scalability

import (
	"errors"
	"math"
	"math/rand/v2"
	"testing"

	"assay/internal/expect"
)

func points(c coefficients, noise float64, seed uint64, loads ...float64) []Point {
	random := rand.New(rand.NewPCG(seed, 1))
	var all []Point
	for _, n := range loads {
		all = append(all, Point{n, c.at(n) * (1 + noise*random.NormFloat64())})
	}
	return all
}

func TestFitFindsTheLaw(t *testing.T) {
	want := coefficients{1000, 0.05, 0.001}
	law, err := Fit(points(want, 0, 0, 1, 2, 4, 8, 16, 32, 64), 1)
	expect.NoError(t, err)
	for name, pair := range map[string][2]float64{"lambda": {law.Lambda.Value, want.lambda}, "sigma": {law.Sigma.Value, want.sigma}, "kappa": {law.Kappa.Value, want.kappa}} {
		if math.Abs(pair[0]/pair[1]-1) > 1e-6 {
			t.Errorf("%s is %g, want %g", name, pair[0], pair[1])
		}
	}
	peak, measured := law.Peak()
	if math.Abs(peak-math.Sqrt(0.95/0.001)) > 1e-3 || !measured {
		t.Errorf("the peak is at %g, measured %v", peak, measured)
	}
	if law.Deviation > 1e-9 || law.Smallest != 1 || law.Largest != 64 {
		t.Errorf("%+v", law)
	}
}

// TestIntervalsHold: with noise of 5 %, the true values lie in nearly all intervals.
func TestIntervalsHold(t *testing.T) {
	want := coefficients{1000, 0.05, 0.001}
	const trials = 40
	var held int
	for seed := range uint64(trials) {
		law, err := Fit(points(want, 0.05, seed, 1, 1, 2, 2, 4, 4, 8, 8, 16, 16, 32, 32, 64, 64), seed)
		expect.NoError(t, err)
		if law.Kappa.Low <= want.kappa && want.kappa <= law.Kappa.High {
			held++
		}
	}
	if held < trials*8/10 {
		t.Errorf("kappa is in %d of %d intervals", held, trials)
	}
}

func TestWhatHasNoPeak(t *testing.T) {
	law, err := Fit(points(coefficients{500, 0, 0}, 0, 0, 1, 2, 4, 8), 1)
	expect.NoError(t, err)
	if peak, measured := law.Peak(); measured || math.Abs(law.At(8)/4000-1) > 1e-6 {
		t.Errorf("the peak of a straight line is at %g, %v; at 8 it is %g", peak, measured, law.At(8))
	}
	far, err := Fit(points(coefficients{500, 0.01, 1e-6}, 0, 0, 1, 2, 4, 8), 1)
	expect.NoError(t, err)
	if _, measured := far.Peak(); measured {
		t.Error("a peak beyond the points is called measured")
	}
	falling, err := Fit([]Point{{1, 1000}, {2, 900}, {4, 500}, {8, 200}}, 1)
	if err != nil || falling.Sigma.Value < 0 || falling.Kappa.Value < 0 {
		t.Errorf("%+v, %v", falling, err)
	}
}

func TestTooFewPoints(t *testing.T) {
	for _, few := range [][]Point{nil, {{1, 1}, {2, 2}, {4, 4}}, {{1, 1}, {1, 2}, {1, 3}, {1, 4}}, {{1, 0}, {2, 0}, {4, 0}, {8, 0}}, {{0, 1}, {2, 1}, {4, 1}, {8, 1}}} {
		if _, err := Fit(few, 1); !errors.Is(err, ErrTooFew) {
			t.Errorf("%v: %v", few, err)
		}
	}
}
