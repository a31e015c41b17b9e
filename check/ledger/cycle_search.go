package ledger

import (
	"cmp"
	"context"
	"slices"

	"assay/check/cycle/acyclic"
)

// step is a dependency: from precedes to on an account, by id.
type step struct {
	from, to node
	account  uint32
}

// untie reports a cycle in a knot and removes one of its nodes. It returns the remaining knots.
func (s *topologicalSort) untie(nodes []node) (knots [][]node) {
	if s.steps -= int64(len(nodes)); s.steps < 0 {
		s.gaveUp = true
		return nil
	}
	k := s.knotOf(nodes)
	cycle := s.cycleOf(k)
	if s.audits == nil {
		s.addDirtyWrite(cycle)
		s.unlink(cycle[0].to, cycle[0].account)
	} else if i := slices.IndexFunc(cycle, func(x step) bool { return s.isAudit(x.from) }); i >= 0 {
		s.addSkew(slices.Concat(cycle[i:], cycle[:i]))
	} else { // the search for cycles of entries was given up
		s.gaveUp = true
		return nil
	}
	acyclic.Visit(context.Background(), len(nodes), func(n, i int32) (int32, bool) {
		x, some := s.before(nodes[n], int(i))
		if at, within := slices.BinarySearch(nodes, x.from); within {
			n = int32(at)
		}
		return n, some
	}, func(members []int32) {
		knots = s.addKnot(knots, members, func(n int32) node { return nodes[n] })
	})
	return knots
}

// unlink removes an entry of a cycle, which has slots on both its accounts, from account id.
func (s *topologicalSort) unlink(n node, id uint32) {
	e := s.j.entry(n)
	side := debit
	if e.account[credit] == id {
		side = credit
	}
	at, _ := s.slotOf(e, side)
	s.slots[at] = 0
}

// knot is a set of nodes in cycles with each other. on has the nodes of each account, by id, in
// the order of versions: for each version its entry, and then the audits that saw it.
type knot struct {
	nodes []node
	on    map[uint32][]node
}

func (s *topologicalSort) knotOf(nodes []node) *knot {
	k := &knot{nodes, map[uint32][]node{}}
	for _, n := range nodes {
		s.each(n, func(id, _ uint32) bool {
			k.on[id] = append(k.on[id], n)
			return true
		})
	}
	for id, all := range k.on {
		slices.SortFunc(all, func(a, b node) int {
			return cmp.Or(cmp.Compare(s.versionAt(a, id), s.versionAt(b, id)), cmp.Compare(a, b)) // entries have the lower numbers
		})
	}
	return k
}

// Bounds of a breadth-first search for evidence: the nodes that it reaches and visits, and its
// starts. maxSortVisits bounds all searches for short cycles in one topological sort.
const (
	maxSearchNodes  = 1 << 14
	maxSearchVisits = 1 << 18
	maxSearchStarts = 16 // nodes of a knot
	maxSortVisits   = 1 << 24
)

// cycleOf returns the shortest cycle found through one of a knot's first nodes. With audits it
// prefers a cycle with only one audit, however long.
func (s *topologicalSort) cycleOf(k *knot) []step {
	all := func(node) bool { return true }
	starts := k.nodes
	if s.audits != nil {
		starts = slices.DeleteFunc(slices.Clone(starts), func(n node) bool { return !s.isAudit(n) })
		if alone := s.shortestOf(k, starts, func(n node) bool { return !s.isAudit(n) }); alone != nil {
			return alone
		}
	}
	if short := s.shortestOf(k, starts, all); short != nil {
		return short
	}
	return s.anyCycle(k)
}

func (s *topologicalSort) shortestOf(k *knot, starts []node, suits func(n node) bool) (best []step) {
	for _, n := range starts[:min(len(starts), maxSearchStarts)] {
		if short := s.shortest(k, n, suits); short != nil && (best == nil || len(short) < len(best)) {
			best = short
		}
	}
	return best
}

