package load

import (
	"runtime"

	"assay/internal/eventloop"
)

// perLoop is the number of clients for a loop. With fewer, a processor idles while one works.
const perLoop = 8

// mostInLoops bounds the clients in loops. A client outside of its loop takes a second goroutine,
// and clients of databases without loops always are outside.
const mostInLoops = 512

// newLoops returns at most one loop for two processors, since the database and the rest of the
// process need some too.
func newLoops(p Plan) eventloop.Loops {
	if !p.Sequential || p.Arrivals != Closed || p.Clients == 1 || p.Clients > mostInLoops {
		return nil
	}
	return eventloop.Several(min(max(p.Clients/perLoop, 1), runtime.GOMAXPROCS(0)/2))
}
