package register

import "math"

// cluster is what is known of one value: the operation that set it and those
// that observed it. In any explanation they stand together, but for
// compare-and-sets, which are the last of one cluster and the first of another.
type cluster struct {
	value int32
	// first ended first, last began last of all; first is nil for the initial
	// value, which is there before everything.
	first, last *op
}

func (c *cluster) ends() int64 {
	if c.first == nil {
		return math.MinInt64
	}
	return c.first.complete
}

func (c *cluster) begins() int64 { return c.last.invoke }

// clusters returns the clusters of a sequence whose values are unique.
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

// conflicts finds pairs of values of which each must come before the other; see
// Conflicts. If there are no compare-and-sets, and directViolations finds nothing, a
// history without such a pair is linearizable.
func (s *sequence) conflicts(f *findings) {
	all := s.clusters()
	zones := make([]Zone, len(all))
	for i := range all {
		zones[i] = Zone{all[i].ends(), all[i].begins()}
	}
	Conflicts(zones, func(forward, other int) { f.add(conflict(&all[forward], &all[other])) })
}

// conflict names the four operations: a.first ended before b.last began, and
// b.first before a.last.
func conflict(a, b *cluster) finding {
	return finding{kind: kindOrder, subject: a.last, with: []*op{a.first, b.last, b.first}, value: a.value, other: b.value}
}
