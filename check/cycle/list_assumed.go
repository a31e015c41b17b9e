package cycle

import "fmt"

// Under assumptions the versions of a list are: 0 for the empty list, p+1 for the list that ends at
// position p, and from end()+1 on those of unseen appends, in no order.

// end is the last version that a read shows.
func (s *listState) end() version { return version(len(s.order)) }

// version returns the version that operation i saw or left, or noVersion; more if it is unseen.
func (s *listState) version(i int, more version) version {
	switch {
	case s.at[i] != unplaced:
		return version(s.at[i]) + 1
	case s.kept[i].kind() == Append:
		return more
	default:
		return noVersion
	}
}

// assumedOrder returns the assumed order of a list's versions. An edge leads from the last version
// that one transaction saw or left to the first that another did.
func (in *inference) assumedOrder(s *listState) []versionEdge {
	if !in.assumed.LinearizableKeys && !in.assumed.SequentialKeys {
		return nil
	}
	var uses []use
	s.visits(func(txn int32, from, to int) {
		if !in.h.possible(txn) {
			return
		}
		more := s.end() + 1 + version(from) // one for each transaction
		uses = append(uses, use{txn: txn, first: s.version(from, more), last: s.version(to-1, more)})
	})
	var edges []versionEdge
	if in.assumed.SequentialKeys {
		edges = in.followClients(uses)
	}
	if in.assumed.LinearizableKeys {
		edges = append(edges, in.followTime(uses)...)
	}
	kept := edges[:0]
	for _, e := range edges {
		if e.from > e.to && e.to <= s.end() || e.from > s.end() && e.to > s.end() {
			kept = append(kept, e) // the others say what the reads show
		}
	}
	return kept
}

// assumeOrder compares the assumed order with a list's reads, and links the unseen appends.
func (in *inference) assumeOrder(s *listState) {
	for _, e := range in.assumedOrder(s) {
		if e.to > s.end() {
			in.edges.add(e.first, e.second, ww)
			continue
		}
		in.contradicted = true
		in.cases.add(cyclicVersions, func() Evidence { return in.assumedEvidence(s, e) })
	}
}

func (in *inference) assumes(circle []versionEdge) bool {
	for _, e := range circle {
		if e.source == sequentialKey || e.source == linearizableKey || e.source == writeFollowsRead && in.assumed.WritesFollowReads {
			return true
		}
	}
	return false
}

// assumedEvidence says that the second transaction of an edge saw or left an earlier state of a
// list than the first, which preceded it.
func (in *inference) assumedEvidence(s *listState, e versionEdge) Evidence {
	first, second := op{}, op{}
	s.visits(func(txn int32, from, to int) {
		switch txn {
		case e.first:
			first = s.kept[to-1]
		case e.second:
			second = s.kept[from]
		}
	})
	who := func(t int32) string {
		if t == e.first {
			return "T1"
		}
		return "T2"
	}
	text := fmt.Sprintf("%s, but the last that T1 did was to %s, and the first that T2 did was to %s, which comes before that: a contradiction",
		e.reason(who), in.opText(first), in.opText(second))
	return in.keyEvidence(s.key, text, e.first, e.second)
}

// explainAssumed explains why an unseen append comes after an unseen append of a, by an assumption.
func (in *inference) explainAssumed(s *listState, later op, a int32, x, y string) string {
	who := func(t int32) string {
		if t == a {
			return x
		}
		return y
	}
	for _, e := range in.assumedOrder(s) {
		if e.to <= s.end() || e.first != a || e.second != later.txn {
			continue
		}
		earlier := op{}
		for _, o := range s.kept {
			if o.txn == a && o.kind() == Append {
				earlier = o
			}
		}
		return fmt.Sprintf("%s appended %s to key %s, and %s appended %s, which came later, because %s",
			x, in.h.name(earlier.val), in.h.keyName(s.key), y, in.h.name(later.val), e.reason(who))
	}
	return ""
}
