package drivertest

import (
	"context"
	"errors"
	"math"
	"slices"
	"testing"
	"time"

	"assay/history"
	"assay/workload"
	"assay/workload/keyvalue"
	"assay/workload/ycsb"
)

// MutableTable is the table that RunMutable is about.
func MutableTable() keyvalue.Table { return ycsb.Table(3, 40) }

// RunMutable tests what keyvalue.Mutable promises beside keyvalue.Store, on the schema
// of MutableTable, and makes a short run of workload ycsb. open and replaces are as
// Harness.Open and Harness.Replaces.
func RunMutable(t *testing.T, replaces bool, open func(t *testing.T) keyvalue.Store) {
	on := func(t *testing.T) *mutableFixture {
		f := &mutableFixture{fixture: newFixture(t, KeyValue{Open: open, Replaces: replaces}, contents{}), make: recordMaker{MutableTable()}}
		f.load()
		return f
	}
	operations(t, on, []operation[*mutableFixture]{
		{"Load", (*mutableFixture).testLoad},
		{"Update", (*mutableFixture).testUpdate},
		{"Scan", (*mutableFixture).testScan},
		{"ContextOver", (*mutableFixture).testContextOver},
	})
	t.Run("Run", func(t *testing.T) {
		store := open(t)
		config := ycsb.Defaults()
		config.Records, config.Fields, config.FieldBytes = 20, 3, 40
		config.Mix = "read=0.3,update=0.3,insert=0.1,scan=0.1,rmw=0.2"
		if _, err := store.(keyvalue.Mutable).Scans(); err != nil {
			config.Mix = "read=0.4,update=0.3,insert=0.1,rmw=0.2"
		}
		run := ShortRun{Workload: ycsb.Definition(), Config: &config, Seed: 1, Clients: 4, Each: 100, Attempts: 1}
		if j := run.Valid(t.Context(), t, store); j.YCSB.Records <= 20 || j.YCSB.Compared == 0 || j.Counts.Committed == 0 {
			t.Errorf("%+v, %+v", j.YCSB, j.Counts)
		}
		if err := errors.Join(store.Drop(t.Context()), store.Close()); err != nil {
			t.Error(err)
		}
	})
}

// mutableFixture is a fixture with records loaded.
type mutableFixture struct {
	*fixture[keyvalue.Store]
	make    recordMaker
	mutable keyvalue.Mutable
	records map[keyvalue.Value]keyvalue.Record
}

// load makes the table with 40 records, of the lowest key and the highest too.
func (f *mutableFixture) load() {
	f.t.Helper()
	f.mutable, f.records = f.store.(keyvalue.Mutable), map[keyvalue.Value]keyvalue.Record{}
	var records []keyvalue.Record
	for n := range int64(38) {
		records = append(records, f.make.record(1000*n))
	}
	records = append(records, f.make.record(1<<53+1), f.make.record(math.MaxInt64))
	for _, r := range records {
		f.records[r.Key] = r
	}
	err := f.store.Create(f.ctx, markerOf("ycsb", "run-1", int64(len(records))))
	if err == nil {
		err = errors.Join(f.mutable.LoadRecords(f.ctx, records[:25]), f.mutable.LoadRecords(f.ctx, records[25:]))
	}
	if err = errors.Join(err, f.mutable.FinishLoad(f.ctx)); err != nil {
		f.t.Fatalf("load: %v", err)
	}
}

// session opens one on a Store of its own.
func (f *mutableFixture) session() keyvalue.MutableSession {
	f.t.Helper()
	return sessionOf(f.fixture, f.open().(keyvalue.Mutable).MutableSession)
}

// testLoad has the mark tell that all is loaded, and what was loaded be there.
func (f *mutableFixture) testLoad() {
	marker := markerOf("ycsb", "run-1", 40)
	marker.Loaded = true
	f.mustFind(marker, 40)
	f.wantAll()
	if again := f.session().Insert(f.ctx, f.make.record(1000)); !f.harness.Replaces && !again.Duplicate {
		f.t.Errorf("insert of what was loaded: %+v, want a duplicate", again)
	}
}

// wantAll compares what is there with what was written.
func (f *mutableFixture) wantAll() {
	f.t.Helper()
	there := 0
	err := f.store.Read(f.ctx, func(r keyvalue.Record) error {
		if there++; !r.Equal(f.records[r.Key]) {
			f.t.Errorf("%+v is there, want %+v", r, f.records[r.Key])
		}
		return nil
	})
	if err != nil || there != len(f.records) {
		f.t.Errorf("%d records are there, want %d; %v", there, len(f.records), err)
	}
}

