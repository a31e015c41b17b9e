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

// RunNetwork tests what a transfer is said to have ended as when the connection
// or the server breaks. It needs OpenVia, Server and CommitMarker, and takes
// Restart. Its subtests run one after the other on one schema.
func RunNetwork(t *testing.T, h Bank) {
	h.Open = func(t *testing.T) bank.Store {
		t.Helper()
		store, err := h.OpenVia(t, h.Server)
		if err != nil {
			t.Fatalf("open: %v", err)
		}
		return store
	}
	t.Run("CutBeforeSending", func(t *testing.T) { testCutBeforeSending(t, h) })
	t.Run("CutBeforeCommit", func(t *testing.T) { testCutBeforeCommit(t, h) })
	t.Run("CutAfterCommit", func(t *testing.T) { testCutAfterCommit(t, h) })
	t.Run("Frozen", func(t *testing.T) { testFrozen(t, h) })
	t.Run("AnswersSwallowed", func(t *testing.T) { testAnswersSwallowed(t, h) })
	t.Run("CutAtAnyTime", func(t *testing.T) { testCutAtAnyTime(t, h) })
	t.Run("Unreachable", func(t *testing.T) { testUnreachable(t, h) })
	t.Run("ServerSaysNothing", func(t *testing.T) { testServerSaysNothing(t, h) })
	if h.Restart != nil {
		t.Run("Restart", func(t *testing.T) { testRestart(t, h) })
	}
}

// networkFixture has accounts, and a Store of its own behind a proxy.
type networkFixture struct {
	*bankFixture
	proxy *Proxy
	via   bank.Store
}

func newNetwork(t *testing.T, h Bank, balances ...int64) *networkFixture {
	t.Helper()
	f := &networkFixture{bankFixture: loadedBank(t, h, balances...)}
	f.proxy, f.via = f.openProxied()
	return f
}

// ready returns a client behind the proxy whose session has done a transfer.
func (f *networkFixture) ready(number int) *bankClient {
	f.t.Helper()
	c := f.client(f.via, number)
	c.commit(f.ctx, c.next(1, 2, 1))
	return c
}

// recover lets everything pass again and wants the clients to work, on this
// path and beside it, and the data to fit what was answered.
func (f *networkFixture) recover(c *bankClient) Snapshot {
	f.t.Helper()
	f.proxy.Pass()
	c.close()
	f.check()
	for _, c := range []*bankClient{c, f.client(f.store, c.number+1000)} {
		f.commitAgain(c)
		c.close()
	}
	return f.snapshot()
}

// commitAgain repeats fresh transfers until one commits.
func (f *networkFixture) commitAgain(c *bankClient) {
	f.t.Helper()
	var r bank.Reply
	for f.ctx.Err() == nil {
		ctx, cancel := context.WithTimeout(f.ctx, 10*time.Second)
		r = c.do(ctx, c.next(1, 2, 1))
		cancel()
		if r.Outcome == history.Committed {
			return
		}
		pause(f.ctx, 20*time.Millisecond)
	}
	f.t.Fatalf("no transfer commits any more: %v (%s: %v)", r.Outcome, r.Class, r.Err)
}

// disturbed does a transfer that cannot end well within a short time limit,
// and fails the test if it does not return, or returns what cannot be known.
func (f *networkFixture) disturbed(c *bankClient, tr bank.Transfer, limit time.Duration) bank.Reply {
	f.t.Helper()
	r := during(f.ctx, f.t, limit, func(ctx context.Context) bank.Reply { return c.do(ctx, tr) }, func() {})
	if r.Outcome == history.Committed || r.Outcome == history.Rejected || r.Duplicate {
		f.t.Errorf("transfer over a broken connection: %+v", r)
	}
	return r
}

func testCutBeforeSending(t *testing.T, h Bank) {
	f := newNetwork(t, h, 1000, 1000)
	c := f.ready(0)
	f.proxy.Cut()
	tr := c.next(1, 2, 7)
	f.disturbed(c, tr, 10*time.Second)
	if _, there := f.recover(c).Entry(tr.ID); there {
		t.Error("a transfer of which nothing was sent has a row")
	}
}

// testCutBeforeCommit loses the commit on its way: nothing may remain of the
// transaction, no row and no lock, but the client cannot know.
func testCutBeforeCommit(t *testing.T, h Bank) {
	f := newNetwork(t, h, 1000, 1000)
	for number := range 3 {
		if f.cutAtCommit(number, false) {
			t.Error("a transfer whose commit was lost has a row")
		}
	}
}

