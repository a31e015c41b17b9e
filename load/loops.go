package load

import (
	"runtime"

	"assay/internal/eventloop"
)

// perLoop is how many clients a loop is made for: fewer leave a processor idle while one of
// them works.
const perLoop = 8

// mostInLoops is the most clients that are in loops: each takes a second goroutine there while
// it is outside, which those of databases without loops always are.
const mostInLoops = 512

// newLoops returns the loops for a plan: at most one to two processors, since the database
// may need some too, and all else that the process does.
func newLoops(p Plan) eventloop.Loops {
	if !p.Sequential || p.Arrivals != Closed || p.Clients == 1 || p.Clients > mostInLoops {
		return nil
	}
	return eventloop.Several(min(max(p.Clients/perLoop, 1), runtime.GOMAXPROCS(0)/2))
}
