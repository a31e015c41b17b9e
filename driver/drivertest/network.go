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
)

// A network suite tests what a write is said to have ended as when the connection or
// the server breaks. Its subtests run one after the other on one schema.

// network is a fixture with data, and a Store of its own behind a proxy.
type network[S workload.Store] struct {
	*fixture[S]
	proxy *Proxy
	via   S
	// open is a client of a Store, under a number of its own.
	open func(store S, number int) writer
	// there reports whether a write is seen past the proxy, and check compares what
	// was answered with what is there.
	there func(id any) bool
	check func()
	// atOnce is true if a write is one request, so that what becomes of it is unknown
	// from the moment in which it is sent.
	atOnce bool
}

// newNetwork puts a proxy before the server of a fixture.
func newNetwork[S workload.Store](f *fixture[S], n network[S]) *network[S] {
	n.fixture = f
	n.proxy, n.via = f.openProxied()
	return &n
}

// rounds is how often that is tried which can go either way.
const rounds = 3

// warm returns a client behind the proxy whose session has written.
func (n *network[S]) warm(number int) writer {
	n.t.Helper()
	w := n.open(n.via, number)
	n.comeBack(w)
	return w
}

// recover lets everything pass again and wants clients to work, on this path and
// beside it, and the data to agree with what was answered.
func (n *network[S]) recover(w writer, number int) {
	n.t.Helper()
	n.proxy.Pass()
	w.close()
	n.check()
	for _, w := range []writer{w, n.open(n.store, number+1000)} {
		n.comeBack(w)
		w.close()
	}
	n.check()
}

// comeBack writes until it is acknowledged.
func (n *network[S]) comeBack(w writer) {
	n.t.Helper()
	var r workload.Reply
	for n.ctx.Err() == nil {
		ctx, cancel := context.WithTimeout(n.ctx, 10*time.Second)
		_, r = w.write(ctx)
		cancel()
		if r.Outcome == history.Committed {
			return
		}
		pause(n.ctx, 20*time.Millisecond)
	}
	n.t.Fatalf("nothing is acknowledged any more: %v (%s: %v)", r.Outcome, r.Class, r.Err)
}

// broken makes a write that cannot end well within a time limit, and does something
// once it is on its way. It fails the test if the write does not return, or returns
// what cannot be known.
func (n *network[S]) broken(w writer, limit time.Duration, fault func()) (id any, r workload.Reply) {
	n.t.Helper()
	limited, cancel := context.WithTimeout(n.ctx, limit)
	defer cancel()
	returned := make(chan struct{})
	go func() {
		id, r = w.write(limited)
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

func (n *network[S]) wantUnknown(what string, r workload.Reply) {
	n.t.Helper()
	if r.Outcome != history.Unknown {
		n.t.Errorf("%s: %v (%s: %v), want unknown", what, r.Outcome, r.Class, r.Err)
	}
}

func (n *network[S]) testCutBeforeSending() {
	w := n.warm(0)
	n.proxy.Cut()
	id, _ := n.broken(w, 10*time.Second, func() {})
	if n.recover(w, 0); n.there(id) {
		n.t.Error("a write of which nothing was sent is there")
	}
}

// testCutAtCommit loses the commit on its way, or its answer. Of the former nothing
// may remain, no row and no lock, and the latter happens; the client cannot know.
func (n *network[S]) testCutAtCommit(answered bool) {
	for number := range rounds {
		w := n.warm(number)
		seen := n.proxy.Arm(n.harness.CommitMarker, answered)
		id, r := n.broken(w, 20*time.Second, func() {})
		n.wantUnknown("the commit or its answer was lost", r)
		select {
		case <-seen:
		default:
			n.t.Fatalf("the client never sent %q; the harness names the wrong marker", n.harness.CommitMarker)
		}
		if n.recover(w, number); n.there(id) != answered {
			n.t.Errorf("the server had the commit: %v, the write is there: %v; does the marker come with the commit itself?", answered, !answered)
		}
	}
}

// testSilent has the network go silent, or the answers be lost: the caller's limit
// ends the call. What was sent before the client gave up arrives afterwards, as it
// does in reality, and a transaction may be left half done on a server that takes the
// client for alive.
func (n *network[S]) testSilent(silence func(*Proxy)) {
	for number := range rounds {
		w := n.warm(number)
		silence(n.proxy)
		if _, r := n.broken(w, 500*time.Millisecond, func() {}); n.atOnce {
			n.wantUnknown("the network went silent", r)
		}
		n.recover(w, number)
	}
}

// testCutAtAnyTime cuts while four clients write, again and again.
func (n *network[S]) testCutAtAnyTime() {
	whileFailing(n.ctx, n.t, n.via, 4, n.open, 20, cuts(n.proxy, 10)...)
	n.closeClients()
	n.check()
}

// testUnreachable uses a port that nobody listens on.
func testUnreachable[S workload.Store](t *testing.T, h Harness[S]) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr := listener.Addr().String()
	listener.Close()
	mustNotReach(t, h, addr)
}

// mustNotReach wants opening or the first use to end by the driver's own time
// limit: the context given lasts far longer.
func mustNotReach[S workload.Store](t *testing.T, h Harness[S], addr string) {
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
