package measure

import "assay/history"

// Scope is the extent of a run and of its measured part, in nanoseconds since
// the start of the run.
type Scope struct {
	// MeasureStart and MeasureEnd bound the measured part, the end excluded.
	MeasureStart, MeasureEnd int64
	// End is when the last attempt ended, or the measured part if that is
	// later. What comes after it, such as the wait until the nodes of a cluster
	// agree, is no part of any throughput.
	End int64
	// Known is the last moment that the history knows of.
	Known int64
	// Cut describes why the run ended before its time, empty if it did not.
	Cut string
	// Stalls are the times in which assay itself did not run.
	Stalls Stalls
}

// Seconds is the length of the measured part.
func (s Scope) Seconds() float64 { return float64(s.MeasureEnd-s.MeasureStart) / 1e9 }

// CutText is why the run ended before its time as a reason; empty if it did not.
func (s Scope) CutText() string {
	if s.Cut == "" {
		return ""
	}
	return "the run was cut: " + s.Cut
}

// measured reports whether a moment belongs to the measured part.
func (s Scope) measured(at int64) bool { return at >= s.MeasureStart && at < s.MeasureEnd }

// ScopeFinder is a first pass over a history, which finds its scope. The zero value
// is ready. It is not safe for concurrent use.
type ScopeFinder struct {
	scope          Scope
	started, ended bool
}

// Ended takes when an attempt ended. The last one is enough.
func (s *ScopeFinder) Ended(at int64) { s.extend(at) }

func (s *ScopeFinder) extend(at int64) {
	s.scope.End, s.scope.Known = max(s.scope.End, at), max(s.scope.Known, at)
}

// Event takes one event. The error is of a record that cannot be read.
func (s *ScopeFinder) Event(e history.Event) error {
	s.scope.Known = max(s.scope.Known, e.At)
	if stall, is, err := history.StallOf(e); is {
		if err == nil {
			s.scope.Stalls = s.scope.Stalls.with(stall)
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

// Scope returns what was found. Where the measured part has no end, because
// the run was killed, it ends with the history, and the run was cut; where it
// has no start, it is empty.
func (s *ScopeFinder) Scope() Scope {
	out := s.scope
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