// anyCycle goes back from a node of a knot until a node repeats.
func (s *topologicalSort) anyCycle(k *knot) []step {
	var path []step
	seen := map[node]int{}
	for n := k.nodes[0]; ; n = path[len(path)-1].from {
		if i, ok := seen[n]; ok {
			slices.Reverse(path[i:])
			return merge(path[i:])
		}
		seen[n] = len(path)
		s.earlier(k, n, func(x step) bool {
			path = append(path, x)
			return false
		})
	}
}

// shortest returns a shortest cycle through a node, over nodes that suit; nil if none was found.
func (s *topologicalSort) shortest(k *knot, through node, suits func(n node) bool) []step {
	looks := min(s.visits, maxSearchVisits)
	s.visits -= looks
	way := search(through, through, func(n node, visit func(step) bool) {
		s.earlier(k, n, func(x step) bool {
			looks--
			return looks > 0 && (x.from != through && !suits(x.from) || visit(x))
		})
	})
	s.visits += max(looks, 0)
	return merge(way)
}

// search goes back from to, breadth first. It returns the shortest path from from to to, or nil.
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

// earlier visits the nodes of a knot that precede a node on one of its accounts, until visit
// returns false. An audit precedes another only if there is an entry between them.
func (s *topologicalSort) earlier(k *knot, n node, visit func(step) bool) {
	s.each(n, func(id, _ uint32) bool {
		var waiting []node // audits that no entry follows
		for _, other := range k.on[id] {
			if other == n {
				break
			}
			if waiting = append(waiting, other); s.isAudit(other) && s.isAudit(n) {
				continue
			}
			for _, w := range waiting {
				if !visit(step{w, n, id}) {
					return false
				}
			}
			waiting = waiting[:0]
		}
		return true
	})
}

// before returns the k-th step to a node from its direct predecessors; false if there are fewer. A
// step from a node to itself stands for an excluded audit.
func (s *topologicalSort) before(n node, k int) (x step, some bool) {
	s.each(n, func(id, top uint32) bool {
		x = step{n, n, id}
		from, previous := int64(0), s.previous(id, top)
		if previous >= 0 {
			if some = k == 0; some {
				x.from = s.slots[previous] - 1
				return false
			}
			k--
			from = s.version(id-1, uint32(previous))
		}
		if s.isAudit(n) || s.audits == nil {
			return true
		}
		between := s.audits.between(id, from, s.version(id-1, top))
		if some = k < len(between); some {
			if audit := s.audits.audits.readings[between[k]].audit; !s.audits.excluded[audit] {
				x.from = s.j.entries.len() + audit
			}
			return false
		}
		k -= len(between)
		return true
	})
	return x, some
}

// each visits the accounts of a node, by id. The predecessors of the node have slots below top: an
// entry's own slot, and for an audit the slot after the version that it read.
func (c *versionOrder) each(n node, visit func(id, top uint32) bool) {
	if c.isAudit(n) {
		for _, r := range c.j.audits.of(n - c.j.entries.len()) {
			first := c.bounds[r.account-1]
			if !visit(r.account, first+uint32(min(max(r.version, 0), int64(c.bounds[r.account]-first)))) {
				return
			}
		}
		return
	}
	e := c.j.entry(n)
	for side := range sides {
		if at, ok := c.ownSlot(n, e, side); ok && !visit(e.account[side], at) {
			return
		}
	}
}

// previous returns the last filled slot of an account, by id, before a slot; -1 if there is none.
func (c *versionOrder) previous(id, at uint32) int64 {
	for at > c.bounds[id-1] {
		if at--; c.slots[at] != 0 {
			return int64(at)
		}
	}
	return -1
}

// between returns the readings of an account, by id, at versions in [from, to).
func (a *auditCheck) between(id uint32, from, to int64) []uint32 {
	all := a.index[a.start[id-1]:a.start[id]]
	at := func(version int64) int {
		i, _ := slices.BinarySearchFunc(all, version, func(n uint32, version int64) int {
			return cmp.Compare(a.audits.readings[n].version, version)
		})
		return i
	}
	return all[at(from):at(to)]
}

// merge joins successive steps on one account. A cycle's first and last step are successive too.
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
