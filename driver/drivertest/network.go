package drivertest

import (
	"context"
	"errors"
	"fmt"
	"net"
	"testing"
	"time"

	"assay/history"
	"assay/workload"
	"assay/workload/bank"
)

// Network is what a driver's test gives to have its bank.Store tried over a
// network that breaks and with a server that dies.
type Network struct {
	// OpenVia opens a Store on the place under test through this address, as
	// "host:port": Server, a proxy before it, or a port where nobody listens or
	// answers. The place is the same at every call and may be emptied. The
	// driver is to stay with this address (no discovery of other members) and
	// to have a ConnectTimeout of a few seconds. The suite closes the Store.
	OpenVia func(t *testing.T, addr string) (bank.Store, error)
	// Server is the server's own address, as "host:port".
	Server string
	// CommitMarker is in what the client sends when it commits and in nothing
	// that it sends earlier in a transfer: "commit". Upper or lower case.
	CommitMarker []byte
	// Restart kills the server as by kill -9 and starts it again; it returns
	// when the server has been started, if not yet ready.
	Restart func(t *testing.T)
	// Secret is as in Bank.
	Secret string
}

// RunNetwork tries what a transfer is said to have ended as when the
// connection or the server breaks. Its subtests run one after the other on one
// place.
func RunNetwork(t *testing.T, h Network) {
	t.Run("CutBeforeSending", h.testCutBeforeSending)
	t.Run("CutBeforeCommit", h.testCutBeforeCommit)
	t.Run("CutAfterCommit", h.testCutAfterCommit)
	t.Run("Frozen", h.testFrozen)
	t.Run("AnswersSwallowed", h.testAnswersSwallowed)
	t.Run("CutAtAnyTime", h.testCutAtAnyTime)
	t.Run("Unreachable", h.testUnreachable)
	t.Run("ServerSaysNothing", h.testServerSaysNothing)
	if h.Restart != nil {
		t.Run("Restart", h.testRestart)
	}
}

// broken is a loaded place with a Store of its own behind a proxy.
type broken struct {
	*place
	proxy *Proxy
	via   bank.Store
}

// direct gives a loaded place that is reached without a proxy.
func (h Network) direct(t *testing.T, balances ...int64) *place {
	t.Helper()
	return loadedPlace(t, Bank{Secret: h.Secret, Open: func(t *testing.T) bank.Store {
		t.Helper()
		store, err := h.OpenVia(t, h.Server)
		if err != nil {
			t.Fatalf("open: %v", err)
		}
		return store
	}}, balances...)
}

func (h Network) broken(t *testing.T, balances ...int64) *broken {
	t.Helper()
	p := h.direct(t, balances...)
	proxy, via := p.through(h.Server, h.OpenVia)
	return &broken{place: p, proxy: proxy, via: via}
}

// warm returns a client behind the proxy whose session has done a transfer.
func (b *broken) warm(number int) *client {
	b.t.Helper()
	c := b.client(b.via, number)
	c.commit(b.ctx, c.next(1, 2, 1))
	return c
}

// recover lets everything pass again and wants the clients to work, on this
// path and beside it, and the data to fit what was answered.
func (b *broken) recover(c *client) Snapshot {
	b.t.Helper()
	b.proxy.Pass()
	c.close()
	b.check()
	b.comeBack(c)
	beside := b.client(b.store, c.number+1000)
	b.comeBack(beside)
	c.close()
	beside.close()
	return b.check()
}

// comeBack repeats fresh transfers until one commits.
func (p *place) comeBack(c *client) {
	p.t.Helper()
	var r bank.Reply
	for p.ctx.Err() == nil {
		ctx, cancel := context.WithTimeout(p.ctx, 10*time.Second)
		r = c.do(ctx, c.next(1, 2, 1))
		cancel()
		if r.Outcome == history.Committed {
			return
		}
		pause(p.ctx, 20*time.Millisecond)
	}
	p.t.Fatalf("no transfer commits any more: %v (%s: %v)", r.Outcome, r.Class, r.Err)
}

// disturbed does a transfer that cannot end well within a short time limit,
// and fails the test if it does not return, or returns what cannot be known.
func (b *broken) disturbed(c *client, tr bank.Transfer, limit time.Duration) bank.Reply {
	b.t.Helper()
	r := during(b.ctx, b.t, limit, func(ctx context.Context) bank.Reply { return c.do(ctx, tr) }, func() {})
	if r.Outcome == history.Committed || r.Outcome == history.Rejected || r.Duplicate {
		b.t.Errorf("transfer over a broken connection: %+v", r)
	}
	return r
}

func (h Network) testCutBeforeSending(t *testing.T) {
	b := h.broken(t, 1000, 1000)
	c := b.warm(0)
	b.proxy.Cut()
	tr := c.next(1, 2, 7)
	b.disturbed(c, tr, 10*time.Second)
	if _, there := b.recover(c).Entry(tr.ID); there {
		t.Error("a transfer of which nothing was sent has a row")
	}
}

