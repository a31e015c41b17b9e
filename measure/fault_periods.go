package measure

import (
	"cmp"
	"slices"
)

// faultPeriods finds which of many periods overlap a time, in a time that grows with the logarithm
// of their number. It is a balanced tree of the periods in order of injection, where each node
// knows when the last period below it ends (an interval tree; Cormen et al., Introduction to
// Algorithms, section 14.3). The node of a range of the slice is its middle.
type faultPeriods struct {
	ordered []faultPeriod
	first   int64 // injection
	last    int64 // healing
}

type faultPeriod struct {
	FaultPeriod
	index   int   // where the caller gave it
	endings int64 // the last end in its range
}

func newFaultPeriods(all []FaultPeriod) *faultPeriods {
	p := &faultPeriods{}
	for i, one := range all {
		p.ordered = append(p.ordered, faultPeriod{one, i, 0})
		if i == 0 {
			p.first, p.last = one.Injected, one.Healed
		}
		p.first, p.last = min(p.first, one.Injected), max(p.last, one.Healed)
	}
	slices.SortStableFunc(p.ordered, func(a, b faultPeriod) int { return cmp.Compare(a.Injected, b.Injected) })
	p.findEndings(0, len(all))
	return p
}

func (p *faultPeriods) findEndings(from, to int) (last int64) {
	if from == to {
		return 0
	}
	middle := (from + to) / 2
	node := &p.ordered[middle]
	node.endings = max(node.end(), p.findEndings(from, middle), p.findEndings(middle+1, to))
	return node.endings
}

// overlapping calls found with the index of each period that overlaps [from, to), until found
// returns false.
func (p *faultPeriods) overlapping(from, to int64, found func(index int) bool) {
	p.search(0, len(p.ordered), from, to, found)
}

func (p *faultPeriods) search(left, right int, from, to int64, found func(index int) bool) bool {
	if left == right {
		return true
	}
	middle := (left + right) / 2
	node := &p.ordered[middle]
	if node.endings <= from {
		return true
	}
	return p.search(left, middle, from, to, found) &&
		(!node.overlaps(from, to) || found(node.index)) &&
		(node.Injected >= to || p.search(middle+1, right, from, to, found))
}

// any reports whether a period overlaps [from, to).
func (p *faultPeriods) any(from, to int64) (some bool) {
	p.overlapping(from, to, func(int) bool { some = true; return false })
	return some
}
