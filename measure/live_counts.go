package measure

import (
	"runtime"
	"sync"

	"assay/history"
)

// Clients share stripes beyond stripesEach for each processor, so that with two processors
// they take 1.6 MB, and maxStripes bounds them to 13 MB.
const (
	stripesEach = 4
	maxStripes  = 64
)

// Live counts while the run goes on. Add is called from many goroutines, and
// Snapshot beside them.
type Live struct {
	stripes []*stripe

	mu       sync.Mutex // held by Snapshot
	spare    *distribution
	total    *distribution
	recent   *distribution
	outcomes history.Counts
	attempts int64
}

// stripe belongs to one client, or to one in so many. It is allocated on
// its own, so that two clients do not share a line of the processor's cache.
type stripe struct {
	mu       sync.Mutex
	latency  *distribution
	outcomes history.Counts
	attempts int64
	_        [64]byte
}

// NewLive returns the counters for so many clients.
func NewLive(clients int) *Live {
	l := &Live{spare: newDistribution(fine), total: newDistribution(fine), recent: newDistribution(fine)}
	for range min(max(clients, 1), stripesEach*runtime.GOMAXPROCS(0), maxStripes) {
		l.stripes = append(l.stripes, &stripe{latency: newDistribution(fine)})
	}
	return l
}

// Add counts one attempt, and the operation if the attempt ends it. The op is
// not kept.
func (l *Live) Add(op *history.Op) {
	s := l.stripes[uint(op.Client)%uint(len(l.stripes))]
	s.mu.Lock()
	defer s.mu.Unlock()
	s.attempts++
	if !op.Last {
		return
	}
	s.outcomes.Add(op.Final, 1)
	if op.Final == history.Committed {
		s.latency.record(op.Latency())
	}
}

// Snapshot is the state of a run under way.
type Snapshot struct {
	// Outcomes counts the operations so far, Recent those since the snapshot
	// before, and Attempts and RecentAttempts their attempts.
	Outcomes, Recent         history.Counts
	Attempts, RecentAttempts int64
	// Latency is the response time of the committed operations so far,
	// RecentLatency of those since the snapshot before.
	Latency, RecentLatency Latency
}

// Snapshot returns the state of the run. A client waits for it no longer than
// it takes to exchange its histogram for an empty one; merging is done aside
// (the idea of HdrHistogram's interval recorder).
func (l *Live) Snapshot() Snapshot {
	l.mu.Lock()
	defer l.mu.Unlock()
	var out Snapshot
	out.Recent, out.RecentAttempts = l.drain()
	l.total.merge(l.recent)
	l.outcomes = l.outcomes.Plus(out.Recent)
	l.attempts += out.RecentAttempts
	out.Outcomes, out.Attempts = l.outcomes, l.attempts
	out.Latency, out.RecentLatency = l.total.latency(), l.recent.latency()
	return out
}

// drain moves what was counted from the clients' parts into recent and returns the
// counts. l.mu is held.
func (l *Live) drain() (outcomes history.Counts, attempts int64) {
	l.recent.reset()
	for _, s := range l.stripes {
		s.mu.Lock()
		l.spare, s.latency = s.latency, l.spare
		outcomes, attempts = outcomes.Plus(s.outcomes), attempts+s.attempts
		s.outcomes, s.attempts = history.Counts{}, 0
		s.mu.Unlock()
		if l.spare.count() > 0 {
			l.recent.merge(l.spare)
			l.spare.reset()
		}
	}
	return outcomes, attempts
}
