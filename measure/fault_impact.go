package measure

import (
	"cmp"
	"maps"
	"math"
	"slices"

	"assay/history"
)

// FaultPeriod is the time in which a fault acted, in nanoseconds since the start of the run.
type FaultPeriod struct {
	Injected, Healed int64
}

// overlaps reports whether [from, to) and the period have a moment in common. The moment of healing
// belongs to the period only if it is the period's only moment.
func (d FaultPeriod) overlaps(from, to int64) bool { return from < d.end() && to > d.Injected }

// end is the first moment after the period.
func (d FaultPeriod) end() int64 { return max(d.Healed, d.Injected+1) }

// Impact is a fault's effect on the work. Times are nanoseconds since the start of the run.
type Impact struct {
	FaultPeriod
	// Writes and Reads are the longest times without a success that overlap the fault.
	Writes, Reads Gap
	// LongestWrite and LongestRead are the longest attempts under way while the fault acted.
	LongestWrite, LongestRead Call
	// Errors counts the attempts that did not commit, by class, from the injection until both
	// writes and reads succeeded again.
	Errors []ErrorCount
	stalls Standstill
}

// Call is how long an attempt took.
type Call struct {
	Length int64
	// Cut means that the run's end cancelled the attempt: it took at least Length.
	Cut bool
}

func (c Call) longer(other Call) Call {
	if other.Length > c.Length {
		return other
	}
	return c
}

// LongestCall is the longest attempt, write or read.
func (i Impact) LongestCall() Call { return i.LongestWrite.longer(i.LongestRead) }

// Gap is a time without a success: from the last success before it to the first after it.
type Gap struct {
	From, To int64
	// Open means that no success came though it was asked for. To is then the last moment
	// observed, and the gap was at least this long. Of an Outage, another gap may be the open one.
	Open bool
	// Known is false if there were no operations of this kind.
	Known bool
	// Stalled is the part in which no process of assay's ran, so that nothing could succeed.
	Stalled int64
}

// Length is the time in which assay ran and nothing succeeded, in nanoseconds. For an open gap it
// is a lower bound.
func (g Gap) Length() int64 { return g.To - g.From - g.Stalled }

// RecoveredAfter is from the injection to the first commit after the longest time without one, in
// nanoseconds; -1 if none came.
func (i Impact) RecoveredAfter() int64 {
	if i.Writes.Open || !i.Writes.Known {
		return -1
	}
	return max(i.Writes.To-i.Injected-i.stalls.All.Within(i.Injected, i.Writes.To), 0)
}

// ImpactFinder finds the impact of each fault in one pass over the history. Attempts come nearly in
// the order of their ends, as recorded. Its memory does not grow with the run, and an attempt costs
// as much as the faults that acted during it. It is not safe for concurrent use.
type ImpactFinder struct {
	scope         Scope
	periods       *faultPeriods
	stretches     []*faultImpact // in the order of the faults
	writes, reads lastSuccess
	outage        Gap // of writes in the measured part
}

type lastSuccess struct {
	last  int64
	known bool
	// failed is when an attempt last ended without success. longest is the longest gap.
	failed, longest int64
}

type faultImpact struct {
	Impact
	counted map[errorKey]int64
}

// NewImpactFinder returns an ImpactFinder for these faults of a run of this scope.
func NewImpactFinder(scope Scope, disturbances []FaultPeriod) *ImpactFinder {
	e := &ImpactFinder{scope: scope, periods: newFaultPeriods(disturbances)}
	for _, d := range disturbances {
		e.stretches = append(e.stretches, &faultImpact{Impact{FaultPeriod: d, stalls: scope.Stalls}, map[errorKey]int64{}})
	}
	return e
}

// Write takes an attempt of an operation that writes.
func (e *ImpactFinder) Write(op *history.Op) {
	found, some := e.add(op, &e.writes, func(s *faultImpact) (*Gap, *Call) { return &s.Writes, &s.LongestWrite })
	if measured := e.measured(found); some && found.To > e.scope.MeasureStart && (!e.outage.Known || measured.Length() > e.outage.Length()) {
		e.outage = measured
	}
}

// Read takes an attempt of an operation that only reads.
func (e *ImpactFinder) Read(op *history.Op) {
	e.add(op, &e.reads, func(s *faultImpact) (*Gap, *Call) { return &s.Reads, &s.LongestRead })
}

