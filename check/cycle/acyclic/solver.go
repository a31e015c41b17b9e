// Package acyclic chooses one side for each of a set of alternatives such that a graph stays free
// of forbidden cycles, or shows that this is impossible. It knows nothing of transactions.
//
// An edge is public or private. A cycle is forbidden if at most one of its edges is private. So the
// public edges must have a topological order, and no public path may close a private edge.
//
// The search is conflict-driven clause learning (Marques-Silva and Sakallah, "GRASP", IEEE Trans.
// Computers 1999) with the graph as its theory. The public edges are kept in an online topological
// order (Pearce and Kelly, "A Dynamic Topological Sort Algorithm for Directed Acyclic Graphs", JEA
// 2006), and a cycle becomes a clause. The caller adds alternatives during the search, only where
// the current order breaks a rule. There are then as many as doubtful cases, and not one for each
// pair.
package acyclic

import (
	"context"
	"slices"
)

// Edge says that one node comes before another. Tag belongs to the caller.
type Edge struct {
	From, To int32
	Tag      int32
	Private  bool
}

// Literal is one side of an alternative: twice its number, plus one for the second side.
type Literal int32

// Not returns the other side.
func (l Literal) Not() Literal { return l ^ 1 }

// Alternative returns the number of the alternative.
func (l Literal) Alternative() int32 { return int32(l >> 1) }

// Result says how a search ended.
type Result uint8

const (
	// Undecided means that the context or the search's memory ended first.
	Undecided Result = iota
	// Possible means that the current order breaks no rule; see Position.
	Possible
	// Impossible means that every choice closes a cycle; see Core.
	Impossible
)

const maxLiterals = 1 << 26

const (
	noReason = int32(-1)
	static   = Literal(-1) // of an edge that does not depend on a choice
)

// Solver is one search. It is not safe for concurrent use.
type Solver struct {
	graph
	edges    [][]Edge // by literal
	value    []int8   // by alternative: 1 for the first side, -1 for the second
	saved    []int8   // the last value
	level    []int32
	reason   []int32 // a clause, or noReason
	trail    []Literal
	limits   []int32 // of the trail, by level
	marks    []int32 // of the graph's edges, by level
	head     int     // what of the trail was propagated
	clauses  []clause
	watchers [][]int32 // by literal that became false
	literals int       // in all clauses
	// forbidden are the clauses of Forbid that are not attached yet.
	forbidden [][]Literal
	core      []int32
	seen      []bool
}

// New makes a solver for a graph without forbidden cycles. rank orders the nodes as far as the
// edges allow. New returns nil if the public edges have a cycle.
func New(nodes int, edges []Edge, rank []int64) *Solver {
	always := func(int) Literal { return static }
	s := &Solver{graph: newGraph(nodes, edges, always)}
	if !s.sort(rank) {
		return nil
	}
	s.linkBack(edges, always)
	return s
}

// Add makes an alternative: the graph gets either all edges of first or all of second. No edge may
// lead from a node to itself. The caller must guard private edges with Forbid.
func (s *Solver) Add(first, second []Edge) int32 {
	v := int32(len(s.value))
	private := func(e Edge) bool { return e.Private }
	s.edges = append(s.edges, slices.DeleteFunc(first, private), slices.DeleteFunc(second, private))
	s.value, s.saved = append(s.value, 0), append(s.saved, 0)
	s.level, s.reason = append(s.level, 0), append(s.reason, noReason)
	s.watchers = append(s.watchers, nil, nil)
	s.seen = append(s.seen, false)
	return v
}

// Forbid says that these sides cannot all be chosen, because their edges close a forbidden cycle.
// Only the next function of Solve may call it.
func (s *Solver) Forbid(sides []Literal) {
	for i := range sides {
		sides[i] = sides[i].Not()
	}
	slices.Sort(sides)
	s.forbidden = append(s.forbidden, slices.Compact(sides))
}

