package acyclic

import "slices"

// clause is a set of literals; at least one must hold. The first two of a learned clause
// are watched.
type clause struct {
	literals []Literal
	// from are the clauses from which it was learned; empty for a cycle or a forbidden set.
	from []int32
}

func (s *Solver) addClause(c clause) int32 {
	s.clauses = append(s.clauses, c)
	s.literals += len(c.literals) + len(c.from)
	return int32(len(s.clauses) - 1)
}

// propagateClauses assigns what the clauses with the false literal l.Not() still require.
func (s *Solver) propagateClauses(l Literal) int32 {
	wrong := l.Not()
	watching := s.watchers[wrong]
	kept := watching[:0]
	for i, c := range watching {
		lits := s.clauses[c].literals
		if lits[0] == wrong {
			lits[0], lits[1] = lits[1], lits[0]
		}
		if s.truth(lits[0]) > 0 {
			kept = append(kept, c)
			continue
		}
		if s.rewatch(c, lits) {
			continue
		}
		kept = append(kept, c)
		if s.truth(lits[0]) < 0 {
			kept = append(kept, watching[i+1:]...)
			s.watchers[wrong] = kept
			return c
		}
		s.assign(lits[0], c)
	}
	s.watchers[wrong] = kept
	return -1
}

// attach undoes all choices and adds the forbidden sets. It returns a clause still broken, or -1.
func (s *Solver) attach() int32 {
	s.cancel(0)
	for _, lits := range s.forbidden {
		free := 0
		for i, l := range lits {
			if s.truth(l) >= 0 {
				lits[free], lits[i] = l, lits[free]
				free++
			}
		}
		c := s.addClause(clause{literals: lits})
		switch {
		case free == 0:
			return c
		case free > 1:
			s.watchers[lits[0]] = append(s.watchers[lits[0]], c)
			s.watchers[lits[1]] = append(s.watchers[lits[1]], c)
		case s.truth(lits[0]) == 0:
			s.assign(lits[0], c)
		}
	}
	s.forbidden = s.forbidden[:0]
	return -1
}

func (s *Solver) rewatch(c int32, lits []Literal) bool {
	for k := 2; k < len(lits); k++ {
		if s.truth(lits[k]) >= 0 {
			lits[1], lits[k] = lits[k], lits[1]
			s.watchers[lits[1]] = append(s.watchers[lits[1]], c)
			return true
		}
	}
	return false
}

// learn derives from a broken clause a literal that must hold at an earlier level (the first unique
// implication point), goes back there and assigns it.
func (s *Solver) learn(c int32) {
	now := int32(len(s.limits))
	learned := clause{literals: []Literal{0}}
	var marked []int32
	open, at := 0, len(s.trail)-1
	for reason := c; ; {
		learned.from = append(learned.from, reason)
		for _, l := range s.clauses[reason].literals {
			v := l.Alternative()
			if s.seen[v] || s.truth(l) > 0 {
				continue
			}
			s.seen[v] = true
			marked = append(marked, v)
			switch s.level[v] {
			case now:
				open++
			case 0:
				learned.from = append(learned.from, s.reason[v])
			default:
				learned.literals = append(learned.literals, l)
			}
		}
		for !s.seen[s.trail[at].Alternative()] {
			at--
		}
		l := s.trail[at]
		at--
		open--
		if open == 0 {
			learned.literals[0] = l.Not()
			break
		}
		reason = s.reason[l.Alternative()]
	}
	for _, v := range marked {
		s.seen[v] = false
	}
	s.backjump(learned)
}

func (s *Solver) backjump(learned clause) {
	lits := learned.literals
	level := int32(0)
	for i := 1; i < len(lits); i++ {
		if at := s.level[lits[i].Alternative()]; at > level {
			level = at
			lits[1], lits[i] = lits[i], lits[1]
		}
	}
	s.cancel(int(level))
	c := s.addClause(learned)
	if len(lits) > 1 {
		s.watchers[lits[0]] = append(s.watchers[lits[0]], c)
		s.watchers[lits[1]] = append(s.watchers[lits[1]], c)
	}
	s.assign(lits[0], c)
}

// explain sets the core: the alternatives of all cycles from which the broken clause c was derived.
func (s *Solver) explain(c int32) {
	done := make(map[int32]bool)
	var todo []int32
	visit := func(c int32) {
		if c != noReason && !done[c] {
			done[c] = true
			todo = append(todo, c)
		}
	}
	visit(c)
	for len(todo) > 0 {
		c := s.clauses[todo[len(todo)-1]]
		todo = todo[:len(todo)-1]
		for _, f := range c.from {
			visit(f)
		}
		for _, l := range c.literals {
			v := l.Alternative()
			if s.value[v] != 0 && s.level[v] == 0 {
				visit(s.reason[v])
			}
			if len(c.from) == 0 {
				s.core = append(s.core, v)
			}
		}
	}
	slices.Sort(s.core)
	s.core = slices.Compact(s.core)
}
