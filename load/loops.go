package load

import (
	"context"
	"runtime"

	"assay/internal/eventloop"
)

// perLoop is how many clients a loop is made for: fewer leave a processor idle while one of
// them works.
const perLoop = 8

// mostInLoops is the most clients that are in loops: each takes a second goroutine there while
// it is outside, which those of databases without loops always are.
const mostInLoops = 512

// loops are those that clients work in; none if each has a goroutine of its own.
type loops []*eventloop.Loop

// newLoops returns the loops for a plan: at most one to two processors, since the database
// may need some too, and all else that the process does.
func newLoops(p Plan) (all loops) {
	if !p.Sequential || p.Arrivals != Closed || p.Clients == 1 || p.Clients > mostInLoops {
		return nil
	}
	for range min(max(p.Clients/perLoop, 1), runtime.GOMAXPROCS(0)/2) {
		loop, err := eventloop.New()
		if err != nil {
			break // the others do, or goroutines
		}
		all = append(all, loop)
	}
	return all
}

// start has client number n work.
func (l loops) start(ctx context.Context, n int, work func(context.Context)) {
	if len(l) == 0 {
		go work(ctx)
		return
	}
	l[n%len(l)].Go(ctx, work)
}

// release says that all clients have been started.
func (l loops) release() {
	for _, loop := range l {
		loop.Release()
	}
}
