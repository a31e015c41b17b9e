package drivertest

import (
	"context"
	"sync"
	"testing"
	"time"

	"assay/history"
	"assay/workload/availability"
)

// torn is a shelf with an empty table and a Store of its own behind a proxy.
type torn struct {
	*shelf
	proxy *Proxy
	via   availability.Store
}

func (h Availability) torn(t *testing.T) *torn {
	t.Helper()
	s := emptyShelf(t, h)
	s.create(s.store, "run-1")
	proxy := NewProxy(t, h.Server)
	store, err := h.OpenVia(t, proxy.Addr())
	if err != nil {
		t.Fatalf("open through the proxy: %v", err)
	}
	return &torn{shelf: s, proxy: proxy, via: s.closing(store)}
}

// warm returns a client behind the proxy that has inserted and read.
func (n *torn) warm(number int64) *hand {
	n.t.Helper()
	x := n.hand(n.via, number)
	x.wantFound(n.ctx, x.commit(n.ctx))
	return x
}

// during calls broken while an insert is in flight, and returns the insert's
// answer.
func (n *torn) during(x *hand, row availability.Row, limit time.Duration, broken func()) availability.Reply {
	n.t.Helper()
	ctx, cancel := context.WithTimeout(n.ctx, limit)
	defer cancel()
	answer := make(chan availability.Reply, 1)
	go func() { answer <- x.insert(ctx, row) }()
	broken()
	select {
	case r := <-answer:
		return r
	case <-n.ctx.Done():
		n.t.Fatal("Insert did not return though its context had ended")
		return availability.Reply{}
	}
}

// recover lets everything pass again and wants the client to work and the data
// to fit what was answered.
func (n *torn) recover(x *hand) {
	n.t.Helper()
	n.proxy.Pass()
	x.close()
	n.comeBack(x)
	x.close()
	n.check()
}

// comeBack repeats fresh inserts until one is acknowledged.
func (n *torn) comeBack(x *hand) {
	n.t.Helper()
	var r availability.Reply
	for n.ctx.Err() == nil {
		ctx, cancel := context.WithTimeout(n.ctx, 10*time.Second)
		row := x.next()
		r = x.insert(ctx, row)
		cancel()
		if r.Outcome == history.Committed {
			x.wantFound(n.ctx, row)
			return
		}
		pause(n.ctx, 20*time.Millisecond)
	}
	n.t.Fatalf("no insert commits any more: %v (%s: %v)", r.Outcome, r.Class, r.Err)
}

// there reports whether the row is seen past the proxy.
func (n *torn) there(key int64) bool {
	n.t.Helper()
	x := n.hand(n.store, 1000)
	defer x.close()
	r := x.get(n.ctx, key)
	if r.Outcome != history.Committed {
		n.t.Fatalf("get %d: %+v", key, r)
	}
	return r.Found
}

func (h Availability) testCutBeforeSending(t *testing.T) {
	n := h.torn(t)
	x := n.warm(1)
	n.proxy.Cut()
	row := x.next()
	if r := n.during(x, row, 10*time.Second, func() {}); r.Outcome == history.Committed || r.Duplicate {
		t.Errorf("insert over a connection that was cut: %+v", r)
	}
	n.recover(x)
	if n.there(row.Key) {
		t.Error("an insert of which nothing arrived has a row")
	}
}

// testCutAfterSending has the row inserted and the answer lost: the client
// cannot know.
func (h Availability) testCutAfterSending(t *testing.T) {
	n := h.torn(t)
	for number := range int64(3) {
		x := n.warm(number)
		n.proxy.Swallow()
		row := x.next()
		r := n.during(x, row, time.Minute, func() {
			for !n.there(row.Key) && n.ctx.Err() == nil {
				pause(n.ctx, 5*time.Millisecond)
			}
			n.proxy.Cut()
		})
		if r.Outcome != history.Unknown {
			t.Errorf("the answer to an insert was lost: %v (%s: %v), want unknown", r.Outcome, r.Class, r.Err)
		}
		n.recover(x)
	}
}

// testFrozen has the network go silent: the caller's limit ends the call. What
// was sent arrives afterwards, as it does in reality.
func (h Availability) testFrozen(t *testing.T) {
	n := h.torn(t)
	for number := range int64(3) {
		x := n.warm(number)
		n.proxy.Freeze()
		r := n.during(x, x.next(), 300*time.Millisecond, func() {})
		if r.Outcome != history.Unknown {
			t.Errorf("the network went silent: %v (%s: %v), want unknown", r.Outcome, r.Class, r.Err)
		}
		n.recover(x)
		x = n.warm(number + 10)
		n.proxy.Freeze()
		ctx, cancel := context.WithTimeout(n.ctx, 300*time.Millisecond)
		if r := x.get(ctx, 1); r.Outcome == history.Committed {
			t.Errorf("get while the network was silent: %+v", r)
		}
		cancel()
		n.recover(x)
	}
}

// testCutAtAnyTime cuts while four clients work, again and again.
func (h Availability) testCutAtAnyTime(t *testing.T) {
	n := h.torn(t)
	ctx, stop := context.WithCancel(n.ctx)
	defer stop()
	progress := make(chan struct{})
	var all sync.WaitGroup
	for number := range int64(4) {
		x := n.hand(n.via, number)
		all.Go(func() {
			defer x.close()
			for ctx.Err() == nil {
				limit, cancel := context.WithTimeout(n.ctx, 10*time.Second)
				row := x.next()
				r := x.insert(limit, row)
				cancel()
				if r.Outcome != history.Committed {
					pause(ctx, 5*time.Millisecond)
					continue
				}
				select {
				case progress <- struct{}{}:
				case <-ctx.Done():
				}
			}
		})
	}
	for range 10 {
		for range 20 {
			select {
			case <-progress:
			case <-n.ctx.Done():
				t.Fatal("no insert commits any more")
			}
		}
		n.proxy.Cut()
		n.proxy.Pass()
	}
	stop()
	all.Wait()
	n.check()
}
