package drivertest

import (
	"context"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"assay/history"
	"assay/workload/bank"
)

// crew is some clients that work on four accounts until they are stopped,
// whatever happens to their connections.
type crew struct {
	p       *place
	cancel  context.CancelFunc
	ended   sync.WaitGroup
	commits []atomic.Int64 // by client
}

func (p *place) start(store bank.Store, n int) *crew {
	ctx, cancel := context.WithCancel(p.ctx)
	w := &crew{p: p, cancel: cancel, commits: make([]atomic.Int64, n)}
	for i := range n {
		c := p.client(store, i)
		w.ended.Go(func() { w.work(ctx, c, &w.commits[i]) })
	}
	p.t.Cleanup(w.stop)
	return w
}

func (w *crew) work(ctx context.Context, c *client, commits *atomic.Int64) {
	defer c.close()
	for ctx.Err() == nil {
		source := rand.Int64N(4)
		tr := c.next(1+source, 1+(source+1+rand.Int64N(3))%4, 1+rand.Int64N(100))
		limited, cancel := context.WithTimeout(w.p.ctx, 5*time.Second)
		r := c.do(limited, tr)
		cancel()
		if r.Outcome == history.Committed {
			commits.Add(1)
			continue
		}
		pause(ctx, 10*time.Millisecond)
	}
}

// stop lets each client end its transfer and waits for it.
func (w *crew) stop() {
	w.cancel()
	w.ended.Wait()
}

// awaitCommits waits for n more transfers to commit, by anybody.
func (w *crew) awaitCommits(n int64) {
	w.p.t.Helper()
	want := w.total() + n
	w.await(func() bool { return w.total() >= want })
}

// awaitEach waits for each client to commit at least once more: none has
// ended.
func (w *crew) awaitEach() {
	w.p.t.Helper()
	before := make([]int64, len(w.commits))
	for i := range w.commits {
		before[i] = w.commits[i].Load()
	}
	w.await(func() bool {
		for i := range w.commits {
			if w.commits[i].Load() == before[i] {
				return false
			}
		}
		return true
	})
}

func (w *crew) total() int64 {
	var n int64
	for i := range w.commits {
		n += w.commits[i].Load()
	}
	return n
}

func (w *crew) await(done func() bool) {
	w.p.t.Helper()
	for !done() {
		if w.p.ctx.Err() != nil {
			w.p.t.Fatal("the clients do not commit any more")
		}
		pause(w.p.ctx, 5*time.Millisecond)
	}
}
