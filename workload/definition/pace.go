package definition

import (
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"assay/history"
	"assay/measure"
	"assay/report"
)

// Pace computes a report.Flow from the attempts of operations of one kind, in the order of
// the history. Response times are exact to 0.1 %.
type Pace struct {
	from, to  int64
	stalls    measure.Standstill
	outcomes  history.Counts
	committed int64
	seconds   perSecond
	times     *hdrhistogram.Histogram // microseconds
}

// NewPace returns a Pace for this scope.
func NewPace(scope measure.Scope) *Pace {
	return &Pace{from: scope.MeasureStart, to: scope.MeasureEnd, stalls: scope.Stalls, times: hdrhistogram.New(1, int64(time.Hour/time.Microsecond), 3)}
}

// Op takes one attempt.
func (p *Pace) Op(op *history.Op) {
	if !op.Last {
		return
	}
	p.outcomes.Add(op.Final, 1)
	if op.Final != history.Committed {
		return
	}
	if op.End >= p.from && op.End < p.to {
		p.committed++
		if second := (op.End - p.from) / int64(time.Second); p.from+(second+1)*int64(time.Second) <= p.to {
			p.seconds.count(second)
		}
	}
	if op.Due >= p.from && op.Due < p.to && !p.stalls.Distort(op) {
		_ = p.times.RecordValue(min(max(op.Latency()/1000, 1), p.times.HighestTrackableValue())) // it is in range
	}
}

// Flow returns the result.
func (p *Pace) Flow() report.Flow {
	f := report.Flow{Outcomes: p.outcomes, Max: float64(p.seconds.most)}
	if length := float64(p.to-p.from) / 1e9; length > 0 {
		f.PerSecond = float64(p.committed) / length
	}
	if p.times.TotalCount() == 0 {
		return f
	}
	f.Mean, f.Longest = p.times.Mean()/1000, float64(p.times.Max())/1000
	f.P50, f.P95, f.P99 = p.Percentile(50), p.Percentile(95), p.Percentile(99)
	return f
}

// Committed is the number of commits in the measured part.
func (p *Pace) Committed() int64 { return p.committed }

// Percentile is in milliseconds, of committed operations; 0 if there are none.
func (p *Pace) Percentile(percent float64) float64 {
	return float64(p.times.ValueAtPercentile(percent)) / 1000
}

// perSecond finds the busiest second in constant memory: records come nearly in the order of
// ends.
type perSecond struct {
	newest int64
	counts [64]int64
	most   int64
}

func (s *perSecond) count(second int64) {
	if second <= s.newest-int64(len(s.counts)) {
		return // its place is another's by now
	}
	for ; s.newest < second; s.newest++ {
		s.counts[(s.newest+1)%int64(len(s.counts))] = 0
	}
	n := &s.counts[second%int64(len(s.counts))]
	*n++
	s.most = max(s.most, *n)
}
