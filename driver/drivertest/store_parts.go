package drivertest

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"assay/history"
	"assay/store"
)

func testParts(t *testing.T, s Store, on func(t *testing.T) *fixture) {
	operations(t, on, []operation{
		{"LoadAtOnce", (*fixture).testLoadAtOnce},
		{"Promises", (*fixture).testPromises},
		{"Counting", (*fixture).testCounting},
		{"Compacting", func(f *fixture) { f.testCompacting(s.Shrinks) }},
		{"Engined", func(f *fixture) { f.testEngined(s.Engines) }},
		{"Replicated", (*fixture).testReplicated},
		{"Learner", (*fixture).testLearner},
	})
}

// many are rows of the table goods with the items from, ..., to-1.
func many(from, to int64) store.Rows {
	return store.Rows{Table: "goods", Columns: columnsOf("goods"), Count: int(to - from), Row: func(i int, into []store.Value) []store.Value {
		n := from + int64(i)
		return append(into, with(n%7, n, 3*n, "it's\t\\ number", n%2 == 0)...)
	}}
}

func (f *fixture) sums(db store.Database) (n, items, prices int64) {
	f.t.Helper()
	err := store.ReadAll(f.ctx, db.View, func(r store.Reader) error {
		return store.Whole(f.ctx, r, store.Statement{Table: "goods", Columns: []string{"item", "price", "name"}}, func(row store.Row) error {
			var item, price int64
			var name string
			err := row.Scan(&item, &price, &name)
			if name != "it's\t\\ number" {
				f.t.Errorf("item %d is named %q", item, name)
			}
			n, items, prices = n+1, items+item, prices+price
			return err
		})
	})
	f.must("View", err)
	return n, items, prices
}

func (f *fixture) wantMany(n int64) {
	f.t.Helper()
	if got, items, prices := f.sums(f.store); got != n || items != n*(n-1)/2 || prices != 3*items {
		f.t.Errorf("%d rows, with sums %d and %d; want %d", got, items, prices, n)
	}
}

// testLoadAtOnce loads several batches at once, and more by sessions.
func (f *fixture) testLoadAtOnce() {
	marker := f.marker("run-1")
	marker.Loaded = false
	f.must("Create", f.create(f.store, marker))
	loaders, ctx := errgroup.WithContext(f.ctx)
	for n := range int64(3) {
		loaders.Go(func() error { return f.store.Load(ctx, many(1500*n, 1500*(n+1))) })
	}
	f.must("Load", loaders.Wait())
	f.mustFind(marker)
	f.must("FinishLoad", f.store.FinishLoad(f.ctx))
	marker.Loaded = true
	f.mustFind(marker)
	f.wantMany(4500)
	session := f.session(f.store)
	for _, add := range []func(context.Context, store.Rows) store.Reply{session.Load, session.Insert} {
		n, _, _ := f.sums(f.store)
		if r := add(f.ctx, many(n, n+300)); r.Outcome != history.Committed || r.Err != nil {
			f.t.Errorf("%+v, want committed", r)
		}
		f.wantMany(n + 300)
		if !f.has(f.t, store.UniqueKeys, store.Transactions) {
			continue
		}
		if r := add(f.ctx, many(n+200, n+500)); r.Outcome != history.Failed || !r.Inserted().Duplicate {
			f.t.Errorf("rows of which some are there: %+v, want failed, a duplicate", r)
		}
		if r := add(ended(f.ctx), many(n+300, n+400)); r.Outcome == history.Committed {
			f.t.Errorf("rows in a context that was over: %+v", r)
			continue
		} else if r.Outcome == history.Unknown || r.Broken {
			f.settle()
			return // what is there is not known
		}
		f.wantMany(n + 300)
	}
}

func (f *fixture) testPromises() {
	p, levels := f.store.Promises(), f.store.Levels()
	if transactional := f.lacks[store.Transactions] == ""; (p.Model != "") != transactional || (len(levels) > 0) != transactional {
		f.t.Errorf("promises %+v, levels %v; with transactions: %v", p, levels, transactional)
	}
	for _, of := range []string{p.Reads, p.Scans} {
		if of != "" && of != store.Linearizable {
			f.t.Errorf("reads are promised to be %q", of)
		}
	}
	for _, l := range levels {
		if l.Name == "" {
			f.t.Errorf("level %+v has no name", l)
		}
	}
}

func (f *fixture) begin(rows int64) {
	f.t.Helper()
	f.mustCreate(f.store, "run-1")
	f.must("Load", f.store.Load(f.ctx, many(0, rows)))
	f.must("FinishLoad", f.store.FinishLoad(f.ctx))
}

func part[T any](f *fixture) (p T, ok bool) {
	if p, ok = store.As[T](f.store); !ok {
		f.t.Logf("the database has no part %T", new(T))
	}
	return p, ok
}

