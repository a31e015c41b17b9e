package ledger

import (
	"cmp"
	"slices"
)

// step is a dependency: one node comes before another because of an account, by id.
type step struct {
	from, to node
	account  uint32
}

// breakCycle finds a cycle among what is left, reports it and takes one node out of
// it. It returns false if nothing is left, or if the search was given up.
func (s *topologicalSort) breakCycle() bool {
	for s.firstBlocked < len(s.progress) && s.progress[s.firstBlocked].next == s.bounds[s.firstBlocked+1] {
		s.firstBlocked++
	}
	if s.firstBlocked == len(s.progress) {
		return false
	}
	cycle := s.findCycle(s.slots[s.progress[s.firstBlocked].next] - 1)
	if cycle == nil {
		s.gaveUp = true
		return false
	}
	cycle = s.shorten(cycle)
	if s.audits == nil {
		s.addDirtyWrite(cycle)
		s.unlink(cycle[0].to, cycle[0].account)
		return true
	}
	i := slices.IndexFunc(cycle, func(x step) bool { return s.isAudit(x.from) })
	if i < 0 { // the search for cycles of entries was given up
		s.gaveUp = true
		return false
	}
	s.addSkew(slices.Concat(cycle[i:], cycle[:i]))
	s.release(cycle[i].from - s.j.entries.len())
	return true
}

// shorten returns the shortest cycle that was found through any node of one; of
// audits one that needs no second audit, however long, if there is any.
func (s *topologicalSort) shorten(cycle []step) []step {
	best := merge(cycle)
	all := func(node) bool { return true }
	if s.audits == nil {
		return s.shorter(best, cycle, all)
	}
	audits := slices.DeleteFunc(slices.Clone(cycle), func(x step) bool { return !s.isAudit(x.from) })
	if alone := s.shorter(nil, audits, func(n node) bool { return !s.isAudit(n) }); alone != nil {
		return alone
	}
	return s.shorter(best, audits, all)
}

// shorter returns the shortest cycle that was found through the nodes from
// which steps go, over nodes that suit, or best if none is shorter.
func (s *topologicalSort) shorter(best, steps []step, suits func(n node) bool) []step {
	for _, x := range steps[:min(len(steps), maxSearchStarts)] {
		short := s.shortest(x.from, suits)
		if short != nil && (best == nil || len(short) < len(best)) {
			best = short
		}
	}
	return best
}

// unlink takes an entry of a cycle, which has a slot on both its accounts, out
// of one of them, by id.
func (s *topologicalSort) unlink(n node, id uint32) {
	e := s.j.entry(n)
	side, other := debit, credit
	if e.account[credit] == id {
		side, other = credit, debit
	}
	at, _ := s.slotOf(e, side)
	s.slots[at] = 0
	s.try(e.account[other] - 1)
}

// findCycle follows what blocks a node until it comes back to a node already
// visited. Among transfers alone no shorter cycle goes through the same ones,
// because each has one blocker. It returns nil if there were too many steps.
func (s *topologicalSort) findCycle(n node) []step {
	var path []step
	seen := map[node]int{}
	for {
		if i, ok := seen[n]; ok {
			slices.Reverse(path[i:])
			return path[i:]
		}
		seen[n] = len(path)
		x, ok := s.blocker(n)
		if s.steps--; s.steps < 0 || !ok {
			return nil
		}
		path = append(path, x)
		n = x.from
	}
}

// A breadth-first search for evidence is bounded by the nodes that it reaches and
// by those that it visits; all searches for short cycles of one sort share a
// bound of visits.
const (
	maxSearchNodes  = 1 << 14
	maxSearchVisits = 1 << 18
	maxSearchStarts = 4 // nodes of a cycle
	maxSortVisits   = 1 << 24
)

// shortest is a shortest cycle through a node, over nodes that suit, among what
// is left, without those that it does not need, be it the node itself; nil if
// none was found.
func (s *topologicalSort) shortest(through node, suits func(n node) bool) []step {
	looks := min(s.visits, maxSearchVisits)
	s.visits -= looks
	way := search(through, through, func(n node, visit func(step) bool) {
		s.unpassedBefore(n, func(x step) bool {
			looks--
			return looks > 0 && (x.from != through && !suits(x.from) || visit(x))
		})
	})
	s.visits += max(looks, 0)
	return merge(way)
}

// search goes back from a node breadth first, and returns the shortest path that
// leads to it from another; nil if none was found.
func search(from, to node, back func(n node, visit func(step) bool)) []step {
	next := map[node]step{}
	queue := []node{to}
	var way []step
	for i := 0; i < len(queue) && way == nil && len(queue) < maxSearchNodes; i++ {
		back(queue[i], func(x step) bool {
			if x.from == from {
				way = append(way, x)
				return false
			}
			if _, seen := next[x.from]; !seen {
				next[x.from] = x
				queue = append(queue, x.from)
			}
			return true
		})
	}
	for way != nil && way[len(way)-1].to != to {
		way = append(way, next[way[len(way)-1].to])
	}
	return way
}

