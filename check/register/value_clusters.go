package register

import (
	"cmp"
	"math"
	"slices"
)

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

// forward means that something of the value ended before something else of it
// began: it was the register's value all the while.
func (c *cluster) forward() bool { return c.ends() < c.begins() }

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

// conflicts finds pairs of values of which each must come before the other:
// something of the one ended before something of the other began, both ways
// round. Where values are unique, each such pair proves that the history is not
// linearizable; if there are no compare-and-sets, and rules finds nothing, a
// history without such a pair is linearizable (Gibbons and Korach, theorem on
// zones). If there are such pairs, at least one is found.
func (s *sequence) conflicts(f *findings) {
	all := s.clusters()
	var zones []*cluster
	for i := range all {
		if all[i].forward() {
			zones = append(zones, &all[i])
		}
	}
	slices.SortStableFunc(zones, func(a, b *cluster) int { return cmp.Compare(a.ends(), b.ends()) })
	for i := 1; i < len(zones); i++ { // if any two overlap, two neighbours do
		if zones[i].ends() < zones[i-1].begins() {
			f.add(conflict(zones[i-1], zones[i]))
		}
	}
	for i := range all {
		b := &all[i]
		if b.forward() {
			continue
		}
		n, _ := slices.BinarySearchFunc(zones, b.begins(), func(z *cluster, at int64) int {
			if z.ends() < at {
				return -1
			}
			return 1
		})
		if n > 0 && b.ends() < zones[n-1].begins() {
			f.add(conflict(zones[n-1], b))
		}
	}
}

// conflict names the four operations: a.first ended before b.last began, and
// b.first before a.last.
func conflict(a, b *cluster) finding {
	return finding{kind: kindOrder, subject: a.last, with: []*op{a.first, b.last, b.first}, value: a.value, other: b.value}
}
