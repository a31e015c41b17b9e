package measure

import (
	"math/rand/v2"
	"testing"

	"assay/history"
)

// figures are the figures of a run of this kind, with response times as noisy as its throughput.
func (k kindOfRun) figures(seed uint64) Figures {
	f := Figures{Scope: Scope{MeasureEnd: int64(k.seconds * 1e9)}, Steps: k.steps(seed)}
	rng := rand.New(rand.NewPCG(seed, 7))
	typical := noisy(rng, k.share, k.correlation, flat(3))
	for i, n := range f.Steps.Committed {
		f.Measured.Committed += n
		f.Steps.TypicalMillis[i] = typical(0)
	}
	f.Latency = Latency{Count: f.Measured.Committed, P99: 9}
	f.Throughput = Throughput{PerSecond: float64(f.Measured.Committed) / k.seconds, Seconds: k.seconds}
	f.Throughput.setInterval(f.Steps, everyPosition(f.Steps))
	return f
}

func (k kindOfRun) judge(seed uint64) (Figures, Grade) {
	f := k.figures(seed)
	return f, Judge(f, Conditions{}, DefaultLimits()).Grade
}

// Noise around a level is called invalid in less than 2 of 100 runs, and wide exactly
// where the interval of the throughput is.
func TestNoiseIsNotInvalid(t *testing.T) {
	var invalid, all float64
	for _, k := range kindsOfRuns() {
		if k.trend != 0 || k.seconds > 60 {
			continue
		}
		for _, share := range []float64{0.1, 0.3} {
			k.share = share
			of := 0.0
			for seed := range uint64(*intervalRuns) {
				f, grade := k.judge(seed)
				if grade == Invalid {
					of++
				} else if wide := f.Throughput.Interval().Share(f.Throughput.PerSecond) > 0.1; (grade == Wide) != wide {
					t.Errorf("%+v: %v of an interval of %+v around %v", k, grade, f.Throughput.Interval(), f.Throughput.PerSecond)
				}
			}
			t.Logf("%+v: %.1f %% are called invalid", k, 100*of/float64(*intervalRuns))
			invalid, all = invalid+of, all+float64(*intervalRuns)
		}
	}
	if invalid/all >= 0.02 {
		t.Errorf("%.1f %% of all runs are called invalid", 100*invalid/all)
	}
}

// A drift of a fifth is found in 95 of 100 runs whose interval is within 2 %. Where it is
// not found, the interval is wider than that.
func TestDriftOfAFifthIsFound(t *testing.T) {
	var found, sure, foundUnsure, unsure float64
	for _, seconds := range []float64{12, 30, 60} {
		for _, correlation := range []float64{0, 0.3, 0.6, 0.8} {
			for _, share := range []float64{0.03, 0.06, 0.1} {
				for _, drift := range []float64{0.2, -0.2} {
					for seed := range uint64(*intervalRuns / 4) {
						f, grade := kindOfRun{seconds, share, correlation, drift}.judge(seed)
						is := 0.0
						if grade == Invalid {
							is = 1
						}
						if f.Throughput.Interval().Share(f.Throughput.PerSecond) <= 0.02 {
							found, sure = found+is, sure+1
						} else {
							foundUnsure, unsure = foundUnsure+is, unsure+1
						}
					}
				}
			}
		}
	}
	t.Logf("found in %.1f %% of %g runs with an interval within 2 %%, and in %.1f %% of the %g others", 100*found/sure, sure, 100*foundUnsure/unsure, unsure)
	if found/sure < 0.95 || sure < unsure/4 {
		t.Errorf("found in %.1f %% of %g runs, where %g others have a wider interval", 100*found/sure, sure, unsure)
	}
}

// Each reason of others than the noise still refuses the figures, and leaves no word of a
// wide interval.
func TestInvalidIsNotWide(t *testing.T) {
	k := kindOfRun{12, 0.3, 0.8, 0}
	f := k.figures(1)
	v := Judge(f, Conditions{}, DefaultLimits())
	if v.Grade != Wide || len(v.Reasons) != 1 {
		t.Fatalf("%+v", v)
	}
	v.Refuse()
	if v.Grade != Wide {
		t.Errorf("no reason: %+v", v)
	}
	v.Refuse("a fault did nothing: kill")
	if v.Grade != Invalid || len(v.Reasons) != 1 {
		t.Errorf("%+v", v)
	}
	busy := Judge(f, Conditions{OtherWork: OtherWork{Others: 0.5}}, DefaultLimits())
	f.Measured = history.Counts{Committed: 100, Failed: 100}
	failing := Judge(f, Conditions{}, DefaultLimits())
	for _, got := range []Validity{busy, failing} {
		if got.Grade != Invalid || len(got.Reasons) != 1 {
			t.Errorf("%+v", got)
		}
	}
}
