package register

import (
	"math"

	"assay/check"
)

// cluster holds the operation that set a value and those that observed it. They stand together
// in any explanation. A compare-and-set is the last of one cluster and the first of another.
type cluster struct {
	value int32
	// first ended first and last began last. first is nil for the initial value, which precedes
	// everything.
	first, last *op
}

func (c *cluster) ends() int64 {
	if c.first == nil {
		return math.MinInt64
	}
	return c.first.complete
}

func (c *cluster) begins() int64 { return c.last.invoke }

func (s *sequence) clusters() []cluster {
	place := map[int32]int{}
	var all []cluster
	put := func(v int32, o *op) {
		at, known := place[v]
		if !known {
			place[v] = len(all)
			c := cluster{value: v, first: o, last: o}
			if v == s.initial {
				c.first = nil
			}
			all = append(all, c)
			return
		}
		c := &all[at]
		if c.first != nil && o.complete < c.first.complete {
			c.first = o
		}
		if o.invoke > c.last.invoke {
			c.last = o
		}
	}
	for i := range s.ops {
		o := &s.ops[i]
		if o.kind != Read {
			put(o.value, o)
		}
		if v, ok := o.observes(); ok {
			put(v, o)
		}
	}
	return all
}

// conflicts finds pairs of values that must each come before the other; see Conflicts. Without
// such a pair the history is linearizable, if it has no compare-and-sets and directViolations
// finds nothing.
func (s *sequence) conflicts(f check.Findings) {
	all := s.clusters()
	zones := make([]Zone, len(all))
	for i := range all {
		zones[i] = Zone{all[i].ends(), all[i].begins()}
	}
	Conflicts(zones, func(forward, other int) { s.add(f, conflict(&all[forward], &all[other])) })
}

// conflict names the four operations: a.first ended before b.last began, b.first before a.last.
func conflict(a, b *cluster) finding {
	return finding{kind: kindOrder, subject: a.last, with: []*op{a.first, b.last, b.first}, value: a.value, other: b.value}
}
