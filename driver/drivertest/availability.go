package drivertest

import (
	"context"
	"testing"

	"assay/history"
	"assay/workload"
	"assay/workload/availability"
)

// RunAvailability tests everything that availability.Store promises. Its
// subtests run one after the other on one schema.
func RunAvailability(t *testing.T, h Availability) {
	on := func(t *testing.T) *availabilityFixture {
		return &availabilityFixture{book: NewRows(), fixture: newFixture(t, h)}
	}
	runLifecycle(t, h, func(t *testing.T) schema[availability.Store] { return on(t) })
	for _, s := range []struct {
		name string
		run  func(*availabilityFixture)
	}{
		{"InsertGet", (*availabilityFixture).testInsertGet},
		{"Duplicate", (*availabilityFixture).testDuplicate},
		{"Read", (*availabilityFixture).testRead},
		{"ContextOver", (*availabilityFixture).testContextOver},
		{"Race", (*availabilityFixture).testRace},
		{"RaceForOneKey", (*availabilityFixture).testRaceForOneKey},
	} {
		t.Run(s.name, func(t *testing.T) {
			f := on(t)
			f.mustCreate()
			s.run(f)
		})
	}
	if h.OpenVia != nil {
		runKeyedNetwork(t, func(t *testing.T) *keyedNetwork[availability.Row] { return on(t).network() })
		t.Run("CutAtAnyTime", func(t *testing.T) { on(t).testCutAtAnyTime() })
	}
}

// availabilityFixture is a fixture with what was answered to inserts.
type availabilityFixture struct {
	*fixture[availability.Store]
	book *Rows
}

// mustCreate makes an empty table.
func (f *availabilityFixture) mustCreate() {
	f.t.Helper()
	if err := f.create(f.store, f.marker("run-1")); err != nil {
		f.t.Fatalf("Create: %v", err)
	}
}

func (f *availabilityFixture) marker(run string) workload.Marker {
	return loadedMarker("availability", run)
}

func (f *availabilityFixture) create(store availability.Store, marker workload.Marker) error {
	f.book = NewRows()
	return store.Create(f.ctx, marker)
}

func (f *availabilityFixture) load(availability.Store) {}

func (f *availabilityFixture) write(store availability.Store, number int) {
	x := f.client(store, int64(number))
	defer x.close()
	row := x.next()
	if r := x.get(f.ctx, row.Key); r.Outcome != history.Committed || r.Found {
		f.t.Errorf("get %d before it was inserted: %+v, want committed and not found", row.Key, r)
	}
	x.commitRow(f.ctx, row)
	x.wantFound(f.ctx, row)
	x.commit(f.ctx)
	x.commit(f.ctx)
}

func (f *availabilityFixture) read(store availability.Store) reading {
	return func(ctx context.Context, each func() error) error {
		return store.Read(ctx, func(availability.Row) error { return each() })
	}
}

// check settles and compares what was answered with what is there.
func (f *availabilityFixture) check() { f.t.Helper(); f.book.Check(f.ctx, f.t, f.store) }

func (f *availabilityFixture) found() int64 { return 3 }

func (f *availabilityFixture) tables() []int64 { return []int64{3} }

func (f *availabilityFixture) network() *keyedNetwork[availability.Row] {
	f.t.Helper()
	f.mustCreate()
	proxy, via := f.openProxied()
	return &keyedNetwork[availability.Row]{
		t: f.t, ctx: f.ctx, proxy: proxy, rounds: 3, check: f.check,
		via:    func(number int) keyed[availability.Row] { return f.client(via, int64(number)) },
		beside: func(number int) keyed[availability.Row] { return f.client(f.store, int64(number)) },
	}
}

// testCutAtAnyTime cuts while four clients insert.
func (f *availabilityFixture) testCutAtAnyTime() {
	n := f.network()
	var clients []worker
	for number := range 4 {
		x := n.via(number)
		clients = append(clients, worker{client: x, attempt: func(ctx context.Context) bool {
			return x.write(ctx, x.next()).Outcome == history.Committed
		}})
	}
	disturbed(f.ctx, f.t, clients, 20, cuts(n.proxy, 10)...)
	n.check()
}
