package register

import (
	"cmp"
	"container/heap"
	"slices"
)

// countingSteps bounds what is looked at to count, over all values of one register.
const countingSteps = 1 << 27

// countChanges finds values to which the register changed more often than they were
// written. Along operations that come one after the other in real time, each that finds
// a value after another was there needs a write of its own, which took effect between
// the two: without such a write for each, no order explains them. That is a necessary
// condition, which needs no search: it takes n log n for each value.
func (s *sequence) countChanges(f *findings) {
	seen := map[int32]int{}
	for i := range s.ops {
		if v, ok := s.ops[i].observes(); ok && len(s.writers[v]) > 0 {
			seen[v]++
		}
	}
	values := make([]int32, 0, len(seen))
	for v := range seen {
		values = append(values, v)
	}
	slices.SortFunc(values, func(a, b int32) int { return cmp.Or(cmp.Compare(seen[b], seen[a]), cmp.Compare(a, b)) })
	c := newChanges(s)
	for i, v := range values {
		if (i+1)*len(s.ops) > countingSteps {
			return
		}
		if chain := c.chain(v); chain != nil {
			s.matchWrites(v, chain, f)
		}
	}
}

// changes looks for operations one after the other that need the most writes of a value.
type changes struct {
	s *sequence
	// certain are places of what took effect, by when it began and by when it ended.
	begun, ended []int32
	// need and before are by place how many writes the best way to it needs, and the
	// operation before it there, -1 for none.
	need, before []int32
}

func newChanges(s *sequence) *changes {
	c := &changes{s: s, need: make([]int32, len(s.ops)), before: make([]int32, len(s.ops))}
	for i := range s.ops {
		if s.ops[i].certain() {
			c.begun = append(c.begun, int32(i))
		}
	}
	c.ended = slices.Clone(c.begun)
	slices.SortStableFunc(c.ended, func(a, b int32) int { return cmp.Compare(s.ops[a].complete, s.ops[b].complete) })
	return c
}

// chain returns the operations one after the other that need the most writes of v, by
// place; nil if one or none is needed.
func (c *changes) chain(v int32) []int32 {
	// The best ways that end with v in the register, and with something else.
	type way struct{ need, at int32 }
	const none = int32(-1 << 30)
	with, without := way{none, -1}, way{0, -1}
	if c.s.initial == v {
		with, without = way{0, -1}, way{none, -1}
	}
	ended, last := 0, way{1, -1}
	for _, i := range c.begun {
		o := &c.s.ops[i]
		for ; c.s.ops[c.ended[ended]].complete < o.invoke; ended++ {
			e := c.ended[ended]
			best := &without
			if c.s.ops[e].value == v {
				best = &with
			}
			if c.need[e] > best.need {
				*best = way{c.need[e], e}
			}
		}
		from := with
		if found, observes := o.observes(); observes && found == v {
			if without.need+1 > from.need {
				from = way{without.need + 1, without.at}
			}
		} else if without.need > from.need {
			from = without
		}
		if o.kind != Read && o.value == v {
			from.need++ // its own
		}
		c.need[i], c.before[i] = from.need, from.at
		if from.need > last.need {
			last = way{from.need, i}
		}
	}
	if last.at < 0 {
		return nil
	}
	var chain []int32
	for at := last.at; at >= 0; at = c.before[at] {
		chain = append(chain, at)
	}
	slices.Reverse(chain)
	return chain
}

// matchWrites gives each change to v along a chain a write of its own, of those that can
// have taken effect between the two operations the one that was acknowledged first: both
// ends of what can be between ascend along the chain, so that no other choice does
// better. It adds the first change that has none.
func (s *sequence) matchWrites(v int32, chain []int32, f *findings) {
	in := map[int32]bool{}
	for _, i := range chain {
		in[i] = true
	}
	var pool []*op // in the order of invocation
	for _, i := range s.writers[v] {
		if !in[int32(i)] {
			pool = append(pool, &s.ops[i])
		}
	}
	var ready byCompletion
	holds, changed := s.initial, 0
	var previous *op
	for _, i := range chain {
		o := &s.ops[i]
		if found, observes := o.observes(); observes && found == v && holds != v {
			changed++
			for ; len(pool) > 0 && pool[0].invoke <= o.complete; pool = pool[1:] {
				heap.Push(&ready, pool[0])
			}
			for len(ready) > 0 && previous != nil && ready[0].complete < previous.invoke {
				heap.Pop(&ready)
			}
			if len(ready) == 0 {
				f.add(finding{kind: kindFew, subject: o, with: []*op{previous}, value: v, changes: changed, writes: len(s.writers[v])})
				return
			}
			heap.Pop(&ready)
		}
		if o.kind != Read && o.value == v {
			changed++
		}
		holds, previous = o.value, o
	}
}

// byCompletion is a heap of operations, the one that was acknowledged first on top.
type byCompletion []*op

func (h byCompletion) Len() int           { return len(h) }
func (h byCompletion) Less(i, j int) bool { return h[i].complete < h[j].complete }
func (h byCompletion) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }
func (h *byCompletion) Push(x any)        { *h = append(*h, x.(*op)) }
func (h *byCompletion) Pop() any {
	last := len(*h) - 1
	o := (*h)[last]
	*h = (*h)[:last]
	return o
}