// testUpdate changes records that are there, and one that is not.
func (f *mutableFixture) testUpdate() {
	x, y := f.session(), f.session()
	for n, key := range []int64{0, 37_000, math.MaxInt64, 0} {
		record := f.make.altered(f.records[key], int64(500+n))
		f.records[key] = record
		if r := x.Update(f.ctx, record); r.Outcome != history.Committed || !r.Found {
			f.t.Errorf("update %d: %+v, want committed and found", n, r)
		}
		if r := y.Get(f.ctx, key); !r.Found || !r.Record.Equal(record) {
			f.t.Errorf("get after update %d: %+v, want %+v", n, r, record)
		}
	}
	absent := f.make.record(17)
	r := x.Update(f.ctx, absent)
	if r.Outcome != history.Committed || r.Found != f.harness.Replaces {
		f.t.Errorf("update of nothing: %+v", r)
	}
	if f.harness.Replaces {
		f.records[absent.Key] = absent
	}
	if got := y.Get(f.ctx, absent.Key); got.Found != f.harness.Replaces {
		f.t.Errorf("get after an update of nothing: %+v", got)
	}
	f.wantAll()
}

// testScan scans from keys that are there and that are not, to limits within and
// beyond, or is refused.
func (f *mutableFixture) testScan() {
	if _, err := f.mutable.Scans(); err != nil {
		var refused *workload.OptionError
		if !errors.As(err, &refused) || refused.Reason == "" {
			f.t.Errorf("scans are refused by %v", err)
		}
		return
	}
	x, y := f.session(), f.session()
	inserted := f.make.record(5_500)
	f.records[inserted.Key] = inserted
	changed := f.make.altered(f.records[int64(6000)], 9)
	f.records[changed.Key] = changed
	if a, b := y.Insert(f.ctx, inserted), y.Update(f.ctx, changed); a.Outcome != history.Committed || b.Outcome != history.Committed {
		f.t.Fatalf("%+v, %+v", a, b)
	}
	var keys []int64
	for key := range f.records {
		keys = append(keys, key.(int64))
	}
	slices.Sort(keys)
	for _, from := range []int64{math.MinInt64, 0, 1, 5000, 5001, 1<<53 + 1, 1<<53 + 2, math.MaxInt64} {
		for _, limit := range []int{1, 10, 1000} {
			at, _ := slices.BinarySearch(keys, from)
			found, r := x.Scan(f.ctx, from, limit)
			if want := keys[at:min(at+limit, len(keys))]; r.Outcome != history.Committed || len(found) != len(want) {
				f.t.Errorf("scan from %d, limit %d: %d records, %+v, want %d", from, limit, len(found), r, len(want))
				continue
			}
			for i, record := range found {
				if !record.Equal(f.records[keys[at+i]]) {
					f.t.Errorf("scan from %d, limit %d, record %d: %+v, want %+v", from, limit, i, record, f.records[keys[at+i]])
				}
			}
		}
	}
}

// testContextOver has contexts that are over before a call, and that end at all
// moments of it.
func (f *mutableFixture) testContextOver() {
	c := newConnection(f.fixture, f.mutable.MutableSession)
	opened(f.fixture, &c)
	_, err := f.mutable.Scans()
	scans := err == nil
	number := int64(0)
	written := map[string]bool{}
	update := func(ctx context.Context) (reply workload.Reply) {
		c.mustConnect(f.ctx)
		number++
		record := f.make.altered(f.records[int64(0)], number)
		written[record.Values[0].(string)] = true
		return c.attempt(ctx, "update", func(n keyvalue.MutableSession) workload.Reply { return n.Update(ctx, record).Reply })
	}
	scan := func(ctx context.Context) workload.Reply {
		c.mustConnect(f.ctx)
		return c.attempt(ctx, "scan", func(n keyvalue.MutableSession) workload.Reply {
			found, r := n.Scan(ctx, int64(0), 10)
			if r.Outcome == history.Committed && len(found) != 10 || r.Outcome == history.Unknown {
				f.t.Errorf("scan in a context that ended: %d records, %+v", len(found), r)
			}
			return r.Reply
		})
	}
	start := time.Now()
	update(f.ctx)
	usual := time.Since(start)
	contextsOver(f.ctx, 25, usual, func(over context.Context) {
		if r := update(over); r.Outcome == history.Committed {
			f.t.Errorf("update in a context that was over: %+v", r)
		}
		if scans {
			if r := scan(over); r.Outcome == history.Committed {
				f.t.Errorf("scan in a context that was over: %+v", r)
			}
		}
	}, func(ending context.Context) {
		update(ending)
		if scans {
			scan(ending)
		}
	})
	c.mustConnect(f.ctx)
	n, _ := c.Session(f.ctx)
	if r := n.Get(f.ctx, int64(0)); !r.Found || !written[r.Record.Values[0].(string)] {
		f.t.Errorf("get: %+v, which nobody wrote", r)
	}
}
