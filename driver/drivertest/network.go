package drivertest

import (
	"context"
	"errors"
	"fmt"
	"net"
	"testing"
	"time"

	"assay/history"
	"assay/internal/expect"
	"assay/store"
)

// networks tests the outcomes of writes when the connection or the server breaks.
func (s Store) networks(schema store.Schema) []operation {
	broken := func(test func(n *network)) func(*fixture) {
		return func(f *fixture) { test(f.network()) }
	}
	all := []operation{
		{"CutBeforeSending", broken((*network).testCutBeforeSending)},
		{"Frozen", broken(func(n *network) { n.testSilent((*Proxy).Freeze) })},
		{"CutAtAnyTime", broken((*network).testCutAtAnyTime)},
	}
	if !schema.Transactions {
		return append(all, operation{"CutAfterSending", broken((*network).testCutAfterSending)}, operation{"FrozenRead", broken((*network).testFrozenRead)})
	}
	all = append(all, operation{"CutBeforeCommit", broken(func(n *network) { n.testCutAtCommit(false) })},
		operation{"CutAfterCommit", broken(func(n *network) { n.testCutAtCommit(true) })},
		operation{"AnswersSwallowed", broken(func(n *network) { n.testSilent((*Proxy).Swallow) })})
	if s.Restart != nil {
		all = append(all, operation{"Restart", (*fixture).testRestart})
	}
	return all
}

// network is a fixture with data, and a second Database behind a proxy.
type network struct {
	*fixture
	proxy *Proxy
	via   store.Database
}

func (f *fixture) network() *network {
	f.t.Helper()
	proxy := newProxy(f.t, f.suite.Server, f.suite.HTTP2)
	return &network{f, proxy, f.openAt(f.suite.Via(proxy.Addr()))}
}

// rounds: one for a client that writes in batches, one for a client of transactions.
const rounds = 2

func (n *network) there(id int64) bool {
	n.t.Helper()
	n.settle()
	s, err := n.readAll(n.ctx, n.store.View, func() error { return nil })
	n.must("View", err)
	for _, e := range s.entries {
		if e.ID == id {
			return true
		}
	}
	for _, r := range s.records {
		if r.ID == id {
			return true
		}
	}
	return false
}

func (n *network) warm(number int) *client {
	n.t.Helper()
	c := n.client(n.via, number)
	n.comeBack(c)
	return c
}

// recover lets everything pass again. Clients must work, through the proxy and beside it, and
// the data must agree with the answers.
func (n *network) recover(c *client, number int) {
	n.t.Helper()
	n.proxy.Pass()
	c.Close()
	n.check()
	for _, c := range []*client{c, n.client(n.store, number+1000)} {
		n.comeBack(c)
		c.Close()
	}
	n.check()
}

func (n *network) comeBack(c *client) {
	n.t.Helper()
	var r store.Reply
	for n.ctx.Err() == nil {
		ctx, cancel := context.WithTimeout(n.ctx, 10*time.Second)
		_, r = c.write(ctx)
		cancel()
		if r.Outcome == history.Committed {
			return
		}
		pause(n.ctx, 20*time.Millisecond)
	}
	n.t.Fatalf("nothing is acknowledged any more: %v (%s: %v)", r.Outcome, r.Class, r.Err)
}

// broken makes a write that cannot be acknowledged, and calls fault when it is on its way. It
// fails the test if the write does not return, or returns an outcome that cannot be known.
func (n *network) broken(c *client, limit time.Duration, fault func()) (id int64, r store.Reply) {
	n.t.Helper()
	limited, cancel := context.WithTimeout(n.ctx, limit)
	defer cancel()
	returned := make(chan struct{})
	go func() {
		id, r = c.write(limited)
		close(returned)
	}()
	fault()
	select {
	case <-returned:
	case <-n.ctx.Done():
		n.t.Fatal("the call did not return though its context had ended")
	}
	if r.Outcome == history.Committed || r.Outcome == history.Rejected || r.Duplicate {
		n.t.Errorf("a write over a broken connection: %+v", r)
	}
	return id, r
}

func (n *network) wantUnknown(what string, r store.Reply) {
	n.t.Helper()
	if r.Outcome != history.Unknown {
		n.t.Errorf("%s: %v (%s: %v), want unknown", what, r.Outcome, r.Class, r.Err)
	}
}

func (n *network) testCutBeforeSending() {
	c := n.warm(0)
	n.proxy.Cut()
	id, _ := n.broken(c, 10*time.Second, func() {})
	if n.recover(c, 0); n.there(id) {
		n.t.Error("a write of which nothing was sent is there")
	}
}

