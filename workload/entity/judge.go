package entity

import (
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"assay/check"
	"assay/history"
	"assay/workload/definition"
	"assay/workload/keyvalue"
)

// Judgement is what the files of one run say.
type Judgement struct {
	// Results are those of keyvalue.CheckAcknowledged, CheckRows and CheckReads,
	// the last only if the mix has reads. All seven fields of an entity must be
	// as they were written.
	Results []check.Result
	Figures Figures
}

// Judge judges a run by its files alone; see keyvalue.Judge.
func Judge(config Config, seed uint64, e definition.Evidence) (Judgement, error) {
	if err := config.Validate(); err != nil {
		return Judgement{}, err
	}
	var o observer
	results, figures, err := keyvalue.Judge(preset(config, seed), e, &o)
	if err != nil {
		return Judgement{}, err
	}
	if config.WriteShare == 1 {
		results = results[:2]
	}
	return Judgement{Results: results, Figures: Figures{figures, o.writes.flow(), o.reads.flow()}}, nil
}

// observer takes the figures of this workload.
type observer struct{ writes, reads *pace }

// Begin implements keyvalue.Observer.
func (o *observer) Begin(from, to int64) { o.writes, o.reads = newPace(from, to), newPace(from, to) }

// Op implements keyvalue.Observer.
func (o *observer) Op(op *history.Op) {
	switch op.Kind {
	case keyvalue.KindInsert:
		o.writes.op(op)
	case keyvalue.KindGet:
		o.reads.op(op)
	}
}

// Event implements keyvalue.Observer.
func (o *observer) Event(history.Event) {}

// Figures are what is counted beside the verdicts.
type Figures struct {
	keyvalue.Figures
	// Writes and Reads are the two kinds of operations.
	Writes, Reads Flow
}

// Flow is what operations of one kind came to.
type Flow struct {
	// Outcomes counts all of the run by what they ended as.
	Outcomes history.Counts
	// PerSecond is the committed ones that ended in the measured part over its
	// length, Max the most in one of its whole seconds.
	PerSecond, Max float64
	// MeanMillis to MaxMillis are response times of the committed ones that
	// were due in the measured part, true within 0.1 %; 0 if there are none.
	MeanMillis, P50Millis, P95Millis, P99Millis, MaxMillis float64
}

// pace gathers a Flow.
type pace struct {
	from, to  int64
	outcomes  history.Counts
	committed int64
	seconds   perSecond
	times     *hdrhistogram.Histogram // microseconds
}

func newPace(from, to int64) *pace {
	return &pace{from: from, to: to, times: hdrhistogram.New(1, int64(time.Hour/time.Microsecond), 3)}
}

func (p *pace) op(op *history.Op) {
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
	if op.Due >= p.from && op.Due < p.to {
		_ = p.times.RecordValue(min(max(op.Latency()/1000, 1), p.times.HighestTrackableValue())) // it is in range
	}
}

func (p *pace) flow() Flow {
	f := Flow{Outcomes: p.outcomes, Max: float64(p.seconds.most)}
	if length := seconds(p.to - p.from); length > 0 {
		f.PerSecond = float64(p.committed) / length
	}
	if p.times.TotalCount() == 0 {
		return f
	}
	at := func(percent float64) float64 { return float64(p.times.ValueAtPercentile(percent)) / 1000 }
	f.MeanMillis, f.MaxMillis = p.times.Mean()/1000, float64(p.times.Max())/1000
	f.P50Millis, f.P95Millis, f.P99Millis = at(50), at(95), at(99)
	return f
}

// perSecond finds the second with the most, in as much memory for long runs as
// for short ones: records come nearly in the order of their ends.
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

func seconds(ns int64) float64 { return float64(ns) / 1e9 }
