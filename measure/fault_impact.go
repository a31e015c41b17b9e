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

type faultImpact struct {
	FaultPeriod
	writes, reads Gap
	longest       int64
	errors        map[errorKey]int64
}

// NewImpactFinder returns an ImpactFinder for these disturbances.
func NewImpactFinder(disturbances []FaultPeriod) *ImpactFinder {
	e := &ImpactFinder{}
	for _, d := range disturbances {
		e.stretches = append(e.stretches, &faultImpact{FaultPeriod: d, errors: map[errorKey]int64{}})
	}
	return e
}

// Write takes an attempt of an operation that writes.
func (e *ImpactFinder) Write(op *history.Op) {
	e.add(op, &e.writes, func(s *faultImpact) *Gap { return &s.writes })
}

// Read takes an attempt of an operation that only reads.
func (e *ImpactFinder) Read(op *history.Op) {
	e.add(op, &e.reads, func(s *faultImpact) *Gap { return &s.reads })
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
	s.longest = max(s.longest, op.End-op.Start)
	if success {
		return
	}
	key := errorKey{cmp.Or(op.Error, noClass), op.Outcome}
	if _, known := s.errors[key]; !known && len(s.errors) >= maxErrors {
		key.class = otherClass
	}
	s.errors[key]++
}

// Impacts returns what was found, in the order of the disturbances. end is the
// last moment at which operations could still start; a time without a success
// that lasted until then stays open.
func (e *ImpactFinder) Impacts(end int64) []Impact {
	var all []Impact
	for _, s := range e.stretches {
		i := Impact{FaultPeriod: s.FaultPeriod, LongestCall: s.longest, Errors: sortedErrors(s.errors)}
		i.Writes = e.writes.close(s, s.writes, end)
		i.Reads = e.reads.close(s, s.reads, end)
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
	quiet.Seconds = s.Seconds
	width := int64(math.Round(s.Seconds * 1e9))
	for i := range s.Committed {
		from := scope.MeasureStart + int64(i)*width
		if slices.ContainsFunc(impacts, func(x Impact) bool { return x.touches(from, from+width) }) {
			continue
		}
		quiet.Committed = append(quiet.Committed, s.Committed[i])
		quiet.TypicalMillis = append(quiet.TypicalMillis, s.TypicalMillis[i])
		positions = append(positions, i)
	}
	return quiet, positions
}

// from returns the steps that begin at this many nanoseconds of the measured
// part or later; positions are those that the steps have.
func (s Steps) from(positions []int, start int64) (rest Steps, at []int) {
	rest.Seconds = s.Seconds
	width := int64(math.Round(s.Seconds * 1e9))
	for i, p := range positions {
		if int64(p)*width >= start {
			rest.Committed = append(rest.Committed, s.Committed[i])
			rest.TypicalMillis = append(rest.TypicalMillis, s.TypicalMillis[i])
			at = append(at, p)
		}
	}
	return rest, at
}

// touches reports whether the fault, or what it did to the writes, lay in
// [from, to).
func (i Impact) touches(from, to int64) bool {
	return FaultPeriod{i.Injected, max(i.Healed, i.Writes.To)}.overlaps(from, to)
}