// testCutAtCommit loses the commit, which must leave no row and no lock, or its answer, after
// which the write is there. The client cannot know which.
func (n *network) testCutAtCommit(answered bool) {
	for number := range rounds {
		c := n.warm(number)
		seen := n.proxy.Arm(n.suite.CommitMarker, answered)
		id, r := n.broken(c, 20*time.Second, func() {})
		n.wantUnknown("the commit or its answer was lost", r)
		select {
		case <-seen:
		default:
			n.t.Fatalf("the client never sent %q; the suite was given the wrong marker", n.suite.CommitMarker)
		}
		if n.recover(c, number); n.there(id) != answered {
			n.t.Errorf("the server had the commit: %v, the write is there: %v; does the marker come with the commit itself?", answered, !answered)
		}
	}
}

// testSilent silences the network or loses the answers, and the caller's limit ends the call.
// Bytes sent before arrive later, as in reality, and may leave a transaction half done on a
// server that takes the client for alive. A record is one request, so its outcome is unknown.
func (n *network) testSilent(silence func(*Proxy)) {
	for number := range rounds {
		c := n.warm(number)
		began := time.Now()
		c.insist(n.ctx)
		limit := max(500*time.Millisecond, 20*time.Since(began)) // in which it is sent on a busy machine too
		silence(n.proxy)
		if _, r := n.broken(c, limit, func() {}); !n.transfers() {
			n.wantUnknown("the network went silent", r)
		}
		n.recover(c, number)
	}
}

func (n *network) testCutAtAnyTime() {
	n.whileFailing(n.via, 0, 4, 20, cuts(n.proxy, 6)...)
	n.closeClients()
	n.check()
}

// testCutAfterSending writes a record and loses the answer; the outcome must be unknown.
func (n *network) testCutAfterSending() {
	for number := range rounds {
		c := n.warm(number)
		n.proxy.Swallow()
		id := (c.number+1)<<32 | (c.seq + 1)
		_, r := n.broken(c, time.Minute, func() {
			beside := n.client(n.store, 1000)
			for found := []string(nil); len(found) == 0 && n.ctx.Err() == nil; pause(n.ctx, 5*time.Millisecond) {
				found, _ = beside.content(n.ctx, id)
			}
			beside.Close()
			n.proxy.Cut()
		})
		n.wantUnknown("the answer to a write was lost", r)
		n.recover(c, number)
	}
}

func (n *network) testFrozenRead() {
	c := n.warm(1)
	n.proxy.Freeze()
	ctx, cancel := context.WithTimeout(n.ctx, 300*time.Millisecond)
	defer cancel()
	if _, r := c.content(ctx, -1); r.Outcome != history.Failed {
		n.t.Errorf("a read while the network was silent: %+v, want failed: it has no effect", r)
	}
	n.recover(c, 1)
}

func (f *fixture) testRestart() {
	via := f.openAt(f.suite.Via(f.suite.Server))
	for round := range 2 {
		f.whileFailing(via, 8*round, 8, 40, func(func()) { f.suite.Restart(f.t) })
	}
	f.check()
}

func (s Store) runUnreachable(t *testing.T) {
	if s.Server == "" {
		return
	}
	t.Run("Unreachable", func(t *testing.T) {
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		expect.NoError(t, err)
		addr := listener.Addr().String() // where nobody listens
		listener.Close()
		s.mustNotReach(t, addr)
	})
	t.Run("ServerSaysNothing", func(t *testing.T) {
		proxy := NewProxy(t, s.Server)
		proxy.Freeze()
		s.mustNotReach(t, proxy.Addr())
	})
}

// mustNotReach wants the first use to end by the driver's own connect timeout. The context
// lasts far longer.
func (s Store) mustNotReach(t *testing.T, addr string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	ended := make(chan error, 1)
	go func() {
		to := s.Via(addr)
		to.ConnectTimeout = time.Second
		db, err := s.Open(ctx, to, recordsSchema())
		if err == nil {
			_, err = db.Find(ctx)
			if closing := db.Close(); closing != nil {
				err = fmt.Errorf("close: %w, after %w", closing, err)
			}
		}
		ended <- err
	}()
	select {
	case err := <-ended:
		var unreachable *store.UnreachableError
		if !errors.As(err, &unreachable) || ctx.Err() != nil {
			t.Errorf("first use: %v; want *store.UnreachableError", err)
		}
	case <-ctx.Done():
		t.Error("opening and first use did not end by the driver's connect timeout")
	}
}