// Undecided returns an alternative without a chosen side, searching from from on and then from 0.
func (s *Solver) Undecided(from int32) (v int32, some bool) {
	n := int32(len(s.value))
	if len(s.trail) == int(n) {
		return 0, false
	}
	for v = from % n; s.value[v] != 0; v = (v + 1) % n {
	}
	return v, true
}

// Saved returns the last chosen side of an alternative, if any.
func (s *Solver) Saved(v int32) (Literal, bool) {
	if s.saved[v] == 0 {
		return 0, false
	}
	return sideOf(v, s.saved[v]), true
}

func sideOf(v int32, value int8) Literal {
	if value > 0 {
		return Literal(2 * v)
	}
	return Literal(2*v + 1)
}

// Core returns, after Impossible, the alternatives that together have no solution, sorted.
func (s *Solver) Core() []int32 { return s.core }

// Solve searches. After each choice and its consequences it calls next. next returns a side of an
// undecided alternative and true. It returns false after calling Forbid, or if the current order
// breaks no rule.
func (s *Solver) Solve(ctx context.Context, next func() (Literal, bool)) Result {
	conflicts, budget, round := 0, 0, 0
	for {
		if c := s.propagate(); c >= 0 {
			if len(s.limits) == 0 {
				s.explain(c)
				return Impossible
			}
			conflicts++
			s.learn(c)
			if s.literals > maxLiterals || conflicts%64 == 0 && ctx.Err() != nil {
				return Undecided
			}
			continue
		}
		if conflicts > budget {
			round++
			budget = conflicts + 128*luby(round)
			s.cancel(0)
			continue
		}
		if ctx.Err() != nil {
			return Undecided
		}
		l, some := next()
		if len(s.forbidden) > 0 {
			if c := s.attach(); c >= 0 {
				s.explain(c)
				return Impossible
			}
			if s.literals > maxLiterals {
				return Undecided
			}
			continue
		}
		if !some {
			return Possible
		}
		s.limits = append(s.limits, int32(len(s.trail)))
		s.marks = append(s.marks, int32(len(s.log)))
		s.assign(l, noReason)
	}
}

// luby is the sequence 1 1 2 1 1 2 4 ... of Luby, Sinclair and Zuckerman.
func luby(i int) int {
	for {
		k := 1
		for 1<<k-1 < i {
			k++
		}
		if 1<<k-1 == i {
			return 1 << (k - 1)
		}
		i -= 1<<(k-1) - 1
	}
}

func (s *Solver) truth(l Literal) int8 {
	if l&1 != 0 {
		return -s.value[l>>1]
	}
	return s.value[l>>1]
}

func (s *Solver) assign(l Literal, reason int32) {
	v := l.Alternative()
	s.value[v] = 1 - 2*int8(l&1)
	s.level[v], s.reason[v] = int32(len(s.limits)), reason
	s.trail = append(s.trail, l)
}

func (s *Solver) cancel(level int) {
	if len(s.limits) <= level {
		return
	}
	for _, l := range s.trail[s.limits[level]:] {
		v := l.Alternative()
		s.saved[v], s.value[v] = s.value[v], 0
	}
	s.trail = s.trail[:s.limits[level]]
	s.undo(int(s.marks[level]))
	s.limits, s.marks = s.limits[:level], s.marks[:level]
	s.head = min(s.head, len(s.trail))
}

// propagate assigns the consequences of the choices, and returns a clause that they break, or -1.
func (s *Solver) propagate() int32 {
	for s.head < len(s.trail) {
		l := s.trail[s.head]
		s.head++
		if c := s.propagateClauses(l); c >= 0 {
			return c
		}
		for _, e := range s.edges[l] {
			if broken := s.insert(e, l); broken != nil {
				slices.Sort(broken)
				broken = slices.Compact(broken)
				for i := range broken {
					broken[i] = broken[i].Not()
				}
				return s.addClause(clause{literals: broken})
			}
		}
	}
	return -1
}
