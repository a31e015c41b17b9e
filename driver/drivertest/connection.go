package drivertest

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"assay/history"
	"assay/internal/wait"
	"assay/store"
)

// attempt makes one attempt, over a new session if necessary. It fails the test if the reply
// contradicts itself or shows the password, and drops a broken session.
func (c *client) attempt(ctx context.Context, what string, do func(session store.Session) store.Reply) store.Reply {
	c.f.t.Helper()
	session, err := c.Session(ctx)
	r := store.Unsent(err)
	if err == nil {
		r = do(session)
	}
	switch {
	case !r.Outcome.Valid():
		c.f.t.Errorf("%s: %v", what, r.Outcome)
	case r.Outcome == history.Committed && (r.Class != "" || r.Err != nil):
		c.f.t.Errorf("%s: committed with an error: %q %v", what, r.Class, r.Err)
	case r.Outcome != history.Committed && r.Class == "":
		c.f.t.Errorf("%s: %v without a class: %v", what, r.Outcome, r.Err)
	case r.Duplicate && r.Outcome != history.Failed:
		c.f.t.Errorf("%s: a duplicate answered as %v", what, r.Outcome)
	}
	c.f.wantNoSecret(what, fmt.Sprint(r.Class, r.Err))
	c.After(r.Outcome, r.Broken)
	return r
}

// tries bounds how often a failed attempt is repeated. Databases that refuse conflicts instead
// of waiting need many tries when eight clients race.
const tries = 300

// retry repeats an attempt that failed and was no duplicate, after pauses that grow to 20 ms.
func retry(ctx context.Context, attempt func() store.Reply) store.Reply {
	var r store.Reply
	for try := range tries {
		if r = attempt(); r.Outcome != history.Failed || r.Duplicate || ctx.Err() != nil {
			break
		}
		pause(ctx, rand.N(time.Duration(min(try+1, 20))*time.Millisecond))
	}
	return r
}

func pause(ctx context.Context, d time.Duration) {
	_ = wait.Pause(ctx, d) // whoever waits looks at ctx
}

func ended(ctx context.Context) context.Context {
	over, cancel := context.WithCancel(ctx)
	cancel()
	return over
}

// contextsOver calls over five times with an ended context, and ending n times with a context
// that ends at a random moment of twice the usual time.
func contextsOver(ctx context.Context, n int, usual time.Duration, over, ending func(ctx context.Context)) {
	for range 5 {
		over(ended(ctx))
	}
	for range n {
		limited, cancel := context.WithTimeout(ctx, rand.N(2*usual+time.Microsecond))
		ending(limited)
		cancel()
	}
}

func (f *fixture) connected(n int) []*client {
	f.t.Helper()
	both := []store.Database{f.store, f.open()}
	clients := make([]*client, n)
	for i := range clients {
		clients[i] = f.client(both[i%len(both)], i)
		clients[i].mustConnect(f.ctx)
	}
	return clients
}

// together is atOnce, and each client then closes its session.
func together(clients []*client, run func(c *client)) {
	atOnce(clients, func(c *client) {
		run(c)
		c.Close()
	})
}

func atOnce(clients []*client, run func(c *client)) {
	start := make(chan struct{})
	var all sync.WaitGroup
	for _, c := range clients {
		all.Go(func() {
			<-start
			run(c)
		})
	}
	close(start)
	all.Wait()
}

// whileFailing has clients, numbered from first, write during faults. A fault begins after the
// given number of acknowledged writes since the fault before. In the end, and when a fault calls
// work, it waits until every client has had one more write acknowledged.
func (f *fixture) whileFailing(db store.Database, first, clients int, acknowledged int64, faults ...func(work func())) {
	f.t.Helper()
	working, stop := context.WithCancel(f.ctx)
	commits := make([]atomic.Int64, clients)
	var all sync.WaitGroup
	defer all.Wait()
	defer stop()
	for i := range commits {
		c := f.client(db, first+i)
		all.Go(func() { c.work(f.ctx, working, &commits[i]) })
	}
	// await waits until enough was committed since its call, counted by client.
	await := func(enough func(more []int64) bool) {
		more, before := make([]int64, len(commits)), make([]int64, len(commits))
		for i := range commits {
			before[i] = commits[i].Load()
		}
		for !enough(more) {
			if f.ctx.Err() != nil {
				f.t.Fatal("the clients do not commit any more")
			}
			pause(f.ctx, 2*time.Millisecond)
			for i := range commits {
				more[i] = commits[i].Load() - before[i]
			}
		}
	}
	work := func() { await(func(more []int64) bool { return slices.Min(more) > 0 }) }
	for _, fault := range faults {
		await(func(more []int64) bool {
			var sum int64
			for _, n := range more {
				sum += n
			}
			return sum >= acknowledged
		})
		fault(work)
	}
	work()
}

func (c *client) work(ctx, working context.Context, commits *atomic.Int64) {
	defer c.Close()
	for working.Err() == nil {
		limited, cancel := context.WithTimeout(ctx, 5*time.Second)
		_, reply := c.write(limited)
		cancel()
		if reply.Outcome == history.Committed {
			commits.Add(1)
		} else {
			pause(working, 5*time.Millisecond)
		}
	}
}

func cuts(proxy *Proxy, n int) []func(func()) {
	return slices.Repeat([]func(func()){func(func()) { proxy.Cut(); proxy.Pass() }}, n)
}
