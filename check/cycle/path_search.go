package cycle

import (
	"context"
	"slices"
)

type search struct {
	ctx context.Context
	c   *component
	// A state is twice a node, plus one if it was entered by an rw edge that no other may follow.
	parent  []int32
	seen    []int32
	round   int32
	now     []int32
	next    []int32
	goal    []int32 // nodes to be reached, by round
	work    int64   // edges looked at
	stopped bool    // ctx ended
}

func newSearch(ctx context.Context, c *component) *search {
	n := c.nodes()
	return &search{ctx: ctx, c: c, parent: make([]int32, 2*n), seen: make([]int32, 2*n), goal: make([]int32, n)}
}

// query asks for a path with the fewest steps. A step leads from a transaction to another, by an
// edge or over auxiliary nodes.
type query struct {
	from  int32 // a node; one that is entered by rw if nonadjacent is set
	deps  edgeKind
	avoid int32 // a node that must not be entered, or -1
	// nonadjacent allows rw edges besides deps, but not two in a row, and none as the last.
	nonadjacent bool
	limit       int
}

func (s *search) path(q query, goals ...int32) []int32 {
	s.round++
	for _, v := range goals {
		s.goal[v] = s.round
	}
	s.now, s.next = s.now[:0], s.next[:0]
	state := 2 * q.from
	if q.nonadjacent {
		state++
	}
	s.visit(state, -1, &s.now)
	for steps := 0; len(s.now) > 0; steps++ {
		// The targets of an auxiliary node are as far away as the node.
		for i := 0; i < len(s.now); i++ {
			v := s.now[i] >> 1
			for e := s.c.start[v]; s.c.aux(v) && e < s.c.start[v+1]; e++ {
				if w := s.c.to[e]; w != q.avoid {
					s.visit(2*w+s.now[i]&1, s.now[i], &s.now)
				}
			}
		}
		for _, state := range s.now {
			if s.goal[state>>1] == s.round && state&1 == 0 {
				return s.trace(state)
			}
		}
		if steps == q.limit || s.outOfTime() {
			return nil
		}
		for _, state := range s.now {
			if !s.c.aux(state >> 1) {
				s.expand(q, state)
			}
		}
		s.now, s.next = s.next, s.now[:0]
	}
	return nil
}

func (s *search) expand(q query, state int32) {
	v := state >> 1
	s.work += int64(s.c.start[v+1]-s.c.start[v]) + 1
	for e := s.c.start[v]; e < s.c.start[v+1]; e++ {
		w, kind := s.c.to[e], s.c.kind[e]
		switch {
		case w == q.avoid:
		case kind&q.deps != 0:
			s.visit(2*w, state, &s.next)
		case q.nonadjacent && kind&rw != 0 && state&1 == 0:
			s.visit(2*w+1, state, &s.next)
		}
	}
}

func (s *search) visit(state, parent int32, list *[]int32) {
	if s.seen[state] != s.round {
		s.seen[state], s.parent[state] = s.round, parent
		*list = append(*list, state)
	}
}

func (s *search) outOfTime() bool {
	s.stopped = s.stopped || s.ctx.Err() != nil
	return s.stopped
}

func (s *search) trace(state int32) []int32 {
	var states []int32
	for ; state >= 0; state = s.parent[state] {
		states = append(states, state)
	}
	slices.Reverse(states)
	return states
}

// loop is a cycle: the edge of kinds[i] leads from txns[i] to the next, the last to the first.
type loop struct {
	txns  []int32
	kinds []edgeKind
}

// walk turns a path's states into an open loop. The first state may be an auxiliary node.
func (c *component) walk(states []int32, deps edgeKind) loop {
	var l loop
	last := int32(-1)
	for _, state := range states {
		v := state >> 1
		if len(l.txns) > 0 && !c.aux(last) {
			l.kinds = append(l.kinds, c.between(last, v, deps))
		}
		if !c.aux(v) {
			l.txns = append(l.txns, v)
		}
		last = v
	}
	return l
}

// between returns the kind of the edge from v to w: the strongest of deps that it has, or else rw.
func (c *component) between(v, w int32, deps edgeKind) edgeKind {
	for e := c.start[v]; e < c.start[v+1]; e++ {
		if c.to[e] == w {
			kind := c.kind[e] & deps
			if kind == 0 {
				return rw
			}
			return kind & -kind
		}
	}
	return free
}

func (l loop) simple() bool {
	seen := make(map[int32]bool, len(l.txns))
	for _, t := range l.txns {
		if seen[t] {
			return false
		}
		seen[t] = true
	}
	return true
}
