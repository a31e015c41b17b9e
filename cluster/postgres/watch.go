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
	// lookEvery is how often the primary is tried, and the set looked after.
	lookEvery = 250 * time.Millisecond
	// longestLook is how long an attempt may take at most.
	longestLook = 4 * time.Second
	// mostLooks is how many attempts may be open at the same time: enough that
	// there is always a fresh one.
	mostLooks = int(longestLook / lookEvery)
)

// lookOut keeps opening connections to the primary. A new one starts each
// lookEvery, whether or not those before were answered, and each may take almost
// as long as the primary may be silent: so a primary that takes two seconds for
// every answer is slow and not lost.
func (s *Set) lookOut() {
	var attempts sync.WaitGroup
	defer attempts.Wait()
	open := make(chan struct{}, mostLooks)
	ticker := time.NewTicker(min(lookEvery, s.options.FailoverAfter/4))
	defer ticker.Stop()
	for before := time.Now(); ; {
		select {
		case <-s.alive.Done():
			return
		case <-ticker.C:
		}
		w := s.watch.Load()
		if time.Since(before) > 4*lookEvery {
			w.answered() // it was assay that stood still, so nobody has asked
		}
		before = time.Now()
		select {
		case open <- struct{}{}:
			attempts.Go(func() {
				defer func() { <-open }()
				w.look(s.alive, min(max(s.options.FailoverAfter, askBound), longestLook))
			})
		default:
		}
	}
}

// look opens one connection. Any answer counts, even that of a server which
// starts up or shuts down.
func (w *monitor) look(ctx context.Context, bound time.Duration) {
	ctx, cancel := context.WithTimeout(ctx, bound)
	defer cancel()
	state, _ := askState(ctx, w.server.Node.Address(), w.server.options.User)
	if state > stateSilent {
		w.answered()
	}
}
