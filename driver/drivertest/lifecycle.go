package drivertest

import (
	"slices"
	"testing"

	"assay/workload"
)

// schema is a fixture as one workload uses it: what the suites that all
// workloads share have to know of it. What was written is recorded by the
// implementation from one call of create to the next.
type schema[S workload.Store] interface {
	base() *fixture[S]
	// marker is that of a run whose schema has been created: loaded if the
	// workload loads nothing.
	marker(run string) workload.Marker
	// create makes an empty schema.
	create(store S, marker workload.Marker) error
	// load loads what the workload begins with.
	load(store S)
	// write has a session of the Store write a few rows, and read them where the
	// workload reads. The first write after load wants to see nothing that is
	// older. It is for numbers from 0 on, each once after create.
	write(store S, number int)
	// read is the Store's Read.
	read(store S) reading
	// check settles and compares what was answered with what is there.
	check()
	// found is how many rows Find counts after load and one write, anyRows if
	// that is not fixed; tables are the numbers of rows by table that Size gives
	// then, ascending, nil if they are not fixed.
	found() int64
	tables() []int64
}

// runLifecycle tests what a Store of any workload promises: an empty database,
// create, find, size, settle, read, create again, drop, the lease, and something
// of our name that is not ours.
func runLifecycle[S workload.Store](t *testing.T, h Harness[S], on func(t *testing.T) schema[S]) {
	if h.OperationsOnly {
		return
	}
	for _, s := range []struct {
		name string
		run  func(*lifecycle[S])
	}{
		{"Nothing", (*lifecycle[S]).testNothing},
		{"Create", (*lifecycle[S]).testCreate},
		{"CreateAgain", (*lifecycle[S]).testCreateAgain},
		{"LeaseHeld", (*lifecycle[S]).testLeaseHeld},
		{"LeaseTakenOver", (*lifecycle[S]).testLeaseTakenOver},
		{"LeaseRace", (*lifecycle[S]).testLeaseRace},
		{"Foreign", (*lifecycle[S]).testForeign},
	} {
		if s.name != "Foreign" || h.MakeForeign != nil {
			t.Run(s.name, func(t *testing.T) {
				schema := on(t)
				s.run(&lifecycle[S]{fixture: schema.base(), schema: schema})
			})
		}
	}
}

// lifecycle is the schema of one subtest.
type lifecycle[S workload.Store] struct {
	*fixture[S]
	schema schema[S]
}

func (l *lifecycle[S]) create(store S, run string) {
	l.t.Helper()
	if err := l.schema.create(store, l.schema.marker(run)); err != nil {
		l.t.Fatalf("Create: %v", err)
	}
}

// empty is how many rows Find counts in an empty schema.
func (l *lifecycle[S]) empty() int64 { return min(l.schema.found(), 0) }

func (l *lifecycle[S]) testNothing() {
	l.describe()
	l.findNothing()
	l.readNothing(l.schema.read(l.store))
	if err := l.store.Drop(l.ctx); err != nil {
		l.t.Errorf("Drop of nothing: %v", err)
	}
}

// testCreate goes once through all phases of a run.
func (l *lifecycle[S]) testCreate() {
	marker := l.schema.marker("run-1")
	unloaded := marker
	unloaded.Loaded = false
	if err := l.schema.create(l.store, unloaded); err != nil {
		l.t.Fatalf("Create: %v", err)
	}
	l.mustFind(unloaded, l.empty())
	if marker.Loaded {
		l.create(l.store, "run-1")
	}
	l.schema.load(l.store)
	l.schema.write(l.store, 0)
	l.settle()
	l.check(marker)
	read := l.schema.read(l.store)
	rows := 0
	if err := read(l.ctx, func() error { rows++; return nil }); err != nil || rows == 0 {
		l.t.Fatalf("Read: %d rows, %v", rows, err)
	}
	for stop := range min(rows, 8) {
		l.stopReading(read, stop+1)
	}
	l.stopReading(read, rows)
	for number := 1; number < 4; number++ { // sessions that come and go, each settled
		l.schema.write(l.store, number)
		l.settle()
	}
	l.schema.check()
}

// check wants the marker to be found, and the size and the rows to be those of
// what was written.
func (l *lifecycle[S]) check(marker workload.Marker) {
	l.t.Helper()
	l.schema.check()
	marker.Loaded = true
	l.mustFind(marker, l.schema.found())
	size, _ := l.size()
	var tables []int64
	for _, rows := range size.Rows {
		tables = append(tables, rows)
	}
	slices.Sort(tables)
	if want := l.schema.tables(); size.Bytes == 0 || len(tables) == 0 || want != nil && !slices.Equal(tables, want) {
		l.t.Errorf("Size: %+v, want %d rows by table", size, want)
	}
}

// testCreateAgain has another Store's Create remove the earlier run's schema,
// and Drop remove that.
func (l *lifecycle[S]) testCreateAgain() {
	l.create(l.store, "run-1")
	l.schema.load(l.store)
	l.schema.write(l.store, 0)
	second := l.open()
	l.create(second, "run-2")
	l.mustFind(l.schema.marker("run-2"), l.empty())
	l.schema.check() // what was there is gone
	l.schema.load(second)
	l.schema.write(second, 0)
	l.check(l.schema.marker("run-2"))
	l.drop()
	l.create(l.store, "run-3")
	l.mustFind(l.schema.marker("run-3"), l.empty())
	l.schema.load(l.store)
	l.schema.write(l.store, 0)
	l.schema.check()
}

func (l *lifecycle[S]) testForeign() {
	l.foreign(func(s S) error { return l.schema.create(s, l.schema.marker("run-1")) }, l.schema.read)
}
