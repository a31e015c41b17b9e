package recorded

import (
	"context"
	"math/bits"
)

// search goes through time with all states that are possible (just-in-time
// linearization, Lowe, "Testing for linearizability", Concurrency and Computation 29(4),
// 2017; the search of Wing and Gong, JPDC 17, 1993, breadth first): an operation takes
// effect when it must, or before another that must. That takes time that grows
// exponentially with what is in flight.
type search[State comparable] struct {
	present map[State]bool
	most    int // states at one moment
	steps   int // that may still be taken
}

// reach keeps the states that are ended, of those present and of all that lead on from
// them. ended takes the operation out of a state in which it took effect. reach returns
// false if there are too many or ctx ends.
func (s *search[State]) reach(ctx context.Context, ended func(*State) bool, next func(State, func(State))) bool {
	after, seen := map[State]bool{}, map[State]bool{}
	var open []State
	for x := range s.present {
		open = append(open, x)
	}
	for turn := 0; len(open) > 0; turn++ {
		if len(seen)+len(after) > s.most || s.steps < 0 || turn%1024 == 0 && ctx.Err() != nil {
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

// mostInFlight bounds the operations in flight at one time.
const mostInFlight = 64

// slots are the slots of the operations in flight.
type slots uint64

// take returns a free slot, false if there is none.
func (s *slots) take() (slot int, ok bool) {
	slot = bits.TrailingZeros64(^uint64(*s))
	*s |= 1 << slot
	return slot, slot < mostInFlight
}

// each visits all slots.
func (s slots) each(visit func(slot int)) {
	for ; s != 0; s &= s - 1 {
		visit(bits.TrailingZeros64(uint64(s)))
	}
}

// end takes a slot out of what has taken effect; false if it is not there.
func (s *slots) end(slot int) bool {
	had := *s&(1<<slot) != 0
	*s &^= 1 << slot
	return had
}
