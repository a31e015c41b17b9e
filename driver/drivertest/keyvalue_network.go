package drivertest

import (
	"context"
	"time"

	"assay/history"
	"assay/workload"
	"assay/workload/keyvalue"
)

// keyValueNetwork has an empty table.
func keyValueNetwork(f *keyValueFixture) *network[keyvalue.Store] {
	f.t.Helper()
	f.mustCreate()
	return newNetwork(f.fixture, network[keyvalue.Store]{
		open:   func(store keyvalue.Store, number int) writer { return inserter{f.client(store, number)} },
		there:  f.there,
		check:  f.check,
		atOnce: true,
	})
}

// inserter is a client that inserts records, and reads those that were acknowledged.
type inserter struct{ *keyValueClient }

func (x inserter) write(ctx context.Context) (id any, reply workload.Reply) {
	record := x.next()
	reply = x.insert(ctx, record).Reply
	if reply.Outcome == history.Committed {
		if r := x.get(ctx, record.Key); r.Outcome == history.Committed && (!r.Found || !r.Record.Equal(record)) {
			x.t.Errorf("get %v: %+v, want %+v", record.Key, r, record)
		}
	}
	return record.Key, reply
}

// there reports whether a record is seen by a client of the fixture's own Store.
func (f *keyValueFixture) there(key any) bool {
	f.t.Helper()
	x := f.client(f.store, 1000)
	defer x.close()
	r := x.get(f.ctx, key)
	if r.Outcome != history.Committed {
		f.t.Fatalf("get %v: %+v", key, r)
	}
	return r.Found
}

// testCutAfterSending has the record inserted and the answer lost: the client
// cannot know.
func (f *keyValueFixture) testCutAfterSending() {
	n := keyValueNetwork(f)
	for number := range rounds {
		w := n.warm(number)
		n.proxy.Swallow()
		key := f.make.record(int64(number+1)<<32 | w.(inserter).made + 1).Key
		_, r := n.broken(w, time.Minute, func() {
			for !f.there(key) && f.ctx.Err() == nil {
				pause(f.ctx, 5*time.Millisecond)
			}
			n.proxy.Cut()
		})
		n.wantUnknown("the answer to an insert was lost", r)
		n.recover(w, number)
	}
}

// testFrozenRead has the network go silent before a read.
func (f *keyValueFixture) testFrozenRead() {
	n := keyValueNetwork(f)
	w := n.warm(1)
	n.proxy.Freeze()
	ctx, cancel := context.WithTimeout(f.ctx, 300*time.Millisecond)
	defer cancel()
	if r := w.(inserter).get(ctx, f.make.impossible()); r.Outcome == history.Committed {
		f.t.Errorf("get while the network was silent: %+v", r)
	}
	n.recover(w, 1)
}
