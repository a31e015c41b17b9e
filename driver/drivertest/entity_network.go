package drivertest

import (
	"context"
	"testing"
	"time"

	"github.com/google/uuid"

	"assay/history"
	"assay/workload/entity"
)

// drawn is a cabinet with an empty table and a Store of its own behind a proxy.
type drawn struct {
	*cabinet
	proxy *Proxy
	via   entity.Store
}

func (h Entity) drawn(t *testing.T) *drawn {
	t.Helper()
	c := emptyCabinet(t, h)
	c.create(c.store, "run-1")
	proxy := NewProxy(t, h.Server)
	store, err := h.OpenVia(t, proxy.Addr())
	if err != nil {
		t.Fatalf("open through the proxy: %v", err)
	}
	return &drawn{cabinet: c, proxy: proxy, via: c.closing(store)}
}

// warm returns a client behind the proxy that has written and read.
func (n *drawn) warm(number int) *filer {
	n.t.Helper()
	x := n.filer(n.via, number)
	x.wantFound(n.ctx, x.commit(n.ctx))
	return x
}

// during calls broken while a write is in flight, and returns its answer.
func (n *drawn) during(x *filer, e entity.Entity, limit time.Duration, broken func()) entity.Reply {
	n.t.Helper()
	ctx, cancel := context.WithTimeout(n.ctx, limit)
	defer cancel()
	answer := make(chan entity.Reply, 1)
	go func() { answer <- x.put(ctx, e) }()
	broken()
	select {
	case r := <-answer:
		return r
	case <-n.ctx.Done():
		n.t.Fatal("Put did not return though its context had ended")
		return entity.Reply{}
	}
}

// recover lets everything pass again and wants the client to work and the data
// to fit what was answered.
func (n *drawn) recover(x *filer) {
	n.t.Helper()
	n.proxy.Pass()
	x.close()
	for n.ctx.Err() == nil {
		ctx, cancel := context.WithTimeout(n.ctx, 10*time.Second)
		e := x.next()
		r := x.put(ctx, e)
		cancel()
		if r.Outcome == history.Committed {
			x.wantFound(n.ctx, e)
			break
		}
		pause(n.ctx, 20*time.Millisecond)
	}
	x.close()
	n.check()
}

// there reports whether the entity is seen past the proxy.
func (n *drawn) there(id uuid.UUID) bool {
	n.t.Helper()
	x := n.filer(n.store, 1000)
	defer x.close()
	r := x.get(n.ctx, id)
	if r.Outcome != history.Committed {
		n.t.Fatalf("get %v: %+v", id, r)
	}
	return r.Found
}

func (h Entity) testCutBeforeSending(t *testing.T) {
	n := h.drawn(t)
	x := n.warm(1)
	n.proxy.Cut()
	e := x.next()
	if r := n.during(x, e, 10*time.Second, func() {}); r.Outcome == history.Committed || r.Duplicate {
		t.Errorf("a write over a connection that was cut: %+v", r)
	}
	n.recover(x)
	if n.there(e.ID) {
		t.Error("a write of which nothing arrived was done")
	}
}

// testCutAfterSending has the entity written and the answer lost: the client
// cannot know.
func (h Entity) testCutAfterSending(t *testing.T) {
	n := h.drawn(t)
	for number := range 2 {
		x := n.warm(number)
		n.proxy.Swallow()
		e := x.next()
		r := n.during(x, e, time.Minute, func() {
			for !n.there(e.ID) && n.ctx.Err() == nil {
				pause(n.ctx, 5*time.Millisecond)
			}
			n.proxy.Cut()
		})
		if r.Outcome != history.Unknown {
			t.Errorf("the answer to a write was lost: %v (%s: %v), want unknown", r.Outcome, r.Class, r.Err)
		}
		n.recover(x)
	}
}

// testFrozen has the network go silent: the caller's limit ends the call. What
// was sent arrives afterwards, as it does in reality.
func (h Entity) testFrozen(t *testing.T) {
	n := h.drawn(t)
	for number := range 2 {
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
		if r := x.get(ctx, uuid.UUID{1}); r.Outcome == history.Committed {
			t.Errorf("get while the network was silent: %+v", r)
		}
		cancel()
		n.recover(x)
	}
}
