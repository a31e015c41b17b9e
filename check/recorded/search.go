package recorded

import (
	"cmp"
	"context"
	"math/bits"
)

// search moves through time with the set of all possible states (just-in-time linearization,
// Lowe, "Testing for linearizability", Concurrency and Computation 29(4), 2017; the search of
// Wing and Gong, JPDC 17, 1993, breadth first). An operation takes effect when it must, or before
// another that must. The time grows exponentially with the operations in flight.
type search[State comparable] struct {
	present map[State]bool
	most    int // states at one moment
	steps   int // that may still be taken
	turns   int // after which the context is asked; 0 is turnsOfSearch
}

const turnsOfSearch = 1024

// reach replaces the present states by the ended states that they lead to. ended reports whether
// an operation took effect in a state, and takes it out. reach returns false if there are too
// many states or ctx ends.
func (s *search[State]) reach(ctx context.Context, ended func(*State) bool, next func(State, func(State))) bool {
	after, seen := map[State]bool{}, map[State]bool{}
	var open []State
	for x := range s.present {
		open = append(open, x)
	}
	ask := cmp.Or(s.turns, turnsOfSearch)
	for turn := 0; len(open) > 0; turn++ {
		if len(s.present)+len(seen)+len(after) > s.most || s.steps < 0 || turn%ask == 0 && ctx.Err() != nil {
			return false
		}
		x := open[len(open)-1]
		open = open[:len(open)-1]
		if ended(&x) {
			after[x] = true
			continue
		}
		next(x, func(y State) {
			if s.steps--; !seen[y] {
				seen[y] = true
				open = append(open, y)
			}
		})
	}
	s.present = after
	return true
}

const mostInFlight = 64

type slots uint64

func (s *slots) take() (slot int, ok bool) {
	slot = bits.TrailingZeros64(^uint64(*s))
	*s |= 1 << slot
	return slot, slot < mostInFlight
}

func (s slots) each(visit func(slot int)) {
	for ; s != 0; s &= s - 1 {
		visit(bits.TrailingZeros64(uint64(s)))
	}
}

// end removes a slot from the set and reports whether it was there.
func (s *slots) end(slot int) bool {
	had := *s&(1<<slot) != 0
	*s &^= 1 << slot
	return had
}