// blocker is a step from what keeps a node from being passed; ok is false if
// nothing does.
func (s *topologicalSort) blocker(n node) (x step, ok bool) {
	if s.isAudit(n) {
		for _, r := range s.j.audits.of(n - s.j.entries.len()) {
			if l := &s.progress[r.account-1]; !s.reached(l, &r) {
				return step{s.slots[l.next] - 1, n, r.account}, true
			}
		}
		return step{}, false
	}
	e := s.j.entry(n)
	for side := range sides {
		at, ok := s.ownSlot(n, e, side)
		if !ok {
			continue
		}
		l := &s.progress[e.account[side]-1]
		if l.next != at {
			return step{s.slots[l.next] - 1, n, e.account[side]}, true
		}
		blocked := !s.pending(l, func(audit uint32) bool {
			x = step{s.j.entries.len() + audit, n, e.account[side]}
			return false
		})
		if blocked {
			return x, true
		}
	}
	return step{}, false
}

// left visits all nodes that were not passed and come before a node on one of
// its accounts, until visit returns false.
func (s *topologicalSort) unpassedBefore(n node, visit func(step) bool) {
	if s.isAudit(n) {
		for _, r := range s.j.audits.of(n - s.j.entries.len()) {
			if l := &s.progress[r.account-1]; !s.reached(l, &r) {
				room := int64(s.bounds[r.account] - s.bounds[r.account-1])
				top := s.bounds[r.account-1] + uint32(min(r.version, room))
				if !s.unpassedOn(n, r.account, top, visit) {
					return
				}
			}
		}
		return
	}
	e := s.j.entry(n)
	for side := range sides {
		if at, ok := s.ownSlot(n, e, side); ok && !s.unpassedOn(n, e.account[side], at, visit) {
			return
		}
	}
}

// unpassedOn visits those before a node on one account, by id: the entries below a
// slot, and the audits that did not see the highest of them, or an entry n.
func (s *topologicalSort) unpassedOn(n node, id, top uint32, visit func(step) bool) bool {
	l := &s.progress[id-1]
	highest := int64(-1)
	if !s.isAudit(n) {
		highest = s.version(id-1, top)
	}
	for at := top; at > l.next; {
		if at--; s.slots[at] == 0 {
			continue
		}
		highest = max(highest, s.version(id-1, at))
		if !visit(step{s.slots[at] - 1, n, id}) {
			return false
		}
	}
	if s.audits == nil {
		return true
	}
	visitAudit := func(audit uint32) bool { return visit(step{s.j.entries.len() + audit, n, id}) }
	for i := l.reading; i < s.audits.start[id]; i++ {
		r := &s.j.audits.readings[s.audits.index[i]]
		if r.version >= highest {
			break
		}
		if !s.audits.excluded[r.audit] && !visitAudit(r.audit) {
			return false
		}
	}
	return s.pending(l, visitAudit)
}

// pending visits the audits of a accountProgress's present version that were not passed,
// until visit returns false, and then returns false. They are among the last
// that were released.
func (s *topologicalSort) pending(l *accountProgress, visit func(audit uint32) bool) bool {
	for left, i := l.pending, l.reading; left > 0; {
		i--
		audit := s.j.audits.readings[s.audits.index[i]].audit
		if s.audits.excluded[audit] || s.done[audit] {
			continue
		}
		left--
		if !visit(audit) {
			return false
		}
	}
	return true
}

// before visits what comes right before a node, until visit returns false.
func (s *topologicalSort) before(n node, visit func(step) bool) {
	if s.isAudit(n) {
		for _, r := range s.j.audits.of(n - s.j.entries.len()) {
			room := int64(s.bounds[r.account] - s.bounds[r.account-1])
			at := s.previous(r.account, s.bounds[r.account-1]+uint32(min(r.version, room)))
			if at >= 0 && !visit(step{s.slots[at] - 1, n, r.account}) {
				return
			}
		}
		return
	}
	e := s.j.entry(n)
	for side := range sides {
		at, ok := s.ownSlot(n, e, side)
		if !ok {
			continue
		}
		id := e.account[side]
		from := int64(0)
		if previous := s.previous(id, at); previous >= 0 {
			from = s.version(id-1, uint32(previous))
			if !visit(step{s.slots[previous] - 1, n, id}) {
				return
			}
		}
		if s.audits != nil && !s.audits.between(id, from, s.version(id-1, at), func(audit uint32) bool {
			return visit(step{s.j.entries.len() + audit, n, id})
		}) {
			return
		}
	}
}

// previous is the last filled slot of an account, by id, before a given one;
// -1 if there is none.
func (c *versionOrder) previous(id, at uint32) int64 {
	for at > c.bounds[id-1] {
		if at--; c.slots[at] != 0 {
			return int64(at)
		}
	}
	return -1
}

// between visits the audits that read an account, by id, at a version from
// one up to another, until visit returns false, and then returns false.
func (a *auditCheck) between(id uint32, from, to int64, visit func(audit uint32) bool) bool {
	all := a.index[a.start[id-1]:a.start[id]]
	i, _ := slices.BinarySearchFunc(all, from, func(n uint32, version int64) int {
		return cmp.Compare(a.audits.readings[n].version, version)
	})
	for ; i < len(all) && a.audits.readings[all[i]].version < to; i++ {
		if audit := a.audits.readings[all[i]].audit; !a.excluded[audit] && !visit(audit) {
			return false
		}
	}
	return true
}

// merge joins steps on one account that follow one another. The steps of a
// cycle end where they begin.
func merge(steps []step) []step {
	var out []step
	for _, x := range steps {
		if n := len(out); n > 0 && out[n-1].account == x.account {
			out[n-1].to = x.to
		} else {
			out = append(out, x)
		}
	}
	if n := len(out); n > 1 && out[0].from == out[n-1].to && out[0].account == out[n-1].account {
		out[0].from = out[n-1].from
		out = out[:n-1]
	}
	return out
}
