package drivertest

import (
	"context"
	"time"

	"assay/history"
	"assay/workload/keyvalue"
)

// keyValueNetwork tests what an insert is reported as when its connection
// breaks: a fixture with a Store of its own behind a proxy.
type keyValueNetwork struct {
	*keyValueFixture
	proxy *Proxy
	via   keyvalue.Store
}

func newKeyValueNetwork(f *keyValueFixture) *keyValueNetwork {
	f.t.Helper()
	f.mustCreate()
	proxy, via := f.openProxied()
	return &keyValueNetwork{f, proxy, via}
}

// rounds is how often that is tried which can go either way.
const rounds = 3

// warm returns a client behind the proxy that has written and read.
func (n *keyValueNetwork) warm(number int) *keyValueClient {
	n.t.Helper()
	x := n.client(n.via, number)
	x.wantFound(n.ctx, x.commit(n.ctx))
	return x
}

// during does something while an insert is in flight.
func (n *keyValueNetwork) during(x *keyValueClient, record keyvalue.Record, limit time.Duration, fault func()) keyvalue.Reply {
	n.t.Helper()
	return during(n.ctx, n.t, limit, func(ctx context.Context) keyvalue.Reply { return x.insert(ctx, record) }, fault)
}

// recover lets everything pass again and wants the client to work and the data
// to agree with what was answered.
func (n *keyValueNetwork) recover(x *keyValueClient) {
	n.t.Helper()
	n.proxy.Pass()
	x.close()
	n.comeBack(x)
	x.close()
	n.check()
}

// comeBack repeats fresh inserts until one is acknowledged.
func (n *keyValueNetwork) comeBack(x *keyValueClient) {
	n.t.Helper()
	var r keyvalue.Reply
	for n.ctx.Err() == nil {
		ctx, cancel := context.WithTimeout(n.ctx, 10*time.Second)
		record := x.next()
		r = x.insert(ctx, record)
		cancel()
		if r.Outcome == history.Committed {
			x.wantFound(n.ctx, record)
			return
		}
		pause(n.ctx, 20*time.Millisecond)
	}
	n.t.Fatalf("no insert commits any more: %v (%s: %v)", r.Outcome, r.Class, r.Err)
}

// there reports whether the record is seen past the proxy.
func (n *keyValueNetwork) there(record keyvalue.Record) bool {
	n.t.Helper()
	x := n.client(n.store, 1000)
	defer x.close()
	r := x.get(n.ctx, record.Key)
	if r.Outcome != history.Committed {
		n.t.Fatalf("get %+v: %+v", record, r)
	}
	return r.Found
}

func (n *keyValueNetwork) testCutBeforeSending() {
	x := n.warm(1)
	n.proxy.Cut()
	record := x.next()
	if r := n.during(x, record, 10*time.Second, func() {}); r.Outcome == history.Committed || r.Duplicate {
		n.t.Errorf("an insert over a connection that was cut: %+v", r)
	}
	n.recover(x)
	if n.there(record) {
		n.t.Error("an insert of which nothing arrived was done")
	}
}

// testCutAfterSending has the record inserted and the answer lost: the client
// cannot know.
func (n *keyValueNetwork) testCutAfterSending() {
	for number := range rounds {
		x := n.warm(number)
		n.proxy.Swallow()
		record := x.next()
		r := n.during(x, record, time.Minute, func() {
			for !n.there(record) && n.ctx.Err() == nil {
				pause(n.ctx, 5*time.Millisecond)
			}
			n.proxy.Cut()
		})
		if r.Outcome != history.Unknown {
			n.t.Errorf("the answer to an insert was lost: %v (%s: %v), want unknown", r.Outcome, r.Class, r.Err)
		}
		n.recover(x)
	}
}

// testFrozen has the network go silent: the caller's limit ends the call. What
// was sent arrives afterwards, as it does in reality.
func (n *keyValueNetwork) testFrozen() {
	for number := range rounds {
		x := n.warm(number)
		n.proxy.Freeze()
		if r := n.during(x, x.next(), 300*time.Millisecond, func() {}); r.Outcome != history.Unknown {
			n.t.Errorf("the network went silent: %v (%s: %v), want unknown", r.Outcome, r.Class, r.Err)
		}
		n.recover(x)
		x = n.warm(number + 10)
		n.proxy.Freeze()
		ctx, cancel := context.WithTimeout(n.ctx, 300*time.Millisecond)
		if r := x.get(ctx, x.next().Key); r.Outcome == history.Committed {
			n.t.Errorf("get while the network was silent: %+v", r)
		}
		cancel()
		n.recover(x)
	}
}

// testCutAtAnyTime cuts while four clients insert.
func (n *keyValueNetwork) testCutAtAnyTime() {
	var workers []worker
	for number := range 4 {
		x := n.client(n.via, number)
		workers = append(workers, worker{x, func(ctx context.Context) bool {
			return x.insert(ctx, x.next()).Outcome == history.Committed
		}})
	}
	disturbed(n.ctx, n.t, workers, 20, cuts(n.proxy, 10)...)
	n.check()
}
