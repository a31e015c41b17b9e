package measure

import (
	"math"
	"slices"
	"time"

	"assay/history"
)

// Figures are the results of a run.
type Figures struct {
	Scope              Scope
	Outcomes, Measured history.Counts
	// Distorted counts the operations of the measured part that are in no response time, since
	// assay did not run for part of theirs.
	Distorted int64
	// Attempts counts all attempts of the run. Retried counts operations with more than one,
	// Settled those of them that committed in the end.
	Attempts, Retried, Settled int64
	// Errors counts the attempts of the run by error, most frequent first.
	Errors []ErrorCount
	// Latency is response time, from due to end; ServiceTime is from the first attempt's start.
	// Both are of committed operations due in the measured part.
	Latency, ServiceTime Latency
	Responses            ResponseTimes
	// Arrivals are what thresholds take in place of Latency if arrivals never started; zero without
	// them.
	Arrivals Arrivals
	// Corrected is meaningless for an open loop.
	Corrected   Corrected
	Uncommitted Latency
	// Lag is how late after their due time the operations of the measured part started, for any
	// reason, committed or not.
	Lag        Latency
	Throughput Throughput
	Series     Series
	// Merged is the Series in longer intervals, whose percentiles differ from their maximum; nil
	// if the intervals of Series hold enough operations.
	Merged *Series
	// Steps cut the measured part, from its very start, into equal intervals of at least a tenth
	// of a second.
	Steps Steps
	// Outage is the longest time without a successful write in the measured part. The caller
	// enters it.
	Outage Gap
	// ByFaults are the figures around faults, for thresholds; nil without faults.
	ByFaults map[faultWindow]Figures
}

// ErrorCount counts the attempts with one error class and outcome. It has the keys of result.json.
type ErrorCount struct {
	Class    string `json:"class"`
	Outcome  string `json:"outcome"`
	Attempts int64  `json:"attempts"`
	// First is the text of the class's first error; empty if it was not kept.
	First string `json:"first,omitempty"`
}

const (
	maxErrors  = 1024
	otherClass = "other error"
	// noClass is for an attempt that did not commit and gives no class.
	noClass = "unclassified"
)

// Summary is the second pass over a history. It is not safe for concurrent use.
type Summary struct {
	scope                               Scope
	outcomes, measured                  history.Counts
	committed                           int64 // ended in the measured part
	distorted                           int64
	attempts, retried, settled          int64
	errors                              map[errorKey]int64
	latency, service, uncommitted, late *distribution
	latencies, services                 *latencyBatches
	timeline                            *timeline
	steps                               *stepping
	unserved                            unserved
}

type errorKey struct {
	class   string
	outcome history.Outcome
}

// NewSummary returns an empty summary of a run of this scope. It takes at most 20 MB, regardless of
// the run's length.
func NewSummary(scope Scope) *Summary {
	return &Summary{
		scope: scope, errors: map[errorKey]int64{},
		latency: newDistribution(fine), service: newDistribution(fine),
		uncommitted: newDistribution(fine), late: newDistribution(fine),
		latencies: newLatencyBatches(scope), services: newLatencyBatches(scope),
		timeline: newTimeline(scope.End), steps: newStepping(scope),
	}
}

// Add takes one attempt and does not keep op.
func (s *Summary) Add(op *history.Op) {
	s.Count(op)
	if !op.Last {
		return
	}
	committed, distorted := op.Final == history.Committed, s.scope.Stalls.Distort(op)
	s.timeline.add(op, !distorted)
	if committed && s.scope.measured(op.End) {
		s.committed++
		s.steps.add(op)
	}
	if !s.scope.measured(op.Due) {
		return
	}
	s.measured.Add(op.Final, 1)
	s.late.record(op.First - op.Due)
	if distorted {
		s.distorted++
		return
	}
	if committed {
		s.latency.record(op.Latency())
		s.service.record(op.ServiceTime())
		if len(s.latencies.batches) > 0 {
			part := s.latencies.part(op)
			s.latencies.batches[part].record(op.Latency())
			s.services.batches[part].record(op.ServiceTime())
		}
	} else {
		s.uncommitted.record(op.Latency())
	}
}

