package robustness

import (
	"maps"
	"slices"
)

// Conflict says why one transaction comes before another.
type Conflict struct {
	// From and To number executions; Before and After number their events.
	From, To, Before, After int
	// Kind is ww, wr or rw.
	Kind string
	// Sure is true if the order, and that both events are on one row, are proven; Told says how.
	Sure bool
	Told Told
}

// Told is how the order of two transactions is known.
type Told uint8

const (
	// ByTimes: the times of statements and commits give the order.
	ByTimes Told = iota + 1
	// ByAnswers: the same read got another answer on the other side of the write.
	ByAnswers
)

const longestCycle = 5

// Cycle returns the shortest cycle of conflicts through a transaction, a proven cycle first; nil
// if there is none. No order of the executions explains a cycle.
func Cycle(all []*Execution, of int, level Level) []Conflict {
	g := &conflicts{all: all, level: level, known: map[[2]int]Conflict{}}
	for _, sure := range []bool{true, false} {
		if found := g.shortest(of, sure); found != nil {
			return found
		}
	}
	return nil
}

type conflicts struct {
	all   []*Execution
	level Level
	known map[[2]int]Conflict
}

// shortest returns the shortest cycle through one transaction, by a breadth-first search.
func (g *conflicts) shortest(of int, sure bool) []Conflict {
	via := map[int]Conflict{}
	level := []int{of}
	for range longestCycle {
		var next []int
		for _, from := range level {
			for to := range g.all {
				c := g.conflict(from, to)
				if c.Kind == "" || sure && !c.Sure {
					continue
				}
				if to == of {
					return pathTo(via, of, c)
				}
				if _, seen := via[to]; !seen {
					via[to] = c
					next = append(next, to)
				}
			}
		}
		level = next
	}
	return nil
}

func pathTo(via map[int]Conflict, start int, last Conflict) []Conflict {
	path := []Conflict{last}
	for at := last.From; at != start; at = via[at].From {
		path = append(path, via[at])
	}
	slices.Reverse(path)
	return path
}

// conflict returns the surest known conflict of two transactions; its Kind is empty without one.
func (g *conflicts) conflict(from, to int) Conflict {
	at := [2]int{from, to}
	if c, known := g.known[at]; known || from == to {
		return c
	}
	best := Conflict{}
	x, y := g.all[from], g.all[to]
	for i := range x.Events {
		for k := range y.Events {
			a, b := &x.Events[i], &y.Events[k]
			on, certain := onOneRow(a, b)
			if a.Relation != b.Relation || !on {
				continue
			}
			c := g.between(from, to, a, b)
			if c.Told == ByAnswers && g.between(to, from, b, a).Told == ByAnswers {
				continue // a read that saw a write, and did not, was of another write that nobody knows
			}
			c.From, c.To, c.Before, c.After, c.Sure = from, to, i, k, c.Sure && certain
			if c.Kind != "" && (best.Kind == "" || c.Sure && !best.Sure) {
				best = c
			}
		}
	}
	g.known[at] = best
	return best
}

// between returns why event a precedes event b, if both are on one row.
func (g *conflicts) between(from, to int, a, b *Event) Conflict {
	x, y := g.all[from], g.all[to]
	switch {
	case a.plain() && meet(a.Reads, b.Writes) && seenBy(x, a, g.level) < y.CommitStart:
		return Conflict{Kind: "rw", Told: ByTimes, Sure: true}
	case meet(a.Writes, b.Writes) && a.End < b.Start:
		return Conflict{Kind: "ww", Told: ByTimes, Sure: true}
	case meet(a.Writes, b.Reads) && (y.began() > x.CommitEnd || b.Locks && b.Start > x.CommitEnd):
		return Conflict{Kind: "wr", Told: ByTimes, Sure: true}
	case meet(a.Writes, b.Reads) && b.plain() && x.CommitStart < b.End:
		if differ, alone := g.answersDiffer(from, to, b, false); differ {
			return Conflict{Kind: "wr", Told: ByAnswers, Sure: alone}
		}
	case a.plain() && meet(a.Reads, b.Writes) && x.began() < y.CommitEnd:
		if differ, alone := g.answersDiffer(to, from, a, true); alone {
			return Conflict{Kind: "rw", Told: ByAnswers, Sure: differ}
		}
	}
	return Conflict{}
}

func (x *Execution) began() int64 {
	if len(x.Events) == 0 {
		return x.CommitStart
	}
	return x.Events[0].Start
}

// onOneRow reports whether two events may be on one row, and whether they certainly are.
func onOneRow(a, b *Event) (may, certain bool) {
	if a.Key != "" && b.Key != "" {
		return a.Key == b.Key, a.Key == b.Key
	}
	for column, v := range a.Fixed {
		if other, is := b.Fixed[column]; is && other != v {
			return false, false
		}
	}
	return true, sameRow(a, b) || selects(a, b) || selects(b, a)
}

// selects reports whether the condition of by certainly holds for the row of of.
func selects(by, of *Event) bool {
	if by.Key != "" || len(by.Fixed) != len(by.Condition) {
		return false
	}
	for column, v := range by.Fixed {
		if of.Fixed[column] != v {
			return false
		}
	}
	return true
}

// answersDiffer looks for the same read with another answer in a third transaction: one that had
// certainly seen the writer if saw is set, and otherwise one that certainly had not. alone is
// true if no other transaction's write explains the difference.
func (g *conflicts) answersDiffer(writer, reader int, read *Event, saw bool) (differ, alone bool) {
	w, own := g.all[writer], g.all[reader]
	for i, z := range g.all {
		if i == writer || i == reader || saw && z.began() <= w.CommitEnd {
			continue
		}
		for k := range z.Events {
			e := &z.Events[k]
			seen := seenBy(z, e, g.level)
			if !e.plain() || e.Text != read.Text || e.Key != read.Key || !maps.Equal(e.Fixed, read.Fixed) || e.Answer == read.Answer || !saw && seen >= w.CommitStart {
				continue
			}
			differ = true
			if g.alone([]*Execution{w, own, z}, min(z.began(), own.began()), max(seen, seenBy(own, read, g.level)), read) {
				return true, true
			}
		}
	}
	return differ, false
}

// alone reports whether no transaction outside but wrote what read reads between two moments.
func (g *conflicts) alone(but []*Execution, from, to int64, read *Event) bool {
	for _, v := range g.all {
		if slices.Contains(but, v) || v.CommitEnd < from || v.CommitStart > to {
			continue
		}
		for k := range v.Events {
			w := &v.Events[k]
			if may, _ := onOneRow(w, read); w.Relation == read.Relation && may && meet(w.Writes, read.Reads) {
				return false
			}
		}
	}
	return true
}
