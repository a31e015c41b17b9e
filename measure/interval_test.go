package measure

import (
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"gonum.org/v1/gonum/stat/distuv"

	"assay/history"
)

var intervalRuns = flag.Int("interval.runs", 100, "simulated runs of each kind that the intervals are tried on")

// kindOfRun is a run of so many seconds whose throughput, or typical response time, has
// noise of a standard deviation and a correlation between neighbouring tenths of a
// second, around a trend.
type kindOfRun struct{ seconds, share, correlation, trend float64 }

func kindsOfRuns() []kindOfRun {
	var all []kindOfRun
	for _, seconds := range []float64{12, 30, 60, 600} {
		for _, correlation := range []float64{0, 0.3, 0.6, 0.8} {
			for _, trend := range []float64{0, 0.2} {
				all = append(all, kindOfRun{seconds, 0.1, correlation, trend})
			}
		}
	}
	return all
}

// steps are the steps of a run that commits 5,000 operations a second, as a Summary has
// them: as many tenths of a second go into one step as are needed for its length.
func (k kindOfRun) steps(seed uint64) Steps {
	rng := rand.New(rand.NewPCG(seed, math.Float64bits(k.seconds*k.correlation+k.trend)))
	length := int64(k.seconds * 1e9)
	width := niceInterval(length, 100*time.Millisecond)
	out := Steps{Seconds: float64(width) / 1e9, Committed: make([]int64, length/width)}
	rate := noisy(rng, k.share, k.correlation, ramp(500*(1-k.trend/2), 500*(1+k.trend/2)))
	tenths := int(length / (100 * ms))
	for i := range tenths {
		out.Committed[int64(i)*100*ms/width] += int64(math.Round(rate(float64(i) / float64(tenths-1))))
	}
	for range out.Committed {
		out.TypicalMillis = append(out.TypicalMillis, 3)
	}
	return out
}

// covered judges how many of the simulated intervals had the truth in them: with the
// default number of runs each kind may miss by what chance makes of so few, and all of
// them together may not.
func covered(t *testing.T, got map[string]float64, runs int) {
	t.Helper()
	chance := 3 * math.Sqrt(confidence*(1-confidence)/float64(runs))
	var sum float64
	for name, share := range got {
		t.Logf("%s: %.1f %%", name, 100*share)
		sum += share / float64(len(got))
		if share < 0.945-chance || share > 0.955+chance {
			t.Errorf("%s: %.1f %% of the intervals have the truth in them", name, 100*share)
		}
	}
	if sum < 0.93 || sum > 0.97 {
		t.Errorf("over all, %.1f %% of the intervals have the truth in them", 100*sum)
	}
}

// The interval of the throughput has the true mean in it in 93 to 97 of 100 runs, with
// and without a trend, whose mean over the run is what is estimated.
func TestIntervalsCover(t *testing.T) {
	got := map[string]float64{}
	for _, k := range kindsOfRuns() {
		for seed := range uint64(*intervalRuns) {
			x := Throughput{PerSecond: 5000}
			s := k.steps(seed)
			var committed int64
			for _, n := range s.Committed {
				committed += n
			}
			x.PerSecond = float64(committed) / k.seconds
			x.setInterval(s, everyPosition(s))
			if i := x.Interval(); i.Low <= 5000 && 5000 <= i.High {
				got[fmt.Sprintf("%+v", k)] += 1 / float64(*intervalRuns)
			}
		}
	}
	covered(t, got, *intervalRuns)
}

// So have those of the mean and the percentiles of response times whose typical value
// has such noise.
func TestLatencyIntervalsCover(t *testing.T) {
	got := map[string]float64{}
	const spread = 0.5
	for _, k := range []kindOfRun{{12, 0.1, 0, 0}, {12, 0.2, 0.6, 0}, {12, 0.1, 0.8, 0}, {60, 0.2, 0.8, 0}} {
		// The times are log-normal, and so are their mean over the noise and their mixture.
		of := distuv.LogNormal{Mu: math.Log(3e6), Sigma: math.Hypot(spread, k.share)}
		for seed := range uint64(*intervalRuns) {
			rng := rand.New(rand.NewPCG(seed, math.Float64bits(k.seconds+k.correlation)))
			typical := noisy(rng, 1, k.correlation, flat(1))
			b, d := newLatencyBatches(Scope{MeasureEnd: int64(k.seconds * 1e9)}), newDistribution(fine)
			for tenth := range int64(k.seconds * 10) {
				state := k.share * (typical(0) - 1)
				for range 40 + rng.IntN(20) {
					took := int64(3e6 * math.Exp(state+spread*rng.NormFloat64()))
					b.batches[b.part(&history.Op{Due: tenth*100*ms + rng.Int64N(100*ms)})].record(took)
					d.record(took)
				}
			}
			i := b.intervals(d)
			for name, c := range map[string]struct {
				interval *Interval
				truth    float64
			}{"mean": {i.Mean, of.Mean()}, "p50": {i.P50, of.Quantile(0.5)}, "p95": {i.P95, of.Quantile(0.95)}, "p99": {i.P99, of.Quantile(0.99)}} {
				// An interval without an upper end is not given, and has the truth in it.
				if c.interval == nil || c.interval.Low <= c.truth/1e6 && c.truth/1e6 <= c.interval.High {
					got[fmt.Sprintf("%s of %+v", name, k)] += 1 / float64(*intervalRuns)
				}
			}
		}
	}
	covered(t, got, *intervalRuns)
}
