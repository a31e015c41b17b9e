package measure

import (
	"runtime"
	"sync"

	"assay/history"
)

// Clients share stripes beyond stripesEach for each processor (1.6 MB with two processors).
// maxStripes bounds the memory to 13 MB.
const (
	stripesEach = 4
	maxStripes  = 64
)

// Live counts during the run. Many goroutines may call Add, and Snapshot beside them.
type Live struct {
	stripes []*stripe

	mu       sync.Mutex // held by Snapshot
	spare    *distribution
	total    *distribution
	recent   *distribution
	outcomes history.Counts
	attempts int64
}

// stripe belongs to one or a few clients. Each is allocated separately, so that two do not share a
// line of the processor's cache.
type stripe struct {
	mu       sync.Mutex
	latency  *distribution
	outcomes history.Counts
	attempts int64
	_        [64]byte
}

// NewLive returns the counters for this number of clients.
func NewLive(clients int) *Live {
	l := &Live{spare: newDistribution(fine), total: newDistribution(fine), recent: newDistribution(fine)}
	for range min(max(clients, 1), stripesEach*runtime.GOMAXPROCS(0), maxStripes) {
		l.stripes = append(l.stripes, &stripe{latency: newDistribution(fine)})
	}
	return l
}

// Add counts an attempt, and the operation if the attempt ends it. It does not keep op.
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
	// Outcomes counts all operations, Recent those since the previous snapshot. Attempts and
	// RecentAttempts count their attempts.
	Outcomes, Recent         history.Counts
	Attempts, RecentAttempts int64
	// Latency and RecentLatency are the response times of the committed among them.
	Latency, RecentLatency Latency
}

// Snapshot returns the state of the run. A client waits only while its histogram is exchanged for
// an empty one; merging comes later (the idea of HdrHistogram's interval recorder).
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

// drain moves the clients' counts into recent and returns the counts. The caller holds l.mu.
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
