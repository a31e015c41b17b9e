package drivertest

import (
	"context"
	"sync/atomic"
	"time"

	"assay/history"
	"assay/workload"
	"assay/workload/keyvalue"
)

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
