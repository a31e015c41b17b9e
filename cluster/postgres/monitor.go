package postgres

import (
	"context"
	"sync"
	"time"
)

// monitor knows when a server last answered.
type monitor struct {
	server *Server

	mu   sync.Mutex
	last time.Time
}

// newMonitor gives the server the benefit of the doubt.
func newMonitor(server *Server) *monitor { return &monitor{server: server, last: time.Now()} }

func (w *monitor) answered() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.last = time.Now()
}

// silence is for how long nothing was heard.
func (w *monitor) silence() time.Duration {
	w.mu.Lock()
	defer w.mu.Unlock()
	return time.Since(w.last)
}

const (
	// probeEvery is how often the primary is tried, and the set looked after.
	probeEvery = 250 * time.Millisecond
	// longestProbe is how long an attempt may take at most.
	longestProbe = 4 * time.Second
	// mostProbes is how many attempts may be open at the same time: enough that
	// there is always a fresh one.
	mostProbes = int(longestProbe / probeEvery)
)

// probePrimary keeps opening connections to the primary. A new one starts each
// probeEvery, whether or not those before were answered, and each may take almost
// as long as the primary may be silent: so a primary that takes two seconds for
// every answer is slow and not lost.
func (s *Set) probePrimary() {
	var attempts sync.WaitGroup
	defer attempts.Wait()
	open := make(chan struct{}, mostProbes)
	ticker := time.NewTicker(min(probeEvery, s.options.FailoverAfter/4))
	defer ticker.Stop()
	for before := time.Now(); ; {
		select {
		case <-s.alive.Done():
			return
		case <-ticker.C:
		}
		w := s.watch.Load()
		if time.Since(before) > 4*probeEvery {
			w.answered() // it was assay that stood still, so nobody has asked
		}
		before = time.Now()
		select {
		case open <- struct{}{}:
			attempts.Go(func() {
				defer func() { <-open }()
				w.probe(s.alive, min(max(s.options.FailoverAfter, askBound), longestProbe))
			})
		default:
		}
	}
}

// probe opens one connection. Any answer counts, even from a server that
// starts up or shuts down.
func (w *monitor) probe(ctx context.Context, bound time.Duration) {
	ctx, cancel := context.WithTimeout(ctx, bound)
	defer cancel()
	state, _ := askState(ctx, w.server.Node.Address(), w.server.options.User)
	if state > stateSilent {
		w.answered()
	}
}
