package measure

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"assay/check"
	"assay/history"
	"assay/internal/quantity"
)

// Stalls are the times in which assay did not run, in order and disjoint.
type Stalls []history.Stall

// Standstill is when assay did not run. The zero value is a run that always ran.
type Standstill struct {
	// Any are the times in which a process of the run did not run, All those in which none did:
	// only then could nothing succeed.
	Any, All Stalls
	// processes are the processes that stood still, if there are several.
	processes []processStalls
	whole     Stalls // of all processes at once
}

type processStalls struct {
	history.Stall // names its clients
	// own are of this process alone, all also those of all processes at once.
	own, all Stalls
}

// add takes a stall, of one process or of all. Call finished after the last.
func (s *Standstill) add(one history.Stall) {
	s.Any = s.Any.with(one)
	if one.Processes <= 1 {
		s.whole = s.whole.with(one)
		return
	}
	i := slices.IndexFunc(s.processes, func(p processStalls) bool { return slices.Equal(p.Clients, one.Clients) })
	if i < 0 {
		i, s.processes = len(s.processes), append(s.processes, processStalls{Stall: one})
	}
	s.processes[i].own = s.processes[i].own.with(one)
}

func (s Standstill) finished() Standstill {
	var together Stalls
	s.processes = slices.Clone(s.processes)
	for i := range s.processes {
		p := &s.processes[i]
		p.all = p.own.or(s.whole)
		if together = together.both(p.own); i == 0 {
			together = p.own
		}
	}
	if len(s.processes) > 0 && len(s.processes) < s.processes[0].Processes {
		together = nil // a process always ran
	}
	s.All = s.whole.or(together)
	return s
}

// Of are the stalls of the process that a client works in.
func (s *Standstill) Of(client int) Stalls {
	for i := range s.processes {
		if p := &s.processes[i]; p.Of(client) {
			return p.all
		}
	}
	return s.whole
}

// Distort reports whether a stall of its process is part of an operation's response time.
func (s *Standstill) Distort(op *history.Op) bool {
	return len(s.Any) > 0 && s.Of(op.Client).Distort(op)
}

// or are the times in one of the two.
func (all Stalls) or(others Stalls) Stalls {
	all = slices.Clone(all)
	for _, s := range others {
		all = all.with(s)
	}
	return all
}

// both are the times in both.
func (all Stalls) both(others Stalls) (both Stalls) {
	for _, s := range all {
		for _, other := range others[others.endingAfter(s.From):] {
			if other.From >= s.To {
				break
			}
			both = append(both, history.Stall{From: max(s.From, other.From), To: min(s.To, other.To), Busy: s.Busy && other.Busy})
		}
	}
	return both
}

// with adds a stall. Several clocks, of clients or agents, may have seen the same.
func (all Stalls) with(s history.Stall) Stalls {
	s = history.Stall{From: s.From, To: s.To, Busy: s.Busy}
	if n := len(all); n == 0 || all[n-1].To < s.From {
		return append(all, s)
	}
	var out Stalls
	for _, other := range all {
		if other.To < s.From || other.From > s.To {
			out = append(out, other)
		} else {
			s = history.Stall{From: min(s.From, other.From), To: max(s.To, other.To), Busy: s.Busy && other.Busy}
		}
	}
	out = append(out, s)
	slices.SortFunc(out, func(a, b history.Stall) int { return cmp.Compare(a.From, b.From) })
	return out
}

// Within is the part of a time that lies in stalls, in nanoseconds.
func (all Stalls) Within(from, to int64) (total int64) {
	for _, s := range all[all.endingAfter(from):] {
		if s.From >= to {
			break
		}
		total += max(min(to, s.To)-max(from, s.From), 0)
	}
	return total
}

// endingAfter is the index of the first stall that ends after a moment.
func (all Stalls) endingAfter(at int64) int {
	i, _ := slices.BinarySearchFunc(all, at, func(s history.Stall, at int64) int {
		if s.To <= at {
			return -1
		}
		return 1
	})
	return i
}

// maxOwnShare is the largest share of a response time that may be assay's stall. A smaller share is
// within the figures' intervals.
const maxOwnShare = 0.1

// Distort reports whether assay's stall is part of an operation's response time. An operation that
// started late, and was due within one stall's length after the stall, waited in its queue.
func (all Stalls) Distort(op *history.Op) bool {
	if len(all) == 0 {
		return false
	}
	own := all.Within(op.Due, op.End)
	if i := all.endingAfter(op.Due); i > 0 && op.Due-all[i-1].To < all[i-1].To-all[i-1].From {
		own = max(own, op.First-op.Due)
	}
	return float64(own) > maxOwnShare*float64(op.Latency())
}

func (all Stalls) text(from, to int64) string {
	const most = 3
	within := slices.DeleteFunc(slices.Clone(all), func(s history.Stall) bool { return s.To <= from || s.From >= to })
	slices.SortStableFunc(within, func(a, b history.Stall) int { return cmp.Compare(b.To-b.From, a.To-a.From) })
	var parts []string
	for _, s := range within[:min(len(within), most)] {
		why := "it was stopped or the machine stalled"
		if s.Busy {
			why = "its own work kept the processors"
		}
		parts = append(parts, fmt.Sprintf("assay did not run for %s at %.1f s: %s", quantity.Milliseconds(millis(s.To-s.From)), float64(s.From)/1e9, why))
	}
	if more := len(within) - most; more > 0 {
		parts = append(parts, "and "+check.Counted(int64(more), "time", "times")+" more, for less long")
	}
	return strings.Join(parts, "; ")
}

// judgeStalls reports the part of the measured part in which assay itself stood still.
func (v *Validity) judgeStalls(f Figures, limits Limits) {
	s := f.Scope
	lost := s.Stalls.Any.Within(s.MeasureStart, s.MeasureEnd)
	if lost == 0 {
		return
	}
	share := float64(lost) / float64(s.MeasureEnd-s.MeasureStart)
	text := fmt.Sprintf("%s; that is %.2g %% of the measured part, and the response times of %s are left out",
		s.Stalls.Any.text(s.MeasureStart, s.MeasureEnd), 100*share, check.Counted(f.Distorted, "operation", "operations"))
	if share > limits.MaxStalled {
		v.refuse(stalled+" %s, and %g %% is allowed", text, 100*limits.MaxStalled)
	} else {
		v.note("%s", text)
	}
}
