package server

import (
	"context"
	"sync"
	"sync/atomic"
	"time"
)

// Watch knows for how long the primary of a set of servers has been silent, and has the set
// looked after. Its methods are safe for concurrent use.
type Watch struct {
	// failoverAfter is for how long the primary must not answer until it is lost.
	failoverAfter time.Duration
	wake          chan struct{} // asks for a check now
	primary       atomic.Pointer[watched]
}

// watched is one server while it is the primary.
type watched struct {
	answers func(ctx context.Context, bound time.Duration) bool

	mu   sync.Mutex
	last time.Time
}

const (
	// ProbeEvery is how often the primary is tried, and the set looked after.
	ProbeEvery = 250 * time.Millisecond
	// leastProbe is how long an attempt may take in any case, and longestProbe at most.
	leastProbe   = time.Second
	longestProbe = 4 * time.Second
	// mostProbes is how many attempts may be open at the same time: enough that there is
	// always a fresh one.
	mostProbes = int(longestProbe / ProbeEvery)
)

// NewWatch is over nobody yet. failoverAfter is for how long a primary must not answer until it
// is lost, more than 0.
func NewWatch(failoverAfter time.Duration) *Watch {
	return &Watch{failoverAfter: failoverAfter, wake: make(chan struct{}, 1)}
}

// Over has this server watched from now on, and gives it the benefit of the doubt. answers
// reports whether anything came back from it within bound.
func (w *Watch) Over(answers func(ctx context.Context, bound time.Duration) bool) {
	w.primary.Store(&watched{answers: answers, last: time.Now()})
}

// Answered says that the server has just been heard of.
func (w *Watch) Answered() { w.primary.Load().answered() }

// Silence is for how long nothing was heard of the server.
func (w *Watch) Silence() time.Duration { return w.primary.Load().silence() }

// Probe keeps asking the server until ctx ends. A new attempt starts each ProbeEvery, whether
// or not those before were answered, and each may take almost as long as the primary may be
// silent: so a primary that takes two seconds for every answer is slow and not lost.
func (w *Watch) Probe(ctx context.Context) {
	var attempts sync.WaitGroup
	defer attempts.Wait()
	open := make(chan struct{}, mostProbes)
	ticker := time.NewTicker(min(ProbeEvery, w.failoverAfter/4))
	defer ticker.Stop()
	for before := time.Now(); ; {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		p := w.primary.Load()
		if time.Since(before) > 4*ProbeEvery {
			p.answered() // it was assay that stood still, so nobody has asked
		}
		before = time.Now()
		select {
		case open <- struct{}{}:
			attempts.Go(func() {
				defer func() { <-open }()
				p.probe(ctx, min(max(w.failoverAfter, leastProbe), longestProbe))
			})
		default:
		}
	}
}

// Supervise has the set checked each ProbeEvery, and whenever CheckNow asks for it, until ctx
// ends.
func (w *Watch) Supervise(ctx context.Context, check func(context.Context)) {
	ticker := time.NewTicker(min(ProbeEvery, w.failoverAfter/4))
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-w.wake:
		case <-ticker.C:
		}
		check(ctx)
	}
}

// CheckNow has Supervise check the set at once.
func (w *Watch) CheckNow() {
	select {
	case w.wake <- struct{}{}:
	default:
	}
}

// probe asks once.
func (p *watched) probe(ctx context.Context, bound time.Duration) {
	if p.answers(ctx, bound) {
		p.answered()
	}
}

func (p *watched) answered() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.last = time.Now()
}

func (p *watched) silence() time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	return time.Since(p.last)
}
