package drivertest

import (
	"context"
	"sync"
	"testing"
	"time"

	"assay/history"
	"assay/workload"
)

// writes keeps what was answered to the writes of things, each of its own key,
// and compares it with what is there. It is safe for concurrent use.
type writes[K, E comparable] struct {
	key func(E) K
	mu  sync.Mutex
	of  map[K]written[E]
}

// written is what is known of one thing.
type written[E any] struct {
	thing   E
	outcome history.Outcome
}

// record enters one attempt to write. All attempts of one key write the same.
func (b *writes[K, E]) record(thing E, outcome history.Outcome) {
	b.mu.Lock()
	defer b.mu.Unlock()
	key := b.key(thing)
	if f, again := b.of[key]; again {
		outcome = f.outcome.Then(outcome)
	}
	b.of[key] = written[E]{thing, outcome}
}

// replaced enters a thing that was written over the one of its key.
func (b *writes[K, E]) replaced(thing E) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.of[b.key(thing)] = written[E]{thing, history.Committed}
}

// check settles and reads everything, and fails the test for a thing that is
// missing, altered, doubled or there although it must not be.
func (b *writes[K, E]) check(ctx context.Context, t testing.TB, settle func(context.Context) error, read func(context.Context, func(E) error) error) {
	t.Helper()
	if err := settle(ctx); err != nil {
		t.Fatalf("Settle: %v", err)
	}
	there := map[K]bool{}
	b.mu.Lock()
	defer b.mu.Unlock()
	err := read(ctx, func(thing E) error {
		key := b.key(thing)
		f, known := b.of[key]
		switch {
		case !known:
			t.Errorf("%+v is there, which nobody wrote", thing)
		case there[key]:
			t.Errorf("%+v is there twice", thing)
		case f.outcome == history.Failed:
			t.Errorf("%+v is there, though its write failed", thing)
		case f.thing != thing:
			t.Errorf("%+v is there, want %+v", thing, f.thing)
		}
		there[key] = true
		return nil
	})
	if err != nil {
		t.Fatalf("Read: %v", err)
	}
	for key, f := range b.of {
		if f.outcome == history.Committed && !there[key] {
			t.Errorf("%v was acknowledged and is not there", key)
		}
	}
}

// answer is what the replies of both workloads have in common.
type answer struct {
	workload.Reply
	found bool
}

// keyed is a client of a workload that writes things once and reads them by
// their keys.
type keyed[E any] interface {
	client
	// next returns a thing that nobody has written.
	next() E
	// write and look make one attempt to write a thing, and to read it.
	write(ctx context.Context, thing E) answer
	look(ctx context.Context, thing E) answer
	// commit writes a next thing until that is acknowledged, and wantFound
	// reads it.
	commit(ctx context.Context) E
	wantFound(ctx context.Context, thing E)
}

// keyedNetwork is a place with a Store of its own behind a proxy.
type keyedNetwork[E any] struct {
	t     *testing.T
	ctx   context.Context
	proxy *Proxy
	// rounds is how often what may go either way is tried.
	rounds int
	// via and beside give a client behind the proxy and one that is not.
	via, beside func(number int) keyed[E]
	// check compares what was answered with what is there.
	check func()
}

// runKeyedNetwork tries what a write is said to have ended as when the
// connection breaks.
func runKeyedNetwork[E any](t *testing.T, network func(*testing.T) *keyedNetwork[E]) {
	t.Run("CutBeforeSending", func(t *testing.T) { network(t).testCutBeforeSending() })
	t.Run("CutAfterSending", func(t *testing.T) { network(t).testCutAfterSending() })
	t.Run("Frozen", func(t *testing.T) { network(t).testFrozen() })
}

// warm returns a client behind the proxy that has written and read.
func (n *keyedNetwork[E]) warm(number int) keyed[E] {
	n.t.Helper()
	x := n.via(number)
	x.wantFound(n.ctx, x.commit(n.ctx))
	return x
}

// during disturbs a write that is in flight.
func (n *keyedNetwork[E]) during(x keyed[E], thing E, limit time.Duration, disturb func()) answer {
	n.t.Helper()
	return during(n.ctx, n.t, limit, func(ctx context.Context) answer { return x.write(ctx, thing) }, disturb)
}

// recover lets everything pass again and wants the client to work and the data
// to fit what was answered.
func (n *keyedNetwork[E]) recover(x keyed[E]) {
	n.t.Helper()
	n.proxy.Pass()
	x.close()
	n.comeBack(x)
	x.close()
	n.check()
}

// comeBack repeats fresh writes until one is acknowledged.
func (n *keyedNetwork[E]) comeBack(x keyed[E]) {
	n.t.Helper()
	var a answer
	for n.ctx.Err() == nil {
		ctx, cancel := context.WithTimeout(n.ctx, 10*time.Second)
		thing := x.next()
		a = x.write(ctx, thing)
		cancel()
		if a.Outcome == history.Committed {
			x.wantFound(n.ctx, thing)
			return
		}
		pause(n.ctx, 20*time.Millisecond)
	}
	n.t.Fatalf("no write commits any more: %v (%s: %v)", a.Outcome, a.Class, a.Err)
}

// there reports whether the thing is seen past the proxy.
func (n *keyedNetwork[E]) there(thing E) bool {
	n.t.Helper()
	x := n.beside(1000)
	defer x.close()
	a := x.look(n.ctx, thing)
	if a.Outcome != history.Committed {
		n.t.Fatalf("get %+v: %+v", thing, a)
	}
	return a.found
}

func (n *keyedNetwork[E]) testCutBeforeSending() {
	x := n.warm(1)
	n.proxy.Cut()
	thing := x.next()
	if a := n.during(x, thing, 10*time.Second, func() {}); a.Outcome == history.Committed || a.Duplicate {
		n.t.Errorf("a write over a connection that was cut: %+v", a)
	}
	n.recover(x)
	if n.there(thing) {
		n.t.Error("a write of which nothing arrived was done")
	}
}

// testCutAfterSending has the thing written and the answer lost: the client
// cannot know.
func (n *keyedNetwork[E]) testCutAfterSending() {
	for number := range n.rounds {
		x := n.warm(number)
		n.proxy.Swallow()
		thing := x.next()
		a := n.during(x, thing, time.Minute, func() {
			for !n.there(thing) && n.ctx.Err() == nil {
				pause(n.ctx, 5*time.Millisecond)
			}
			n.proxy.Cut()
		})
		if a.Outcome != history.Unknown {
			n.t.Errorf("the answer to a write was lost: %v (%s: %v), want unknown", a.Outcome, a.Class, a.Err)
		}
		n.recover(x)
	}
}

// testFrozen has the network go silent: the caller's limit ends the call. What
// was sent arrives afterwards, as it does in reality.
func (n *keyedNetwork[E]) testFrozen() {
	for number := range n.rounds {
		x := n.warm(number)
		n.proxy.Freeze()
		if a := n.during(x, x.next(), 300*time.Millisecond, func() {}); a.Outcome != history.Unknown {
			n.t.Errorf("the network went silent: %v (%s: %v), want unknown", a.Outcome, a.Class, a.Err)
		}
		n.recover(x)
		x = n.warm(number + 10)
		n.proxy.Freeze()
		ctx, cancel := context.WithTimeout(n.ctx, 300*time.Millisecond)
		if a := x.look(ctx, x.next()); a.Outcome == history.Committed {
			n.t.Errorf("get while the network was silent: %+v", a)
		}
		cancel()
		n.recover(x)
	}
}