// testCutAfterCommit is the ambiguous commit: it happens, and its answer is
// lost.
func testCutAfterCommit(t *testing.T, h Bank) {
	f := newNetwork(t, h, 1000, 1000)
	for number := range 3 {
		if !f.cutAtCommit(number, true) {
			t.Error("the server had the commit and answered, but there is no row; does the marker come with the commit itself?")
		}
	}
}

// cutAtCommit cuts a transfer's commit, or the answer to it, and reports whether
// the transfer has a row.
func (f *networkFixture) cutAtCommit(number int, answer bool) bool {
	f.t.Helper()
	c := f.ready(number)
	seen := f.proxy.Arm(f.harness.CommitMarker, answer)
	tr := c.next(1, 2, 7)
	if r := f.disturbed(c, tr, 20*time.Second); r.Outcome != history.Unknown {
		f.t.Errorf("the commit or its answer was lost: %v (%s: %v), want unknown", r.Outcome, r.Class, r.Err)
	}
	select {
	case <-seen:
	default:
		f.t.Fatalf("the client never sent %q; the harness names the wrong marker", f.harness.CommitMarker)
	}
	_, there := f.recover(c).Entry(tr.ID)
	return there
}

// testFrozen has the network go silent. What was sent before the client gave
// up arrives afterwards, as it does in reality.
func testFrozen(t *testing.T, h Bank) {
	f := newNetwork(t, h, 1000, 1000)
	for number := range 3 {
		c := f.ready(number)
		f.proxy.Freeze()
		f.disturbed(c, c.next(1, 2, 7), 500*time.Millisecond)
		f.recover(c)
	}
}

// testAnswersSwallowed leaves a transaction half done on a server that takes
// the client for alive.
func testAnswersSwallowed(t *testing.T, h Bank) {
	f := newNetwork(t, h, 1000, 1000)
	c := f.ready(0)
	f.proxy.Swallow()
	f.disturbed(c, c.next(1, 2, 7), 500*time.Millisecond)
	f.recover(c)
}

// movers are clients that transfer between four accounts.
func (f *bankFixture) movers(store bank.Store, n int) (movers []worker) {
	for number := range int64(n) {
		c := f.client(store, int(number))
		movers = append(movers, worker{client: c, attempt: func(ctx context.Context) bool {
			source, step := (number+int64(c.seq))%4, 1+int64(c.seq)%3
			return c.do(ctx, c.next(1+source, 1+(source+step)%4, 1+step)).Outcome == history.Committed
		}})
	}
	return movers
}

// testCutAtAnyTime cuts while four clients work, again and again.
func testCutAtAnyTime(t *testing.T, h Bank) {
	f := newNetwork(t, h, 100_000, 100_000, 100_000, 100_000)
	disturbed(f.ctx, t, f.movers(f.via, 4), 20, cuts(f.proxy, 10)...)
	f.check()
}

// testUnreachable uses a port that nobody listens on.
func testUnreachable(t *testing.T, h Bank) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr := listener.Addr().String()
	listener.Close()
	mustNotReach(t, h, addr)
}

// testServerSaysNothing uses a port that takes connections and is silent.
func testServerSaysNothing(t *testing.T, h Bank) {
	proxy := NewProxy(t, h.Server)
	proxy.Freeze()
	mustNotReach(t, h, proxy.Addr())
}

// mustNotReach wants opening or the first use to end by the driver's own time
// limit: the context given lasts far longer.
func mustNotReach(t *testing.T, h Bank, addr string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	ended := make(chan error, 1)
	go func() {
		store, err := h.OpenVia(t, addr)
		if err == nil {
			_, err = store.Find(ctx)
			if closing := store.Close(); closing != nil {
				err = fmt.Errorf("close: %w, after %w", closing, err)
			}
		}
		ended <- err
	}()
	select {
	case err := <-ended:
		var unreachable *workload.UnreachableError
		if !errors.As(err, &unreachable) || ctx.Err() != nil {
			t.Errorf("first use: %v; want *workload.UnreachableError", err)
		}
	case <-ctx.Done():
		t.Error("opening and first use did not end by the driver's connect timeout")
	}
}

// testRestart kills the server while eight clients work.
func testRestart(t *testing.T, h Bank) {
	f := loadedBank(t, h, 100_000, 100_000, 100_000, 100_000)
	movers := f.movers(f.openVia(h.Server), 8)
	for range 2 {
		disturbed(f.ctx, t, movers, 40, func() { h.Restart(t) })
	}
	f.check()
}
