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

// with adds a stall. Several clocks, of clients or agents, may have seen the same.
func (all Stalls) with(s history.Stall) Stalls {
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
	lost := s.Stalls.Within(s.MeasureStart, s.MeasureEnd)
	if lost == 0 {
		return
	}
	share := float64(lost) / float64(s.MeasureEnd-s.MeasureStart)
	text := fmt.Sprintf("%s; that is %.2g %% of the measured part, and the response times of %s are left out",
		s.Stalls.text(s.MeasureStart, s.MeasureEnd), 100*share, check.Counted(f.Distorted, "operation", "operations"))
	if share > limits.MaxStalled {
		v.refuse("stalled: %s, and %g %% is allowed", text, 100*limits.MaxStalled)
	} else {
		v.note("%s", text)
	}
}
