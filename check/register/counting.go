package register

import (
	"cmp"
	"container/heap"
	"slices"

	"assay/check"
)

// countingSteps bounds the operations examined by countChanges, over all values of a register.
const countingSteps = 1 << 27

// countChanges finds values to which the register changed more often than they were written.
// Take operations that follow one another in real time. Each that finds a value after another
// value was there needs its own write, which took effect between the two. Without such a write
// for each, no order explains them. This condition is necessary, and needs no search: it takes
// n log n for each value.
func (s *sequence) countChanges(f check.Findings) {
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

// changes finds the chain of consecutive operations that needs the most writes of a value.
type changes struct {
	s *sequence
	// begun and ended are places of the operations that took effect, by start and by end.
	begun, ended []int32
	// need is, by place, the number of writes that the best chain to the operation needs. before
	// is the previous operation of this chain, or -1.
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

// chain returns, by place, the chain of operations that needs the most writes of v; nil if at
// most one is needed.
func (c *changes) chain(v int32) []int32 {
	// with and without are the best chains that leave v, or another value, in the register.
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

// matchWrites assigns to each change to v along a chain a write of its own. Among the writes that
// can have taken effect between the two operations it takes the first acknowledged. Both ends of
// this interval ascend along the chain, so no other choice does better. It adds the first change
// without a write.
func (s *sequence) matchWrites(v int32, chain []int32, f check.Findings) {
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
				s.add(f, finding{kind: kindFew, subject: o, with: []*op{previous}, value: v, changes: changed, writes: len(s.writers[v])})
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

// byCompletion is a heap with the first acknowledged operation on top.
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
