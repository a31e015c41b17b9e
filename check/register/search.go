package register

import (
	"cmp"
	"context"
	"slices"
	"sort"

	"github.com/anishathalye/porcupine"

	"assay/check"
)

// searcher asks porcupine whether operations are linearizable, within limits of time and memory.
type searcher struct {
	ctx context.Context
	// memory bounds what one question keeps, in bytes.
	memory int64
	values []string
	// states holds the values boxed for porcupine.
	states []any
	// piece is the smallest number of operations judged at once: each cut costs several questions.
	piece int

	steps   int64
	left    int64
	stopped stopReason
}

type stopReason uint8

const (
	notStopped stopReason = iota
	outOfTime
	outOfMemory
)

func newSearcher(ctx context.Context, values []string, memory int64) *searcher {
	s := &searcher{ctx: ctx, memory: memory, values: values, states: make([]any, len(values)), piece: 48}
	for v := range s.states {
		s.states[v] = int32(v)
	}
	return s
}

// step is the register's transition. An operation of unknown outcome always fits: placed after
// all others, it has had no effect yet.
func step(value int32, o *op) (bool, int32) {
	switch {
	case o.kind == Read:
		return o.value == value, value
	case o.kind == Write:
		return true, o.value
	case o.from == value:
		return true, o.value
	default:
		return !o.certain(), value
	}
}

// model is the register for one question of n operations. At a limit it refuses every further
// step, because porcupine cannot be cancelled in another way.
func (s *searcher) model(initial int32, n int) porcupine.Model {
	// porcupine keeps a set of operations and a state for each step.
	const overhead = 160
	perStep := int64(n/8 + overhead)
	s.left = s.memory
	return porcupine.Model{
		Init: func() any { return s.states[initial] },
		Step: func(state, input, _ any) (bool, any) {
			if s.steps++; s.steps%1024 == 0 && s.ctx.Err() != nil {
				s.stopped = outOfTime
			}
			if s.stopped != notStopped {
				return false, state
			}
			ok, next := step(state.(int32), input.(*op))
			if !ok {
				return false, state
			}
			if s.left -= perStep; s.left < 0 {
				s.stopped = outOfMemory
			}
			return true, s.states[next]
		},
		Equal: func(a, b any) bool { return a == b },
		Hash:  func(state any) uint64 { return uint64(state.(int32)+1) * 0x9e3779b97f4a7c15 },
	}
}

// linearizable reports whether ops are linearizable; meaningless once s is stopped.
func (s *searcher) linearizable(ops []op, initial int32) bool {
	if s.ctx.Err() != nil {
		s.stopped = outOfTime
	}
	if s.stopped != notStopped {
		return false
	}
	return porcupine.CheckOperations(s.model(initial, len(ops)), operations(ops))
}

func (s *searcher) linearizableFrom(ops []op, initial []int32) (from int32, ok bool) {
	for _, v := range initial {
		if s.linearizable(ops, v) {
			return v, true
		}
	}
	return 0, false
}

// order returns an order of ops that explains them; nil if there is none or the search stopped.
func (s *searcher) order(ops []op, initial int32) []*op {
	result, info := porcupine.CheckOperationsVerbose(s.model(initial, len(ops)), operations(ops), 0)
	if result != porcupine.Ok || s.stopped != notStopped {
		return nil
	}
	var order []*op
	certain := 0
	for _, part := range info.PartialLinearizationsOperations() {
		for _, whole := range part { // there is one key, and one whole order
			value := initial
			for i := range whole {
				o := whole[i].Input.(*op)
				before := value
				if _, value = step(value, o); o.certain() || before != value {
					order = append(order, o)
				}
				if o.certain() {
					certain = len(order)
				}
			}
		}
	}
	return order[:certain] // what comes after it may not have happened yet
}

func operations(ops []op) []porcupine.Operation {
	all := make([]porcupine.Operation, len(ops))
	for i := range ops {
		o := &ops[i]
		all[i] = porcupine.Operation{Input: o, Call: o.invoke, Return: o.complete}
	}
	return all
}

// segment returns how many of the operations, sorted by invocation, can be judged alone: all of
// them have completed before the next begins.
func (s *searcher) segment(ops []op) int {
	latest := ops[0].complete
	for i := 1; i < len(ops); i++ {
		if i >= s.piece && latest < ops[i].invoke {
			return i
		}
		latest = max(latest, ops[i].complete)
	}
	return len(ops)
}

