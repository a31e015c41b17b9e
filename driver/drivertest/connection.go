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

// attempt makes one attempt of what it is for, over a new session if need be. It
// fails the test for a reply that contradicts itself or gives the password, and
// gives the session up if it cannot be used any more.
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

// tries bounds how often an attempt is repeated after Failed. Databases that
// refuse conflicts instead of waiting need many when eight clients race.
const tries = 300

// retry repeats an attempt while it is Failed and no duplicate, after pauses that
// grow to 20 ms, and returns the last reply.
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

// pause waits so long, or until ctx ends.
func pause(ctx context.Context, d time.Duration) {
	_ = wait.Pause(ctx, d) // whoever waits looks at ctx
}

// ended is a context that is over.
func ended(ctx context.Context) context.Context {
	over, cancel := context.WithCancel(ctx)
	cancel()
	return over
}

// contextsOver gives attempts contexts that are over before, and n that end at
// all moments of what usually takes so long.
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

// connected returns n clients over two Databases, each with a session.
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

// together runs the same for all clients at once and closes their sessions.
func together(clients []*client, run func(c *client)) {
	atOnce(clients, func(c *client) {
		run(c)
		c.Close()
	})
}

// atOnce runs the same for all clients at once.
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

// whileFailing has clients, numbered from first on, write until each fault is over, which begins after
// so many more writes were acknowledged, and until every client has then had another one
// acknowledged. A fault may wait for that too, by calling work.
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
	// await waits until enough more was committed than at the call, by client.
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

// work makes writes until working ends, each bounded by a time limit.
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

// cuts cuts all connections and lets new ones pass, so many times.
func cuts(proxy *Proxy, n int) []func(func()) {
	return slices.Repeat([]func(func()){func(func()) { proxy.Cut(); proxy.Pass() }}, n)
}
