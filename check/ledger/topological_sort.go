package ledger

import "math"

// A node of the order is an entry, by its number, or an audit, by its number
// after the entries. A node and one stands for it where 0 stands for none.
type node = uint32

// topologicalSort goes through all nodes in an order that agrees with every account
// (A. B. Kahn, "Topological sorting of large networks", 1962): an entry is
// passed when all that came before it on both its accounts has been, an audit
// when the entries that it saw have been, and the first entry of an account
// that it did not see only after it. Where nothing can be passed any more
// there is a cycle; it is reported and broken.
//
// Meanwhile each account keeps the node with the latest start of all that
// came before. If a node was acknowledged before that, order and real time
// disagree. One start is enough to find every disagreement: if there is a
// cycle of several real-time edges, A acknowledged before B started and C
// acknowledged before D started, then also A before D or C before B, which
// closes a cycle with one edge less.
type topologicalSort struct {
	*versionOrder
	audits   *auditCheck // nil in the sort of the transfers alone
	progress []accountProgress
	// waiting is for how many readings each audit waits.
	waiting []uint32
	done    []bool // audits that were passed
	// cursor is the next entry as they were read; ready are nodes that are to
	// be passed, of the entries those that the cursor came by in vain.
	cursor uint32
	ready  []node
	// firstBlocked is the first account that may not be through, by id-1.
	firstBlocked int
	// steps bounds the search for cycles, visits that for short ones; gaveUp is
	// true if the former was given up.
	steps, visits int64
	gaveUp        bool
}

// accountProgress is how far the sort has come on an account.
type accountProgress struct {
	// next is the slot of the first entry that was not passed.
	next uint32
	// reading is the first reading, in auditCheck.index, of a version that was
	// not reached; pending is how many audits of the present version were not
	// passed.
	reading, pending uint32
	// plain and audited are the nodes and one with the latest start that came
	// before over entries alone and over an audit; read is the one over the
	// audits of the present version, which comes before the next entry only.
	plain, audited, read node
	start                int64 // of plain
}

func newTopologicalSort(c *versionOrder, a *auditCheck) *topologicalSort {
	s := &topologicalSort{versionOrder: c, audits: a, progress: make([]accountProgress, len(c.j.accounts)), steps: c.steps, visits: c.visits}
	for i := range s.progress {
		s.progress[i].start = math.MinInt64
	}
	if a == nil {
		return s
	}
	s.waiting, s.done = make([]uint32, len(a.excluded)), make([]bool, len(a.excluded))
	for i := range s.waiting {
		s.waiting[i] = a.audits.partial[i].count
	}
	for i := range s.progress {
		s.progress[i].reading = a.start[i]
	}
	return s
}

// run goes along the entries as they were read, which is mostly the order that
// is sought, and what lies together in it then lies together in memory.
func (s *topologicalSort) run() {
	for account := range s.progress {
		s.progress[account].next = s.bounds[account]
		s.advance(uint32(account))
	}
	for s.cursor < s.j.entries.len() {
		n := s.cursor
		s.cursor++
		if s.free(n) {
			s.passEntry(n)
		}
		s.passReady()
	}
	for s.passReady(); s.breakCycle(); s.passReady() {
	}
}

func (s *topologicalSort) passReady() {
	for len(s.ready) > 0 {
		n := s.ready[len(s.ready)-1]
		s.ready = s.ready[:len(s.ready)-1]
		if s.isAudit(n) {
			s.passAudit(n)
		} else {
			s.passEntry(n)
		}
	}
}

// advance takes a accountProgress to its next entry, and releases the audits of the
// version before it.
func (s *topologicalSort) advance(account uint32) {
	l := &s.progress[account]
	end := s.bounds[account+1]
	for l.next < end && s.slots[l.next] == 0 {
		l.next++
	}
	if s.audits != nil {
		next := int64(math.MaxInt64)
		if l.next < end {
			next = s.version(account, l.next)
		}
		for ; l.reading < s.audits.start[account+1]; l.reading++ {
			r := &s.audits.audits.readings[s.audits.index[l.reading]]
			if r.version >= next {
				break
			}
			if s.audits.excluded[r.audit] {
				continue
			}
			l.pending++
			if s.waiting[r.audit]--; s.waiting[r.audit] == 0 {
				s.ready = append(s.ready, s.j.entries.len()+r.audit)
			}
		}
	}
	s.try(account)
}

// try makes the next entry of an account ready, unless the cursor will come to
// it. It is called each time that one of its blockers is passed, so that
// only the last of these calls finds it free.
func (s *topologicalSort) try(account uint32) {
	l := &s.progress[account]
	if l.next == s.bounds[account+1] {
		return
	}
	if n := s.slots[l.next] - 1; n < s.cursor && s.free(n) {
		s.ready = append(s.ready, n)
	}
}

// free is true if an entry is the next on each account where it has a slot,
// and no audit stands before it.
func (s *topologicalSort) free(n node) bool {
	e := s.j.entry(n)
	there := false
	for side := range sides {
		if at, ok := s.ownSlot(n, e, side); ok {
			if l := &s.progress[e.account[side]-1]; l.next != at || l.pending > 0 {
				return false
			}
			there = true
		}
	}
	return there
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
	for side := range sides {
		if _, ok := s.ownSlot(n, e, side); ok {
			s.progress[e.account[side]-1].next++
			s.advance(e.account[side] - 1)
		}
	}
}

func (s *topologicalSort) passAudit(n node) {
	audit := n - s.j.entries.len()
	s.done[audit] = true
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
	s.release(audit)
}

// release lets the entries pass that an audit did not see.
func (s *topologicalSort) release(audit uint32) {
	for _, r := range s.audits.audits.of(audit) {
		if l := &s.progress[r.account-1]; s.reached(l, &r) {
			l.pending--
			s.try(r.account - 1)
		}
	}
}

// reached is true if the accountProgress has come to the version that was read.
func (s *topologicalSort) reached(l *accountProgress, r *reading) bool {
	return l.next == s.bounds[r.account] || s.version(r.account-1, l.next) > r.version
}

// start is when a node was first started, for 0 the beginning of time.
func (s *topologicalSort) start(n node) int64 {
	if n == 0 {
		return math.MinInt64
	}
	first, _ := s.span(n - 1)
	return first
}

// later is the one that started later. It does not look unless it must.
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
