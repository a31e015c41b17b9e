package drivertest

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"assay/history"
	"assay/workload"
	"assay/workload/availability"
	"assay/workload/entity"
	"assay/workload/keyvalue"
)

// KeyValueTables are the tables of the workloads that stand on package keyvalue.
func KeyValueTables() []keyvalue.Table {
	return []keyvalue.Table{availability.Table(), entity.Table()}
}

// RunKeyValue tests everything that keyvalue.Store promises, with records of this
// table, whatever it is. Its subtests run one after the other on one schema.
func RunKeyValue(t *testing.T, table keyvalue.Table, h KeyValue) {
	on := func(t *testing.T) *keyValueFixture {
		return &keyValueFixture{make: recordMaker{table}, written: NewRecords(),
			fixture: newFixture(t, h, contents{workload: table.Workload, found: 2, tables: []int64{2}})}
	}
	runLifecycle(t, h, on)
	operations(t, ready(on), checked([]operation[*keyValueFixture]{
		{"InsertGet", (*keyValueFixture).testInsertGet},
		{"Duplicate", (*keyValueFixture).testDuplicate},
		{"Read", (*keyValueFixture).testRead},
		{"ContextOver", (*keyValueFixture).testContextOver},
		{"Race", (*keyValueFixture).testRace},
		{"RaceForOneKey", (*keyValueFixture).testRaceForOneKey},
	}))
	if h.OpenVia == nil {
		return
	}
	operations(t, ready(on), []operation[*keyValueFixture]{
		{"CutBeforeSending", func(f *keyValueFixture) { f.network().testCutBeforeSending() }},
		{"CutAfterSending", (*keyValueFixture).testCutAfterSending},
		{"Frozen", func(f *keyValueFixture) { f.network().testSilent((*Proxy).Freeze) }},
		{"FrozenRead", (*keyValueFixture).testFrozenRead},
		{"CutAtAnyTime", func(f *keyValueFixture) { f.network().testCutAtAnyTime() }},
	})
}

// keyValueFixture is a fixture with what was answered to inserts.
type keyValueFixture struct {
	*fixture[keyvalue.Store]
	make    recordMaker
	written *Records
}

func (f *keyValueFixture) create(store keyvalue.Store, marker workload.Marker) error {
	f.written = NewRecords()
	return store.Create(f.ctx, marker)
}

func (f *keyValueFixture) write(store keyvalue.Store, number int) {
	x := f.client(store, number)
	defer x.close()
	record := x.next()
	x.wantMissing(f.ctx, record.Key)
	x.commitRecord(f.ctx, record)
	x.wantFound(f.ctx, record)
	x.commit(f.ctx)
}

func (f *keyValueFixture) read(store keyvalue.Store) reading { return each(store.Read) }

// check settles and compares what was answered with what is there.
func (f *keyValueFixture) check() { f.t.Helper(); f.written.Check(f.ctx, f.t, f.store) }

// keyValueClient is one client, every answer to which is recorded. It is used by
// one goroutine.
type keyValueClient struct {
	connection[keyvalue.Session]
	replaces bool
	make     recordMaker
	written  *Records
	number   int64
	made     int64
}

func (f *keyValueFixture) client(store keyvalue.Store, number int) *keyValueClient {
	return opened(f.fixture, &keyValueClient{connection: newConnection(f.fixture, store.Session), replaces: f.harness.Replaces,
		make: f.make, written: f.written, number: int64(number)})
}

// next returns a record with a fresh key.
func (x *keyValueClient) next() keyvalue.Record {
	x.made++
	return x.make.record((x.number+1)<<32 | x.made)
}

// insert makes one attempt and records it.
func (x *keyValueClient) insert(ctx context.Context, record keyvalue.Record) keyvalue.Reply {
	reply := x.insertUnrecorded(ctx, record)
	x.written.Add(record, reply.Outcome)
	return reply
}

func (x *keyValueClient) insertUnrecorded(ctx context.Context, record keyvalue.Record) (reply keyvalue.Reply) {
	what := fmt.Sprintf("insert %v", record.Key)
	reply.Reply = x.attempt(ctx, what, func(session keyvalue.Session) workload.Reply {
		reply = session.Insert(ctx, record)
		return reply.Reply
	})
	if reply.Duplicate && x.replaces || reply.Outcome == history.Rejected {
		x.t.Errorf("%s: %+v", what, reply)
	}
	return reply
}

// get makes one attempt to read.
func (x *keyValueClient) get(ctx context.Context, key keyvalue.Value) (reply keyvalue.Reply) {
	what := fmt.Sprintf("get %v", key)
	reply.Reply = x.attempt(ctx, what, func(session keyvalue.Session) workload.Reply {
		reply = session.Get(ctx, key)
		return reply.Reply
	})
	if reply.Found && reply.Outcome != history.Committed {
		x.t.Errorf("%s: %v and found", what, reply.Outcome)
	}
	return reply
}

// commit repeats a fresh record's insert while it fails, and ends the test
// unless it is acknowledged. It is for the test's own goroutine.
func (x *keyValueClient) commit(ctx context.Context) keyvalue.Record {
	x.t.Helper()
	record := x.next()
	x.commitRecord(ctx, record)
	return record
}

func (x *keyValueClient) commitRecord(ctx context.Context, record keyvalue.Record) {
	x.t.Helper()
	r := retry(ctx, func() workload.Reply { return x.insert(ctx, record).Reply })
	if r.Outcome != history.Committed {
		x.t.Fatalf("insert %+v: %v (%s: %v), want committed", record, r.Outcome, r.Class, r.Err)
	}
}

