package replay

import (
	"context"
	"math"
	"sync"
)

// order has transactions that did not overlap in the recording follow one another in a replay
// without pauses, too: one begins only when all that had ended before it began have ended. It is
// safe for concurrent use.
//
// No two wait for one another: what is under way waits for nobody here, and of those that have
// not begun the one that ended first waits only for such as are under way.
type order struct {
	mu sync.Mutex
	// ends are, of each lane, the recorded end of its transaction that is under way or comes
	// next; +Inf when it has none any more.
	ends    []float64
	changed chan struct{} // closed when one of them grows
}

func newOrder(lanes [][]session) *order {
	o := &order{ends: make([]float64, len(lanes)), changed: make(chan struct{})}
	for i, sessions := range lanes {
		o.ends[i] = sessions[0].begin
	}
	return o
}

// next says what a lane has next, when what it had has ended: a transaction with this recorded
// end.
func (o *order) next(lane int, end float64) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.ends[lane] = end
	close(o.changed)
	o.changed = make(chan struct{})
}

func (o *order) over(lane int) { o.next(lane, math.Inf(1)) }

// wait returns when a transaction of the lane that began at this time may begin; false when ctx
// has ended.
func (o *order) wait(ctx context.Context, lane int, begin float64) bool {
	for {
		o.mu.Lock()
		changed, free := o.changed, true
		for i, end := range o.ends {
			free = free && (i == lane || end > begin || end >= o.ends[lane])
		}
		o.mu.Unlock()
		if free {
			return ctx.Err() == nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return false
		}
	}
}
