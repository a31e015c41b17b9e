package measure

import (
	"math"
	"math/rand/v2"
	"testing"

	hdr "github.com/HdrHistogram/hdrhistogram-go"

	"assay/history"
	"assay/internal/expect"
)

// The correction is that of the library, value by value, for the same interval.
func TestCorrectionIsTheLibrarys(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	committed, uncommitted := newDistribution(fine), newDistribution(fine)
	var values []int64
	for i := range 5000 {
		v := int64(1e6 * math.Exp(rng.NormFloat64()))
		if i%500 == 0 {
			v *= 300
		}
		values = append(values, v)
		committed.record(v)
	}
	got := corrected(committed, uncommitted)
	want := hdr.New(int64(leastTold), int64(MaxTrackable), fine)
	for _, v := range values {
		expect.NoError(t, want.RecordCorrectedValue(v, int64(got.IntervalMillis*1e6)))
	}
	if math.Abs(float64(got.Count-want.TotalCount())) > 0.002*float64(got.Count) || got.Added != got.Count-5000 {
		t.Errorf("%d operations, %d of them added, want %d", got.Count, got.Added, want.TotalCount())
	}
	for percent, have := range map[float64]float64{50: got.P50, 95: got.P95, 99: got.P99, 99.9: got.P999} {
		if w := float64(want.ValueAtPercentile(percent)) / 1e6; math.Abs(have-w) > 0.01*w {
			t.Errorf("percentile %g: %v, want %v", percent, have, w)
		}
	}
	if math.Abs(got.Mean-want.Mean()/1e6) > 0.01*got.Mean || got.Max != committed.latency().Max {
		t.Errorf("mean %v, want %v; maximum %v", got.Mean, want.Mean()/1e6, got.Max)
	}
}

// A closed loop beside an outage of 11 s: its p99 is that of the good times, the
// corrected one that of an open loop at the same pace.
func TestAnOutageUnderAClosedLoop(t *testing.T) {
	const clients, pace, outage, back, end = 16, 20 * ms, 20 * sec, 31 * sec, 60 * sec
	for name, final := range map[string]history.Outcome{"committed": history.Committed, "unknown": history.Unknown} {
		s := NewSummary(Scope{MeasureEnd: end, End: end + sec})
		var open []float64
		for range clients {
			for at := int64(0); at < end; {
				op := ended(0, history.Committed, at, at, at+pace)
				if at+pace > outage && at < back {
					op.End = back
					op.Outcome, op.Final = final, final
				}
				s.Add(op)
				at = op.End
			}
			for at := int64(0); at < end; at += pace {
				if wait := float64(pace); at+pace > outage && at < back {
					open = append(open, max(float64(back-at), wait)/1e6)
				} else {
					open = append(open, wait/1e6)
				}
			}
		}
		f := s.Figures()
		if f.Latency.P99 > 21 || math.Abs(f.Corrected.IntervalMillis-20) > 0.1 {
			t.Errorf("%s: p99 %v, usual interval %v", name, f.Latency.P99, f.Corrected.IntervalMillis)
		}
		want := percentile(open, 0.99)
		if got := f.Corrected.P99; math.Abs(got-want) > 0.03*want {
			t.Errorf("%s: corrected p99 %v, an open loop feels %v", name, got, want)
		}
	}
}

func percentile(values []float64, q float64) float64 {
	d := newDistribution(fine)
	for _, v := range values {
		d.record(int64(v * 1e6))
	}
	return millis(d.quantile(q))
}

func TestCorrectionOfNothing(t *testing.T) {
	if got := NewSummary(Scope{}).Figures().Corrected; got.Count != 0 || got.Added != 0 {
		t.Errorf("%+v", got)
	}
	d, none := newDistribution(fine), newDistribution(fine)
	for range 1000 {
		d.record(3 * ms)
	}
	if got := corrected(d, none); got.Added != 0 || got.P99 != d.latency().P99 {
		t.Errorf("without a stall: %+v", got)
	}
	for range 1000 { // an hour at microseconds does not take long
		d.record(int64(MaxTrackable))
		for range 3 {
			d.record(1000)
		}
	}
	if got := corrected(d, none); got.Added < 1000 {
		t.Errorf("an hour: %+v", got)
	}
}
