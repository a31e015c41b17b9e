package measure

import (
	"cmp"
	"maps"
	"math"
	"slices"

	"assay/history"
)

// FaultPeriod is the time in which a fault acted, in nanoseconds since the start of
// the run.
type FaultPeriod struct {
	Injected, Healed int64
}

// overlaps reports whether [from, to) and the period have a moment in common. The
// moment of healing is no part of the period, unless it is the only one.
func (d FaultPeriod) overlaps(from, to int64) bool {
	return from < max(d.Healed, d.Injected+1) && to > d.Injected
}

// Impact is what a disturbance did to the work. Times are nanoseconds since the
// start of the run.
type Impact struct {
	FaultPeriod
	// Writes and Reads are the longest times without a success that overlap
	// the disturbance.
	Writes, Reads Gap
	// LongestCall is the longest time that one attempt took among those that
	// were under way while the fault acted, or until writes went on.
	LongestCall int64
	// Errors counts the attempts that did not commit, by class, from the
	// injection until writes and reads went on after it.
	Errors []ErrorCount
}

// Gap is a time without a success: from the last one before it to the first
// one after it.
type Gap struct {
	From, To int64
	// Open is true if no success came any more; To is then the last moment
	// that was looked at.
	Open bool
	// Known is false if there were no operations of the kind at all.
	Known bool
}

// Length is the gap's length in nanoseconds.
func (g Gap) Length() int64 { return g.To - g.From }

// RecoveredAfter is from the injection to the first commit after the longest
// time without one, in nanoseconds; -1 if none came.
func (i Impact) RecoveredAfter() int64 {
	if i.Writes.Open || !i.Writes.Known {
		return -1
	}
	return max(i.Writes.To-i.Injected, 0)
}

// ImpactFinder finds the impact of each disturbance in one pass over the history, in
// the order in which it was recorded: by the end of the attempts, give or take
// the moment that recording takes. Its memory does not grow with the run. It is
// not safe for concurrent use.
type ImpactFinder struct {
	stretches     []*faultImpact
	writes, reads lastSuccess
}

// lastSuccess is when one kind of operation last succeeded.
type lastSuccess struct {
	last  int64
	known bool
}

// faultImpact is an Impact that is being found; its errors are counted.
type faultImpact struct {
	Impact
	counted map[errorKey]int64
}

// NewImpactFinder returns an ImpactFinder for these disturbances.
func NewImpactFinder(disturbances []FaultPeriod) *ImpactFinder {
	e := &ImpactFinder{}
	for _, d := range disturbances {
		e.stretches = append(e.stretches, &faultImpact{Impact{FaultPeriod: d}, map[errorKey]int64{}})
	}
	return e
}

// Write takes an attempt of an operation that writes.
func (e *ImpactFinder) Write(op *history.Op) {
	e.add(op, &e.writes, func(s *faultImpact) *Gap { return &s.Writes })
}

// Read takes an attempt of an operation that only reads.
func (e *ImpactFinder) Read(op *history.Op) {
	e.add(op, &e.reads, func(s *faultImpact) *Gap { return &s.Reads })
}

func (e *ImpactFinder) add(op *history.Op, p *lastSuccess, gap func(*faultImpact) *Gap) {
	success := op.Outcome == history.Committed || op.Outcome == history.Rejected
	for _, s := range e.stretches {
		s.attempt(op, success)
	}
	p.known = true
	if !success || op.End <= p.last {
		return
	}
	found := Gap{From: p.last, To: op.End, Known: true}
	p.last = op.End
	for _, s := range e.stretches {
		s.keepLongest(found, gap(s))
	}
}

// keepLongest keeps the gap if it overlaps the period and is the longest so far.
func (s *faultImpact) keepLongest(found Gap, longest *Gap) {
	if !s.overlaps(found.From, found.To) {
		return
	}
	if !longest.Known || found.Length() > longest.Length() {
		*longest = found
	}
}

// attempt takes one attempt that was under way while the fault acted or while
// the work had not gone on yet.
func (s *faultImpact) attempt(op *history.Op, success bool) {
	if !s.overlaps(op.Start, op.End) {
		return
	}
	s.LongestCall = max(s.LongestCall, op.End-op.Start)
	if success {
		return
	}
	key := errorKey{cmp.Or(op.Error, noClass), op.Outcome}
	countError(s.counted, key)
}

// Impacts returns what was found, in the order of the disturbances. end is the
// last moment at which operations could still start; a time without a success
// that lasted until then stays open.
func (e *ImpactFinder) Impacts(end int64) []Impact {
	var all []Impact
	for _, s := range e.stretches {
		i := s.Impact
		i.Writes, i.Reads, i.Errors = e.writes.close(s, s.Writes, end), e.reads.close(s, s.Reads, end), sortedErrors(s.counted)
		all = append(all, i)
	}
	return all
}

// close adds the gap that is still open at the end, if it overlaps the faultImpact
// and is the longest.
func (p lastSuccess) close(s *faultImpact, longest Gap, end int64) Gap {
	longest.Known = p.known
	rest := Gap{From: p.last, To: end, Open: true, Known: true}
	if p.known && s.overlaps(rest.From, end) && rest.Length() > longest.Length() {
		return rest
	}
	return longest
}

func sortedErrors(errors map[errorKey]int64) []ErrorCount {
	var out []ErrorCount
	for _, key := range slices.SortedFunc(maps.Keys(errors), func(a, b errorKey) int {
		return cmp.Or(cmp.Compare(errors[b], errors[a]), cmp.Compare(a.class, b.class), cmp.Compare(a.outcome, b.outcome))
	}) {
		out = append(out, ErrorCount{key.class, key.outcome.String(), errors[key]})
	}
	return out
}

// WithoutFaults returns the steps of the measured part without those in which a fault
// acted or its outage lasted, each with the position it had.
func (s Steps) WithoutFaults(scope Scope, impacts []Impact) (quiet Steps, positions []int) {
	for i := range s.Committed {
		positions = append(positions, i)
	}
	return s.those(positions, func(at, width int64) bool {
		from := scope.MeasureStart + at
		return !slices.ContainsFunc(impacts, func(x Impact) bool { return x.touches(from, from+width) })
	})
}

// from returns the steps that begin at this many nanoseconds of the measured
// part or later; positions are those that the steps have.
func (s Steps) from(positions []int, start int64) (rest Steps, at []int) {
	return s.those(positions, func(at, _ int64) bool { return at >= start })
}

// those are some of the steps, by when each begins in the measured part and how long it is,
// with their positions.
func (s Steps) those(positions []int, wanted func(at, width int64) bool) (some Steps, at []int) {
	some.Seconds = s.Seconds
	width := int64(math.Round(s.Seconds * 1e9))
	for i, p := range positions {
		if wanted(int64(p)*width, width) {
			some.Committed = append(some.Committed, s.Committed[i])
			some.TypicalMillis = append(some.TypicalMillis, s.TypicalMillis[i])
			at = append(at, p)
		}
	}
	return some, at
}

// touches reports whether the fault, or what it did to the writes, lay in
// [from, to).
func (i Impact) touches(from, to int64) bool {
	return FaultPeriod{i.Injected, max(i.Healed, i.Writes.To)}.overlaps(from, to)
}
