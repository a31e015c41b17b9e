package measure

import "assay/history"

// Scope is the extent of a run and of its measured part, in nanoseconds since the start of the run.
type Scope struct {
	// MeasureStart and MeasureEnd bound the measured part, the end excluded.
	MeasureStart, MeasureEnd int64
	// End is when the last attempt or, if later, the measured part ended. What comes after it,
	// such as waiting until a cluster's nodes agree, is in no throughput.
	End   int64
	Known int64
	// Cut is why the run ended early; empty if it did not.
	Cut    string
	Stalls Standstill
}

// Seconds is the length of the measured part.
func (s Scope) Seconds() float64 { return float64(s.MeasureEnd-s.MeasureStart) / 1e9 }

// CutText says as a reason why the run ended early; empty if it did not.
func (s Scope) CutText() string {
	if s.Cut == "" {
		return ""
	}
	return "the run was cut: " + s.Cut
}

func (s Scope) measured(at int64) bool { return at >= s.MeasureStart && at < s.MeasureEnd }

// ScopeFinder finds the scope in a first pass over a history. The zero value is ready. It is not
// safe for concurrent use.
type ScopeFinder struct {
	scope          Scope
	started, ended bool
}

// Ended takes the end of an attempt. The last attempt suffices.
func (s *ScopeFinder) Ended(at int64) { s.extend(at) }

func (s *ScopeFinder) extend(at int64) {
	s.scope.End, s.scope.Known = max(s.scope.End, at), max(s.scope.Known, at)
}

// Event takes one event. It fails if the event cannot be read.
func (s *ScopeFinder) Event(e history.Event) error {
	s.scope.Known = max(s.scope.Known, e.At)
	if stall, is, err := history.StallOf(e); is {
		if err == nil {
			s.scope.Stalls.add(stall)
		}
		return err
	}
	switch e.Name {
	case history.EventMeasureStart:
		s.scope.MeasureStart, s.started = e.At, true
		s.extend(e.At)
	case history.EventMeasureEnd:
		s.scope.MeasureEnd, s.ended = e.At, true
		s.extend(e.At)
	case history.EventCut:
		s.scope.Cut = e.Detail
		if e.Detail == "" {
			s.scope.Cut = "no reason given"
		}
	}
	return nil
}

// Scope returns what was found. Without an end, because the run was killed, the measured part ends
// with the history, and the run was cut. Without a start, it is empty.
func (s *ScopeFinder) Scope() Scope {
	out := s.scope
	out.Stalls = out.Stalls.finished()
	if !s.started {
		out.MeasureStart = out.End
	}
	if !s.started || !s.ended {
		out.MeasureEnd = out.End
		if out.Cut == "" {
			out.Cut = "the history ends before the measured part does"
		}
	}
	out.MeasureEnd = max(out.MeasureEnd, out.MeasureStart)
	return out
}