// search looks for an order that explains the sequence, piece by piece. Each piece begins with
// the values that the register can have after the piece before. If there is no order it adds the
// reason. It returns false at a limit.
func (s *searcher) search(seq *sequence, f check.Findings) bool {
	rest, holds := seq.ops, []int32{seq.initial}
	for len(rest) > 0 {
		n := s.segment(rest)
		piece := rest[:n]
		rest = rest[n:]
		var after []int32
		if len(rest) == 0 {
			if from, ok := s.linearizableFrom(piece, holds); ok {
				after = []int32{from}
			}
		} else {
			after = s.finals(piece, holds)
		}
		if s.stopped != notStopped {
			return false
		}
		if len(after) == 0 {
			seq.add(f, s.explain(piece, holds))
			return true
		}
		holds = after
	}
	return true
}

// finals returns the values that the register can hold after all of ops, which must all complete.
// It tries each value whose write may have been last.
func (s *searcher) finals(ops []op, initial []int32) []int32 {
	var lastBegun int64
	var candidates []int32
	written := false
	for i := range ops {
		if o := &ops[i]; o.kind != Read && o.certain() && (!written || o.invoke > lastBegun) {
			written, lastBegun = true, o.invoke
		}
	}
	if !written {
		candidates = slices.Clone(initial)
	}
	for i := range ops {
		if o := &ops[i]; o.kind != Read && (!written || o.complete >= lastBegun) && !slices.Contains(candidates, o.value) {
			candidates = append(candidates, o.value)
		}
	}
	end := slices.MaxFunc(ops, func(a, b op) int { return cmp.Compare(a.complete, b.complete) }).complete + 1
	var after []int32
	for _, v := range candidates {
		final := op{kind: Read, value: v, invoke: end, complete: end, seen: true}
		if _, ok := s.linearizableFrom(append(slices.Clip(ops), final), initial); ok {
			after = append(after, v)
		}
	}
	return after
}

// explain finds the first operation that cannot be placed. Its completion ends the shortest
// prefix of ops that no order explains.
func (s *searcher) explain(ops []op, holds []int32) finding {
	var ends []int64
	for i := range ops {
		if ops[i].certain() {
			ends = append(ends, ops[i].complete)
		}
	}
	slices.Sort(ends)
	ends = slices.Compact(ends)
	n := sort.Search(len(ends), func(i int) bool {
		_, ok := s.linearizableFrom(until(ops, ends[i]), holds)
		return !ok
	})
	found := finding{kind: kindUnexplained}
	if s.stopped != notStopped || n == len(ends) {
		s.stopped = notStopped // what was found stands, but for the details
		found.subject, found.with = &ops[len(ops)-1], []*op{&ops[0]}
		return found
	}
	prefix := until(ops, ends[n])
	at := slices.IndexFunc(prefix, func(o op) bool {
		_, observes := o.observes()
		return observes && o.complete == ends[n]
	})
	found.subject = &prefix[at]
	found.value, _ = found.subject.observes()
	s.alternatives(prefix, at, holds, &found)
	return found
}

// until returns the operations as they stood just after end. An incomplete operation may or may
// not have taken effect.
func until(ops []op, end int64) []op {
	var known []op
	for _, o := range ops {
		if o.invoke > end {
			break
		}
		if o.complete > end {
			if o.kind == Read {
				continue
			}
			o.pending = true
		}
		known = append(known, o)
	}
	return known
}

// alternatives finds the values that the observation at place at could have seen, and an order
// of all operations before it.
func (s *searcher) alternatives(ops []op, at int, holds []int32, found *finding) {
	const (
		mostValues = 100
		mostOps    = 2000 // porcupine takes long to return an order of more
	)
	values := slices.Clone(holds)
	for i := range ops {
		if o := &ops[i]; o.kind != Read && !slices.Contains(values, o.value) && len(values) < mostValues {
			values = append(values, o.value)
		}
	}
	// Without the answer of this operation, the prefix has an order.
	before := slices.Clone(ops)
	before[at].pending = true
	if before[at].kind == Read {
		before = slices.Delete(before, at, at+1)
	}
	for _, v := range values {
		instead := op{kind: Read, value: v, invoke: ops[at].invoke, complete: ops[at].complete, seen: true}
		if _, ok := s.linearizableFrom(append(slices.Clip(before), instead), holds); ok {
			found.could = append(found.could, v)
		}
	}
	if len(before) <= mostOps {
		if from, ok := s.linearizableFrom(before, holds); ok {
			found.order = s.order(before, from)
		}
	}
	if s.stopped != notStopped {
		s.stopped = notStopped // as above
		found.could, found.order = nil, nil
	}
}
