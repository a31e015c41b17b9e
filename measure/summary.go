package measure

import (
	"math"
	"slices"
	"time"

	"assay/history"
)

// Figures are what a run comes to.
type Figures struct {
	Scope Scope
	// Outcomes counts every operation of the run, Measured those that were due
	// in the measured part.
	Outcomes, Measured history.Counts
	// Distorted is how many operations of the measured part are in no response time, since assay
	// did not run for part of theirs.
	Distorted int64
	// Attempts is all attempts of the run. Retried is how many operations took
	// more than one, Settled how many of those were committed in the end.
	Attempts, Retried, Settled int64
	// Errors counts the attempts of the run by error, most frequent first.
	Errors []ErrorCount
	// Latency is response time, from due to the end, ServiceTime from the
	// first attempt's start to the end; both of the committed operations that
	// were due in the measured part.
	Latency, ServiceTime Latency
	// Responses is the whole distribution of Latency.
	Responses ResponseTimes
	// Corrected is the response time corrected for what a closed loop omits; of
	// an open loop it says nothing.
	Corrected Corrected
	// Uncommitted is the response time of those that did not commit.
	Uncommitted Latency
	// Lag is how late the operations of the measured part started behind their
	// due time, for whatever reason, committed or not.
	Lag        Latency
	Throughput Throughput
	Series     Series
	// Merged is the Series in longer intervals, whose percentiles are told apart
	// from their maximum; nil where the intervals of Series hold operations enough.
	Merged *Series
	// Steps cut the measured part, from its very start, into equal intervals
	// of a tenth of a second or more.
	Steps Steps
	// Outage is the longest time without a successful write in the measured part.
	// Whoever makes the Figures enters it; until then it is not known.
	Outage Gap
	// ByFaults are the figures before, during and after faults, for thresholds; nil
	// of a run without faults.
	ByFaults map[faultWindow]Figures
}

// ErrorCount is how many attempts ended with one error class and outcome. It has the
// keys of result.json.
type ErrorCount struct {
	Class    string `json:"class"`
	Outcome  string `json:"outcome"`
	Attempts int64  `json:"attempts"`
	// First is what the first error of the class says; empty where that was not kept.
	First string `json:"first,omitempty"`
}

const (
	// maxErrors bounds the kinds of errors that are told apart.
	maxErrors  = 1024
	otherClass = "other error"
	// noClass stands for an attempt that did not commit and says no more.
	noClass = "unclassified"
)

// Summary is the second pass over a history. It is not safe for concurrent
// use.
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
}

type errorKey struct {
	class   string
	outcome history.Outcome
}

// NewSummary returns an empty summary of a run of this scope. Its memory is at
// most 20 MB, whatever the length of the run.
func NewSummary(scope Scope) *Summary {
	return &Summary{
		scope: scope, errors: map[errorKey]int64{},
		latency: newDistribution(fine), service: newDistribution(fine),
		uncommitted: newDistribution(fine), late: newDistribution(fine),
		latencies: newLatencyBatches(scope), services: newLatencyBatches(scope),
		timeline: newTimeline(scope.End), steps: newStepping(scope),
	}
}

// Add takes one attempt. The op is not kept.
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

// Count takes one attempt that is part of the run and not of its throughput and
// latency. Add does so itself.
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

// countError counts one more, of a bounded number of kinds.
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
		Responses: ResponseTimes{s.latency},
		Latency:   s.latency.withCurve(), ServiceTime: s.service.withCurve(),
		Uncommitted: s.uncommitted.withCurve(), Lag: s.late.withCurve(),
		Series: s.timeline.series(s.scope, 1), Merged: s.timeline.merged(s.scope), Steps: s.steps.steps(),
		Corrected: corrected(s.latency, s.uncommitted),
	}
	// In intervals that hold one operation or none, the least and the most of them
	// say nothing of how evenly work was done.
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

// Steps are equal intervals of the measured part, begun at its start; a rest
// at its end is left out.
type Steps struct {
	// Seconds is the width of each: 1, 2 or 5 times a power of ten, at least
	// 0.1, such that there are at most MaxPoints.
	Seconds float64
	// Committed counts the committed operations that ended in each.
	Committed []int64
	// TypicalMillis is the geometric mean of their response times, -1 where there
	// was none. A few that are very slow move it little, and where operations are
	// of two kinds it does not fall between them, as a median does.
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

// add takes a committed operation that ended in the measured part.
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