// testCutBeforeCommit loses the commit on its way: nothing may remain of the
// transaction, no row and no lock, but the client cannot know.
func (h Network) testCutBeforeCommit(t *testing.T) {
	b := h.broken(t, 1000, 1000)
	for number := range 3 {
		c := b.warm(number)
		seen := b.proxy.Arm(h.CommitMarker, false)
		tr := c.next(1, 2, 7)
		if r := b.disturbed(c, tr, 10*time.Second); r.Outcome != history.Unknown {
			t.Errorf("commit lost on its way: %v (%s: %v), want unknown", r.Outcome, r.Class, r.Err)
		}
		b.mustHaveSeen(seen, h.CommitMarker)
		if _, there := b.recover(c).Entry(tr.ID); there {
			t.Error("a transfer whose commit was lost has a row")
		}
	}
}

// testCutAfterCommit is the ambiguous commit: it happens, and its answer is
// lost.
func (h Network) testCutAfterCommit(t *testing.T) {
	b := h.broken(t, 1000, 1000)
	for number := range 3 {
		c := b.warm(number)
		seen := b.proxy.Arm(h.CommitMarker, true)
		tr := c.next(1, 2, 7)
		if r := b.disturbed(c, tr, 20*time.Second); r.Outcome != history.Unknown {
			t.Errorf("answer to the commit lost: %v (%s: %v), want unknown", r.Outcome, r.Class, r.Err)
		}
		b.mustHaveSeen(seen, h.CommitMarker)
		if _, there := b.recover(c).Entry(tr.ID); !there {
			t.Error("the server had the commit and answered, but there is no row; does the marker come with the commit itself?")
		}
	}
}

func (b *broken) mustHaveSeen(seen <-chan struct{}, marker []byte) {
	b.t.Helper()
	select {
	case <-seen:
	default:
		b.t.Fatalf("the client never sent %q; the harness names the wrong marker", marker)
	}
}

// testFrozen has the network go silent. What was sent before the client gave
// up arrives afterwards, as it does in reality.
func (h Network) testFrozen(t *testing.T) {
	b := h.broken(t, 1000, 1000)
	for number := range 3 {
		c := b.warm(number)
		b.proxy.Freeze()
		b.disturbed(c, c.next(1, 2, 7), 500*time.Millisecond)
		b.recover(c)
	}
}

// testAnswersSwallowed leaves a transaction half done on a server that takes
// the client for alive.
func (h Network) testAnswersSwallowed(t *testing.T) {
	b := h.broken(t, 1000, 1000)
	c := b.warm(0)
	b.proxy.Swallow()
	b.disturbed(c, c.next(1, 2, 7), 500*time.Millisecond)
	b.recover(c)
}

// testCutAtAnyTime cuts while four clients work, again and again.
func (h Network) testCutAtAnyTime(t *testing.T) {
	b := h.broken(t, 100_000, 100_000, 100_000, 100_000)
	crew := b.start(b.via, 4)
	for range 10 {
		crew.awaitCommits(20)
		b.proxy.Cut()
		b.proxy.Pass()
	}
	crew.awaitEach()
	crew.stop()
	b.check()
}

// testUnreachable uses a port that nobody listens on.
func (h Network) testUnreachable(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr := listener.Addr().String()
	listener.Close()
	h.mustNotReach(t, addr)
}

// testServerSaysNothing uses a port that takes connections and is silent.
func (h Network) testServerSaysNothing(t *testing.T) {
	proxy := NewProxy(t, h.Server)
	proxy.Freeze()
	h.mustNotReach(t, proxy.Addr())
}

// mustNotReach wants opening or the first use to end by the driver's own time
// limit: the context given lasts far longer.
func (h Network) mustNotReach(t *testing.T, addr string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	answer := make(chan error, 1)
	go func() {
		store, err := h.OpenVia(t, addr)
		if err == nil {
			_, err = store.Find(ctx)
			if closing := store.Close(); closing != nil {
				err = fmt.Errorf("close: %w, after %w", closing, err)
			}
		}
		answer <- err
	}()
	select {
	case err := <-answer:
		var unreachable *workload.UnreachableError
		if !errors.As(err, &unreachable) || ctx.Err() != nil {
			t.Errorf("first use: %v; want *workload.UnreachableError", err)
		}
	case <-ctx.Done():
		t.Error("opening and first use did not end by the driver's connect timeout")
	}
}

// testRestart kills the server while eight clients work.
func (h Network) testRestart(t *testing.T) {
	p := h.direct(t, 100_000, 100_000, 100_000, 100_000)
	crew := p.start(p.at(h.Server, h.OpenVia), 8)
	for range 2 {
		crew.awaitCommits(40)
		h.Restart(t)
		crew.awaitEach()
	}
	crew.stop()
	p.check()
}
