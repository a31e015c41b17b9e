package binlog

import (
	"sync"
	"time"

	"assay/cluster/server"
)

// monitor knows when a server last answered.
type monitor struct {
	node *server.Node

	mu   sync.Mutex
	last time.Time
}

// newMonitor gives the server the benefit of the doubt.
func newMonitor(node *server.Node) *monitor { return &monitor{node: node, last: time.Now()} }

func (m *monitor) answered() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.last = time.Now()
}

// silence is for how long nothing was heard.
func (m *monitor) silence() time.Duration {
	m.mu.Lock()
	defer m.mu.Unlock()
	return time.Since(m.last)
}

const (
	// probeEvery is how often the primary is tried, and the set looked after.
	probeEvery = 250 * time.Millisecond
	// longestProbe is how long an attempt may take at most.
	longestProbe = 4 * time.Second
	// mostProbes is how many attempts may be open at the same time: enough that there is
	// always a fresh one.
	mostProbes = int(longestProbe / probeEvery)
)

// probe keeps logging in to the primary. A new attempt starts each probeEvery, whether or not
// those before were answered, and each may take almost as long as the primary may be silent:
// so a primary that takes two seconds for every answer is slow and not lost.
func (s *Set) probe() {
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
		m := s.watch.Load()
		if time.Since(before) > 4*probeEvery {
			m.answered() // it was assay that stood still, so nobody has asked
		}
		before = time.Now()
		select {
		case open <- struct{}{}:
			attempts.Go(func() {
				defer func() { <-open }()
				if s.options.Login.Answers(s.alive, m.node, min(max(s.options.FailoverAfter, askBound), longestProbe)) {
					m.answered()
				}
			})
		default:
		}
	}
}