// add returns the time without a success that the attempt ends, if it ends one in which something
// was asked for.
func (e *ImpactFinder) add(op *history.Op, p *lastSuccess, of func(*faultImpact) (*Gap, *Call)) (found Gap, some bool) {
	success := op.Outcome == history.Committed || op.Outcome == history.Rejected || op.Last && op.Final == history.Committed
	e.periods.overlapping(op.Start, op.End, func(i int) bool {
		_, longest := of(e.stretches[i])
		e.stretches[i].attempt(op, success, longest)
		return true
	})
	p.known = true
	if !success {
		p.failed = max(p.failed, op.End)
	}
	if !success || op.End <= p.last {
		return Gap{}, false
	}
	found = Gap{From: p.last, To: op.End, Known: true, Stalled: e.scope.Stalls.All.Within(p.last, op.End)}
	p.last, p.longest = op.End, max(p.longest, found.Length())
	if found.From >= e.scope.MeasureEnd {
		return Gap{}, false // nothing was asked for
	}
	e.periods.overlapping(found.From, found.To, func(i int) bool {
		if gap, _ := of(e.stretches[i]); !gap.Known || found.Length() > gap.Length() {
			*gap = found
		}
		return true
	})
	return found, true
}

// measured is a gap without its part before the measured part. Its end may be after the measured
// part: until then the operations under way had no success.
func (e *ImpactFinder) measured(g Gap) Gap {
	g.From = max(g.From, e.scope.MeasureStart)
	g.Stalled = e.scope.Stalls.All.Within(g.From, g.To)
	return g
}

// Outage is the longest time in the measured part without a successful write. It is open if it, or
// the longest such time of any fault, had not ended when the run did: that one may be longer.
func (e *ImpactFinder) Outage() Gap {
	longest, rest := e.outage, e.writes.rest(e.scope.Stalls.All, e.scope.MeasureEnd)
	longest.Known = e.writes.known
	if rest = e.measured(rest); e.writes.known && rest.Length() > longest.Length() {
		longest = rest
	}
	longest.Open = longest.Open || slices.ContainsFunc(e.Impacts(), func(i Impact) bool { return i.Writes.Open })
	return longest
}

// attempt takes an attempt that was under way while the fault acted or before work went on again.
func (s *faultImpact) attempt(op *history.Op, success bool, longest *Call) {
	*longest = longest.longer(Call{op.End - op.Start - s.stalls.Of(op.Client).Within(op.Start, op.End), op.Error == history.ClassHung})
	if success {
		return
	}
	key := errorKey{cmp.Or(op.Error, noClass), op.Outcome}
	countError(s.counted, key)
}

// Impacts returns the impacts in the order of the faults. No operation starts after the measured
// part, so a time without success that lasts until its end stays open.
func (e *ImpactFinder) Impacts() []Impact {
	end := e.scope.MeasureEnd
	var all []Impact
	for _, s := range e.stretches {
		i := s.Impact
		i.Writes, i.Reads, i.Errors = e.writes.close(s, s.Writes, end), e.reads.close(s, s.Reads, end), sortedErrors(s.counted)
		all = append(all, i)
	}
	return all
}

// rest is the time from the last success to the end. Without a failure in it, it may be only a
// pause of arrivals. Clients that hang for good leave no record, but a gap longer than any before.
func (p lastSuccess) rest(stalls Stalls, end int64) Gap {
	g := Gap{From: p.last, To: end, Known: true, Stalled: stalls.Within(p.last, end)}
	g.Open = p.failed > p.last || g.Length() > 2*p.longest
	return g
}

// close adds the gap still open at the end, if it overlaps the fault and is the longest.
func (p lastSuccess) close(s *faultImpact, longest Gap, end int64) Gap {
	longest.Known = p.known
	rest := p.rest(s.stalls.All, end)
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
		out = append(out, ErrorCount{Class: key.class, Outcome: key.outcome.String(), Attempts: errors[key]})
	}
	return out
}

// WithoutFaults returns the steps of the measured part in which no fault or outage acted and assay
// itself ran, with their positions.
func (s Steps) WithoutFaults(scope Scope, impacts []Impact) (quiet Steps, positions []int) {
	for i := range s.Committed {
		positions = append(positions, i)
	}
	return s.those(positions, func(at, width int64) bool {
		from := scope.MeasureStart + at
		return scope.Stalls.Any.Within(from, from+width) == 0 && !slices.ContainsFunc(impacts, func(x Impact) bool { return x.touches(from, from+width) })
	})
}

func (s Steps) from(positions []int, start int64) (rest Steps, at []int) {
	return s.those(positions, func(at, _ int64) bool { return at >= start })
}

// those returns the wanted steps with their positions. at is the step's begin in the measured part.
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

// touches reports whether the fault or its effect on writes lay in [from, to).
func (i Impact) touches(from, to int64) bool {
	return FaultPeriod{i.Injected, max(i.Healed, i.Writes.To)}.overlaps(from, to)
}