// wantFound fails the test unless the key is read as this record.
func (x *keyValueClient) wantFound(ctx context.Context, record keyvalue.Record) {
	x.t.Helper()
	if r := x.get(ctx, record.Key); r.Outcome != history.Committed || !r.Found || !r.Record.Equal(record) {
		x.t.Errorf("get %v: %+v, want %+v", record.Key, r, record)
	}
}

// wantMissing fails the test unless the key is read and not found.
func (x *keyValueClient) wantMissing(ctx context.Context, key keyvalue.Value) {
	x.t.Helper()
	if r := x.get(ctx, key); r.Outcome != history.Committed || r.Found || r.Record.Key != nil {
		x.t.Errorf("get %v: %+v, want committed and not found", key, r)
	}
}

// testInsertGet has records seen by the session that wrote them and by another
// Store's.
func (f *keyValueFixture) testInsertGet() {
	x, y := f.client(f.store, 1), f.client(f.open(), 2)
	for _, record := range f.make.extreme() {
		y.wantMissing(f.ctx, record.Key)
		x.commitRecord(f.ctx, record)
		x.wantFound(f.ctx, record)
		y.wantFound(f.ctx, record)
	}
	x.wantMissing(f.ctx, f.make.impossible())
	y.wantFound(f.ctx, x.commit(f.ctx))
	x.wantFound(f.ctx, y.commit(f.ctx))
}

// testDuplicate inserts a key again: it is refused, and the record is as it was,
// or it replaces the record.
func (f *keyValueFixture) testDuplicate() {
	x, y := f.client(f.store, 1), f.client(f.open(), 2)
	record := x.commit(f.ctx)
	for n, other := range []*keyValueClient{x, y} {
		again := f.make.altered(record, int64(n))
		other.mustConnect(f.ctx)
		r := other.insertUnrecorded(f.ctx, again)
		switch {
		case f.harness.Replaces && (r.Outcome != history.Committed || r.Duplicate):
			f.t.Errorf("insert again: %+v, want committed", r)
		case f.harness.Replaces:
			record = again
			f.written.replaced(record)
		case r.Outcome != history.Failed || !r.Duplicate || r.Class != workload.ClassDuplicate:
			f.t.Errorf("insert again: %+v, want failed, a duplicate", r)
		}
		x.wantFound(f.ctx, record)
		y.wantFound(f.ctx, other.commit(f.ctx)) // the session is as good as before
	}
}

// testRead reads more records than one batch of any driver's, and stops early.
func (f *keyValueFixture) testRead() {
	x := f.client(f.store, 1)
	for range 300 {
		x.commit(f.ctx)
	}
	x.close()
	f.check()
	n := 0
	if err := f.store.Read(f.ctx, func(keyvalue.Record) error { n++; return nil }); err != nil || n != 300 {
		f.t.Errorf("%d records were read, %v; want 300", n, err)
	}
	f.stopReading(f.read(f.store), 1, 2, 300)
}

// testContextOver has contexts that are over before a call, and that end at all
// moments of it.
func (f *keyValueFixture) testContextOver() {
	x := f.client(f.store, 1)
	x.commit(f.ctx)
	start := time.Now()
	record := x.commit(f.ctx)
	usual := time.Since(start)
	contextsOver(f.ctx, 50, usual, func(over context.Context) {
		x.mustConnect(f.ctx)
		if r := x.insert(over, x.next()); r.Outcome == history.Committed || r.Duplicate {
			f.t.Errorf("insert in a context that was over: %+v", r)
		}
		x.mustConnect(f.ctx)
		if r := x.get(over, record.Key); r.Outcome == history.Committed {
			f.t.Errorf("get in a context that was over: %+v", r)
		}
	}, func(ending context.Context) {
		x.mustConnect(f.ctx)
		if r := x.insert(ending, x.next()); r.Duplicate {
			f.t.Errorf("insert in a context that ended: %+v", r)
		}
		x.mustConnect(f.ctx)
		if r := x.get(ending, record.Key); r.Outcome == history.Committed && !r.Record.Equal(record) {
			f.t.Errorf("get %v: %+v, want %+v", record.Key, r, record)
		}
	})
	x.wantFound(f.ctx, x.commit(f.ctx)) // what was abandoned must not be in the way for ever
}

// testRace has eight clients insert and read what they inserted.
func (f *keyValueFixture) testRace() {
	together(connected(f.fixture, 8, f.client), func(x *keyValueClient) {
		for range 40 {
			record := x.next()
			if x.insert(f.ctx, record).Outcome == history.Committed {
				x.wantFound(f.ctx, record)
			}
		}
	})
}

// testRaceForOneKey has eight clients insert the same record: one of them gets
// it.
func (f *keyValueFixture) testRaceForOneKey() {
	for round := range int64(10) {
		record := f.make.record(round)
		var committed, duplicates atomic.Int64
		together(connected(f.fixture, 8, f.client), func(x *keyValueClient) {
			switch r := x.insert(f.ctx, record); {
			case r.Outcome == history.Committed:
				committed.Add(1)
			case r.Duplicate:
				duplicates.Add(1)
			}
		})
		if c, d := committed.Load(), duplicates.Load(); !f.harness.Replaces && (c > 1 || c == 0 && d > 0) {
			f.t.Errorf("of eight inserts of one key %d were acknowledged and %d duplicates", c, d)
		}
	}
}

func (f *keyValueFixture) network() *network[keyvalue.Store] {
	f.t.Helper()
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
	n := f.network()
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
	n := f.network()
	w := n.warm(1)
	n.proxy.Freeze()
	ctx, cancel := context.WithTimeout(f.ctx, 300*time.Millisecond)
	defer cancel()
	if r := w.(inserter).get(ctx, f.make.impossible()); r.Outcome == history.Committed {
		f.t.Errorf("get while the network was silent: %+v", r)
	}
	n.recover(w, 1)
}