// Unserved takes arrivals that never started.
func (s *Summary) Unserved(some Unserved) { s.unserved.add(s.scope.MeasureEnd-some.Due, some.Count) }

// Count takes an attempt that counts for the run but not for throughput and latency. Add calls it.
func (s *Summary) Count(op *history.Op) {
	s.attempts++
	s.countError(op)
	if !op.Last {
		return
	}
	s.outcomes.Add(op.Final, 1)
	if op.Attempt > 1 {
		s.retried++
		if op.Final == history.Committed {
			s.settled++
		}
	}
}

func (s *Summary) countError(op *history.Op) {
	key := errorKey{op.Error, op.Outcome}
	if key.class == "" {
		if op.Outcome == history.Committed {
			return
		}
		key.class = noClass
	}
	countError(s.errors, key)
}

func countError(errors map[errorKey]int64, key errorKey) {
	if _, known := errors[key]; !known && len(errors) >= maxErrors {
		key.class = otherClass
	}
	errors[key]++
}

// Figures returns what was added so far. It changes nothing.
func (s *Summary) Figures() Figures {
	out := Figures{
		Scope: s.scope, Outcomes: s.outcomes, Measured: s.measured, Distorted: s.distorted,
		Attempts: s.attempts, Retried: s.retried, Settled: s.settled,
		Responses: ResponseTimes{s.latency}, Arrivals: s.unserved.arrivals(s.latency, s.measured.Total()),
		Latency: s.latency.withCurve(), ServiceTime: s.service.withCurve(),
		Uncommitted: s.uncommitted.withCurve(), Lag: s.late.withCurve(),
		Series: s.timeline.series(s.scope, 1), Merged: s.timeline.merged(s.scope), Steps: s.steps.steps(),
		Corrected: corrected(s.latency, s.uncommitted),
	}
	// Intervals with at most one operation do not tell how evenly work was done.
	even := &out.Series
	if out.Merged != nil {
		even = out.Merged
	}
	out.Latency.Intervals, out.ServiceTime.Intervals = s.latencies.intervals(s.latency), s.services.intervals(s.service)
	out.Throughput = throughput(s.committed, s.scope, *even)
	out.Throughput.setInterval(out.Steps.WithoutFaults(s.scope, nil))
	out.Errors = sortedErrors(s.errors)
	return out
}

// Steps are equal intervals from the start of the measured part. An incomplete last one is left
// out.
type Steps struct {
	// Seconds is the width: 1, 2 or 5 times a power of ten, at least 0.1, for at most MaxPoints
	// steps.
	Seconds float64
	// Committed counts the committed operations that ended in each.
	Committed []int64
	// TypicalMillis is the geometric mean of their response times; -1 for none. A few very slow
	// operations move it little. With two kinds of operations it does not jump between them, as
	// a median does.
	TypicalMillis []float64
}

type stepping struct {
	start, width int64
	committed    []int64
	logs         []float64 // sums of the logarithms of nanoseconds
	last         interval  // that an operation ended in
}

func newStepping(scope Scope) *stepping {
	length := max(scope.MeasureEnd-scope.MeasureStart, 0)
	s := &stepping{start: scope.MeasureStart, width: niceInterval(length, 100*time.Millisecond)}
	s.committed = make([]int64, length/s.width)
	s.logs = make([]float64, length/s.width)
	return s
}

func (s *stepping) add(op *history.Op) {
	if i := s.last.of(op.End, s.start, s.width); i >= 0 && i < int64(len(s.committed)) {
		s.committed[i]++
		s.logs[i] += math.Log(max(float64(op.Latency()), 1))
	}
}

func (s *stepping) steps() Steps {
	out := Steps{Seconds: float64(s.width) / 1e9, Committed: slices.Clone(s.committed)}
	for i, n := range s.committed {
		typical := -1.0
		if n > 0 {
			typical = math.Exp(s.logs[i]/float64(n)) / 1e6
		}
		out.TypicalMillis = append(out.TypicalMillis, typical)
	}
	return out
}
