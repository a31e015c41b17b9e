package ledger

import (
	"context"
	"math"
	"slices"

	"assay/check/cycle/acyclic"
)

// A node is an entry, by its number, or an audit, by its number after the entries. Where 0 means
// no node, a node is stored plus one.
type node = uint32

// topologicalSort goes through all nodes in an order that agrees with every account. An entry
// follows all that precede it on both its accounts. An audit follows the entries that it saw, and
// precedes the first entry of an account that it did not see. Nodes in cycles with each other
// have no such order. They are a strongly connected component with more than one node; these
// components are found first, and their cycles reported and broken.
//
// Each account keeps the preceding node with the latest start. If a node was acknowledged before
// that, order and real time disagree. One start suffices to find every disagreement. Take a cycle
// of several real-time edges: A acknowledged before B started, and C acknowledged before D
// started. Then also A before D or C before B, which closes a cycle with one edge less.
type topologicalSort struct {
	*versionOrder
	audits   *auditCheck // nil in the sort of the transfers alone
	progress []accountProgress
	// steps bounds the search for cycles, and sets gaveUp; visits bounds the search for short ones.
	steps, visits int64
	gaveUp        bool
}

// accountProgress holds the preceding nodes on an account, each plus one.
type accountProgress struct {
	// plain has the latest start of those before the account's current version by way of entries
	// alone, audited by way of an audit. read has the latest by way of the audits of the current
	// version, which precede only the next entry.
	plain, audited, read node
	start                int64 // of plain
}

func newTopologicalSort(c *versionOrder, a *auditCheck) *topologicalSort {
	s := &topologicalSort{versionOrder: c, audits: a, progress: make([]accountProgress, len(c.j.accounts)), steps: c.steps, visits: c.visits}
	for i := range s.progress {
		s.progress[i].start = math.MinInt64
	}
	return s
}

func (s *topologicalSort) run() {
	var knots [][]node
	nodes := int(s.j.entries.len())
	if s.audits != nil {
		nodes += len(s.audits.excluded)
	}
	components := func(visit func(members []int32)) {
		acyclic.Visit(context.Background(), nodes, func(n, k int32) (int32, bool) {
			x, some := s.before(node(n), int(k))
			return int32(x.from), some
		}, visit)
	}
	components(func(members []int32) { knots = s.addKnot(knots, members, func(n int32) node { return node(n) }) })
	for len(knots) > 0 && !s.gaveUp {
		last := knots[len(knots)-1]
		knots = append(knots[:len(knots)-1], s.untie(last)...)
	}
	components(func(members []int32) {
		switch n := node(members[0]); {
		case len(members) > 1: // its cycles were not found
		case !s.isAudit(n):
			s.passEntry(n)
		case !s.audits.excluded[n-s.j.entries.len()]:
			s.passAudit(n)
		}
	})
}

// addKnot adds the members of a component, if it has more than one.
func (s *topologicalSort) addKnot(knots [][]node, members []int32, named func(int32) node) [][]node {
	if len(members) == 1 {
		return knots
	}
	knot := make([]node, len(members))
	for i, n := range members {
		knot[i] = named(n)
	}
	slices.Sort(knot)
	return append(knots, knot)
}

func (s *topologicalSort) passEntry(n node) {
	e := s.j.entry(n)
	var plain, audited node
	latest := int64(math.MinInt64) // start of plain
	for side := range sides {
		if _, ok := s.ownSlot(n, e, side); ok {
			l := &s.progress[e.account[side]-1]
			if l.start > latest {
				plain, latest = l.plain, l.start
			}
			audited = s.later(s.later(audited, l.audited), l.read)
		}
	}
	first, end := s.j.span(n)
	if latest > end {
		if s.audits == nil {
			s.addStale(plain-1, n)
		}
		if s.start(audited) <= latest {
			audited = 0
		}
		latest = math.MinInt64 // what comes after n is compared with n, so that the same is not reported again
	}
	if s.start(audited) > end {
		s.addStale(audited-1, n)
		audited = 0
	}
	if first > latest {
		plain, latest = n+1, first
	}
	for side := range sides {
		if _, ok := s.ownSlot(n, e, side); ok {
			l := &s.progress[e.account[side]-1]
			l.plain, l.start, l.audited, l.read = plain, latest, audited, 0
		}
	}
}

func (s *topologicalSort) passAudit(n node) {
	audit := n - s.j.entries.len()
	var before node
	for _, r := range s.audits.audits.of(audit) {
		l := &s.progress[r.account-1]
		before = s.later(before, s.later(l.plain, l.audited))
	}
	if s.start(before) > s.audits.audits.partial[audit].end {
		s.addStale(before-1, n)
		before = 0
	}
	before = s.later(before, n+1)
	for _, r := range s.audits.audits.of(audit) {
		l := &s.progress[r.account-1]
		l.read = s.later(l.read, before)
	}
}

// start is when a node was first started; math.MinInt64 for 0.
func (s *topologicalSort) start(n node) int64 {
	if n == 0 {
		return math.MinInt64
	}
	first, _ := s.span(n - 1)
	return first
}

// later returns the node that started later. It looks up starts only if it must.
func (s *topologicalSort) later(a, b node) node {
	if a == b || b == 0 || a != 0 && s.start(a) >= s.start(b) {
		return a
	}
	return b
}

func (s *topologicalSort) span(n node) (first, end int64) {
	if entries := s.j.entries.len(); n >= entries {
		a := &s.j.audits.partial[n-entries]
		return a.first, a.end
	}
	return s.j.span(n)
}
