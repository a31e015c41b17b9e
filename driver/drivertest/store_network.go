package drivertest

import (
	"context"
	"testing"
	"time"

	"assay/history"
	"assay/store"
)

// runStoreNetwork tests what a write is said to have ended as when the connection or the
// server breaks.
func runStoreNetwork(t *testing.T, h Harness[store.Database], transactions bool, on func(t *testing.T) *storeFixture) {
	if h.OpenVia == nil {
		return
	}
	all := []operation[*storeFixture]{
		{"CutBeforeSending", func(f *storeFixture) { f.network().testCutBeforeSending() }},
		{"Frozen", func(f *storeFixture) { f.network().testSilent((*Proxy).Freeze) }},
		{"CutAtAnyTime", func(f *storeFixture) { f.network().testCutAtAnyTime() }},
	}
	switch {
	case !transactions:
		all = append(all, []operation[*storeFixture]{
			{"CutAfterSending", (*storeFixture).testCutAfterSending},
			{"FrozenRead", (*storeFixture).testFrozenRead},
		}...)
	case h.Restart != nil:
		all = append(all, operation[*storeFixture]{"Restart", (*storeFixture).testRestart})
		fallthrough
	default:
		all = append(all, []operation[*storeFixture]{
			{"CutBeforeCommit", func(f *storeFixture) { f.network().testCutAtCommit(false) }},
			{"CutAfterCommit", func(f *storeFixture) { f.network().testCutAtCommit(true) }},
			{"AnswersSwallowed", func(f *storeFixture) { f.network().testSilent((*Proxy).Swallow) }},
		}...)
	}
	operations(t, ready(on), all)
}

// runUnreachable opens what is not there, and what does not answer.
func runUnreachable(t *testing.T, h Harness[store.Database]) {
	if h.OpenVia == nil {
		return
	}
	t.Run("Unreachable", func(t *testing.T) { testUnreachable(t, h) })
	t.Run("ServerSaysNothing", func(t *testing.T) {
		proxy := NewProxy(t, h.Server)
		proxy.Freeze()
		mustNotReach(t, h, proxy.Addr())
	})
}

func (f *storeFixture) network() *network[store.Database] {
	f.t.Helper()
	return newNetwork(f.fixture, network[store.Database]{open: f.writer, there: f.there, check: f.check, atOnce: !f.schema.Transactions})
}

// there reports whether a write is seen past the proxy.
func (f *storeFixture) there(id any) bool {
	f.t.Helper()
	f.settle()
	s, err := f.readAll(f.ctx, f.store.View, func() error { return nil })
	f.must("View", err)
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

// testCutAfterSending has a record written and the answer lost: the client cannot know.
func (f *storeFixture) testCutAfterSending() {
	n := f.network()
	for number := range rounds {
		w := n.warm(number)
		n.proxy.Swallow()
		before := w.(*storeClient)
		id := (before.number+1)<<32 | (before.seq + 1)
		_, r := n.broken(w, time.Minute, func() {
			for !f.seen(id) && f.ctx.Err() == nil {
				pause(f.ctx, 5*time.Millisecond)
			}
			n.proxy.Cut()
		})
		n.wantUnknown("the answer to a write was lost", r)
		n.recover(w, number)
	}
}

// seen reports whether a record is read by a session of the fixture's own Database.
func (f *storeFixture) seen(id int64) bool {
	c := f.client(f.store, 1000)
	defer c.close()
	found, _ := c.content(f.ctx, id)
	return len(found) > 0
}

// testFrozenRead has the network go silent before a read.
func (f *storeFixture) testFrozenRead() {
	n := f.network()
	w := n.warm(1)
	n.proxy.Freeze()
	ctx, cancel := context.WithTimeout(f.ctx, 300*time.Millisecond)
	defer cancel()
	if _, r := w.(*storeClient).content(ctx, -1); r.Outcome != history.Failed {
		f.t.Errorf("a read while the network was silent: %+v, want failed: it has no effect", r)
	}
	n.recover(w, 1)
}

// testRestart kills the server while eight clients work.
func (f *storeFixture) testRestart() {
	via := f.openVia(f.harness.Server)
	for round := range 2 {
		open := func(db store.Database, number int) writer { return f.writer(db, 8*round+number) }
		whileFailing(f.ctx, f.t, via, 8, open, 40, func() { f.harness.Restart(f.t) })
	}
	f.check()
}
