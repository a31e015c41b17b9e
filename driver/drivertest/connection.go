package drivertest

import (
	"context"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"assay/history"
	"assay/workload"
)

// connection is one client's session on a Store, which it replaces as the
// workloads' clients do. It is used by one goroutine.
type connection[N interface{ Close() }] struct {
	workload.Connection[N]
	t      testing.TB
	secret string
}

// newConnection gives a connection that is closed with the test.
func newConnection[S workload.Store, N interface{ Close() }](f *fixture[S], dial func(ctx context.Context) (N, error)) connection[N] {
	return connection[N]{Connection: workload.Connection[N]{Open: dial}, t: f.t, secret: f.harness.Secret}
}

// connect makes sure that there is a session.
func (c *connection[N]) connect(ctx context.Context) error {
	_, err := c.Session(ctx)
	return err
}

// mustConnect is connect, and ends the test unless there is a session.
func (c *connection[N]) mustConnect(ctx context.Context) {
	c.t.Helper()
	if err := c.connect(ctx); err != nil {
		c.t.Fatalf("Session: %v", err)
	}
}

func (c *connection[N]) close() { c.Close() }

// attempt makes one attempt of what it is for, over a new session if need be. It
// fails the test for a reply that contradicts itself or gives the password, and
// gives the session up if it cannot be used any more.
func (c *connection[N]) attempt(ctx context.Context, what string, do func(session N) workload.Reply) workload.Reply {
	c.t.Helper()
	session, err := c.Session(ctx)
	r := workload.Unsent(err)
	if err == nil {
		r = do(session)
	}
	switch {
	case !r.Outcome.Valid():
		c.t.Errorf("%s: %v", what, r.Outcome)
	case r.Outcome == history.Committed && (r.Class != "" || r.Err != nil):
		c.t.Errorf("%s: committed with an error: %q %v", what, r.Class, r.Err)
	case r.Outcome != history.Committed && r.Class == "":
		c.t.Errorf("%s: %v without a class: %v", what, r.Outcome, r.Err)
	case r.Duplicate && r.Outcome != history.Failed:
		c.t.Errorf("%s: a duplicate answered as %v", what, r.Outcome)
	}
	if c.secret != "" && (strings.Contains(r.Class, c.secret) || r.Err != nil && strings.Contains(r.Err.Error(), c.secret)) {
		c.t.Errorf("%s: the reply gives the password", what)
	}
	c.After(r.Outcome, r.Broken)
	return r
}

// tries bounds how often an attempt is repeated after Failed. Databases that
// refuse conflicts instead of waiting need many when eight clients race.
const tries = 300

// retry repeats an attempt while it is Failed and no duplicate, after pauses that
// grow to 20 ms, and returns the last reply.
func retry(ctx context.Context, attempt func() workload.Reply) workload.Reply {
	var r workload.Reply
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
	_ = workload.Pause(ctx, d) // whoever waits looks at ctx
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

// client is a client of any workload.
type client interface {
	connect(ctx context.Context) error
	close()
}

// connected returns n clients over two Stores, each with a session.
func connected[S workload.Store, C client](f *fixture[S], n int, client func(store S, number int) C) []C {
	f.t.Helper()
	stores := []S{f.store, f.open()}
	clients := make([]C, n)
	for i := range clients {
		clients[i] = client(stores[i%len(stores)], i)
		f.must("Session", clients[i].connect(f.ctx))
	}
	return clients
}

// together runs the same for all clients at once and closes their sessions.
func together[C client](clients []C, run func(c C)) {
	start := make(chan struct{})
	var all sync.WaitGroup
	for _, c := range clients {
		all.Go(func() {
			<-start
			run(c)
			c.close()
		})
	}
	close(start)
	all.Wait()
}

// writer is a client that makes writes of its own, each under a fresh id, and records
// the answers.
type writer interface {
	client
	// write makes the next write. It is there once that is acknowledged.
	write(ctx context.Context) (id any, reply workload.Reply)
}

// whileFailing has clients of a Store write until each fault is over, which begins after
// so many more writes were acknowledged, and until every client has then had another one
// acknowledged.
func whileFailing[S workload.Store](ctx context.Context, t testing.TB, store S, clients int, open func(store S, number int) writer, acknowledged int64, faults ...func()) {
	t.Helper()
	working, stop := context.WithCancel(ctx)
	commits := make([]atomic.Int64, clients)
	var all sync.WaitGroup
	defer all.Wait()
	defer stop()
	for i := range commits {
		w := open(store, i)
		all.Go(func() { work(ctx, working, w, &commits[i]) })
	}
	// await waits until enough more was committed than at the call, by client.
	await := func(enough func(more []int64) bool) {
		more, before := make([]int64, len(commits)), make([]int64, len(commits))
		for i := range commits {
			before[i] = commits[i].Load()
		}
		for !enough(more) {
			if ctx.Err() != nil {
				t.Fatal("the clients do not commit any more")
			}
			pause(ctx, 2*time.Millisecond)
			for i := range commits {
				more[i] = commits[i].Load() - before[i]
			}
		}
	}
	for _, fault := range faults {
		await(func(more []int64) bool {
			var sum int64
			for _, n := range more {
				sum += n
			}
			return sum >= acknowledged
		})
		fault()
	}
	await(func(more []int64) bool { return slices.Min(more) > 0 })
}

// work makes writes until working ends, each bounded by a time limit.
func work(ctx, working context.Context, w writer, commits *atomic.Int64) {
	defer w.close()
	for working.Err() == nil {
		limited, cancel := context.WithTimeout(ctx, 5*time.Second)
		_, reply := w.write(limited)
		cancel()
		if reply.Outcome == history.Committed {
			commits.Add(1)
		} else {
			pause(working, 5*time.Millisecond)
		}
	}
}

// cuts cuts all connections and lets new ones pass, so many times.
func cuts(proxy *Proxy, n int) []func() {
	return slices.Repeat([]func(){func() { proxy.Cut(); proxy.Pass() }}, n)
}
