package eventloop

import "context"

// Loops share callers. If there are none, each caller has its own goroutine.
type Loops []*Loop

// Several starts n loops, or fewer if the system does not allow them.
func Several(n int) (all Loops) {
	for range n {
		loop, err := New()
		if err != nil {
			break // the others do, or goroutines
		}
		all = append(all, loop)
	}
	return all
}

// Start runs the work of caller number n.
func (l Loops) Start(ctx context.Context, n int, work func(context.Context)) {
	if len(l) == 0 {
		go work(ctx)
		return
	}
	l[n%len(l)].Go(ctx, work)
}

// Release says that all callers have been started.
func (l Loops) Release() {
	for _, loop := range l {
		loop.Release()
	}
}