// testCounting wants the same names each time, and no shrinking counter but gauges.
func (f *fixture) testCounting() {
	counting, ok := part[store.Counting](f)
	if !ok {
		return
	}
	f.begin(10)
	before, err := counting.Waits(f.ctx)
	f.must("Waits", err)
	f.wantMany(10)
	after, err := counting.Waits(f.ctx)
	if err != nil || len(after) != len(before) {
		f.t.Fatalf("Waits again: %+v, %v; before %+v", after, err, before)
	}
	for i, a := range after {
		b := before[i]
		if a.Name == "" || a.Name != b.Name || a.Unit != b.Unit || a.Value < 0 || a.Unit != store.Gauge && a.Value < b.Value {
			f.t.Errorf("Waits: %+v after %+v", a, b)
		}
	}
}

func (f *fixture) testCompacting(shrinks bool) {
	compacting, ok := part[store.Compacting](f)
	if !ok || !f.has(f.t, store.Compactions, store.Sets) {
		return
	}
	const left = 400
	f.begin(4000)
	names, err := compacting.Compactions()
	var refused *store.OptionError
	if err != nil && !errors.As(err, &refused) || err == nil && len(names) == 0 {
		f.t.Fatalf("Compactions: %v, %v", names, err)
	}
	session := f.session(f.store, deleting("goods", is("item", store.AtLeast, 1)))
	if r := session.Run(f.ctx, store.Call{Statement: 0, Parameters: with(left)}); r.Outcome != history.Committed || r.Affected != 4000-left {
		f.t.Fatalf("delete: %+v", r)
	}
	session.Close()
	before, err := compacting.FileSize(f.ctx)
	f.must("FileSize", err)
	for _, name := range names {
		f.wantNoError(name, compacting.Compact(f.ctx, name))
		f.wantMany(left)
	}
	if after, err := compacting.FileSize(f.ctx); err != nil || shrinks && 2*after.Bytes > before.Bytes {
		f.t.Errorf("%d bytes at the end, %d before, %v", after.Bytes, before.Bytes, err)
	}
}

func (f *fixture) testEngined(chosen []string) {
	engined, ok := part[store.Engined](f)
	if !ok {
		return
	}
	engines, err := engined.Engines(f.ctx)
	if err != nil || len(engines) == 0 {
		f.t.Fatalf("Engines: %v, %v", engines, err)
	}
	if chosen != nil {
		engines = append(engines[:1:1], chosen...)
	}
	for _, engine := range engines {
		f.must("CreateOn "+engine, engined.CreateOn(f.ctx, f.marker("run-1"), engine, len(engines) > 1))
		f.must("Load", f.store.Load(f.ctx, many(0, 300)))
		f.must("FinishLoad", f.store.FinishLoad(f.ctx))
		f.wantMany(300)
	}
}

// testReplicated wants each member to show every acknowledged row.
func (f *fixture) testReplicated() {
	replicated, ok := part[store.Replicated](f)
	if !ok {
		return
	}
	f.begin(50)
	members, unreachable, err := replicated.Replicas(f.ctx)
	if err != nil || len(unreachable) > 0 {
		f.t.Fatalf("Replicas: %v, unreachable %v, %v", members, unreachable, err)
	}
	primaries := slices.DeleteFunc(slices.Clone(members), func(m store.Replica) bool { return !m.Primary })
	if len(members) > 1 && len(primaries) == 0 {
		f.t.Errorf("of %+v none takes writes", members)
	}
	for _, m := range members {
		f.must("CatchUp of "+m.Name, replicated.CatchUp(f.ctx, m))
		n := 0
		f.must("ViewReplica of "+m.Name, replicated.ViewReplica(f.ctx, m, func(r store.Reader) error {
			return store.Whole(f.ctx, r, store.Statement{Table: "goods", Columns: []string{"item"}}, func(store.Row) error { n++; return nil })
		}))
		if n != 50 {
			f.t.Errorf("%+v shows %d rows, want 50", m, n)
		}
	}
}

// testLearner has a session learn a statement, outside and inside of a transaction.
func (f *fixture) testLearner() {
	f.begin(10)
	session := f.session(f.store, selecting("goods", "price", store.Where("shop", "item")...))
	learner, ok := session.(store.Learner)
	if !ok {
		f.t.Log("the database's sessions learn no statement")
		return
	}
	s := selecting("goods", "name", store.Where("shop", "item")...)
	s.Name = "learned"
	var found []string
	into := func(r store.Row) error {
		found = append(found, "")
		return r.Scan(&found[len(found)-1])
	}
	n, err := learner.Learn(f.ctx, s)
	f.must("Learn", err)
	r := session.Run(f.ctx, store.Call{Statement: n, Parameters: with(3, 3), Row: into})
	if f.has(f.t, store.Transactions) {
		r = retryReply(f.ctx, func() store.Reply {
			found = found[:1]
			return session.Transaction(f.ctx, false, func(ctx context.Context, tx store.Transaction) error {
				s.Name = "learned_within" + time.Now().Format("050000")
				n, err := learner.Learn(ctx, s)
				if err == nil {
					_, err = tx.Do(ctx, n, into, with(4, 4)...)
				}
				return err
			})
		})
	}
	for _, name := range found {
		if name != "it's\t\\ number" {
			f.t.Errorf("a statement that was learned gave %q", found)
		}
	}
	if r.Outcome != history.Committed || len(found) == 0 {
		f.t.Errorf("%+v, %q", r, found)
	}
}
