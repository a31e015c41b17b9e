package drivertest

import (
	"errors"
	"slices"
	"testing"

	"assay/workload"
)

// schema is a fixture as one workload uses it: what the suites that all
// workloads share have to know of it. What was written is recorded by the
// implementation from one call of create to the next.
type schema[S workload.Store] interface {
	base() *fixture[S]
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
}

// runLifecycle tests what a Store of any workload promises: an empty database,
// create, find, size, settle, read, create again, drop, the lease, and something
// of our name that is not ours.
func runLifecycle[S workload.Store, F schema[S]](t *testing.T, h Harness[S], on func(t *testing.T) F) {
	all := []operation[*lifecycle[S]]{
		{"Nothing", (*lifecycle[S]).testNothing},
		{"Create", (*lifecycle[S]).testCreate},
		{"CreateAgain", (*lifecycle[S]).testCreateAgain},
		{"LeaseHeld", (*lifecycle[S]).testLeaseHeld},
		{"LeaseTakenOver", (*lifecycle[S]).testLeaseTakenOver},
		{"LeaseRace", (*lifecycle[S]).testLeaseRace},
	}
	if h.MakeForeign != nil {
		all = append(all, operation[*lifecycle[S]]{"Foreign", (*lifecycle[S]).testForeign})
	}
	if h.Others != nil {
		all = append(all, operation[*lifecycle[S]]{"Others", (*lifecycle[S]).testOthers})
	}
	operations(t, func(t *testing.T) *lifecycle[S] {
		schema := on(t)
		return &lifecycle[S]{fixture: schema.base(), schema: schema}
	}, all)
}

// lifecycle is the schema of one subtest.
type lifecycle[S workload.Store] struct {
	*fixture[S]
	schema schema[S]
}

func (l *lifecycle[S]) create(store S, run string) {
	l.t.Helper()
	l.must("Create", l.schema.create(store, l.marker(run)))
}

// empty is how many rows Find counts in an empty schema.
func (l *lifecycle[S]) empty() int64 { return min(l.contents.found, 0) }

func (l *lifecycle[S]) testNothing() {
	l.describe()
	l.findNothing()
	l.readNothing(l.schema.read(l.store))
	l.wantNoError("Drop of nothing", l.store.Drop(l.ctx))
}

// testCreate goes once through all phases of a run.
func (l *lifecycle[S]) testCreate() {
	marker := l.marker("run-1")
	unloaded := marker
	unloaded.Loaded = false
	l.must("Create", l.schema.create(l.store, unloaded))
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
	l.mustFind(marker, l.contents.found)
	size, _ := l.size()
	var tables []int64
	for _, rows := range size.Rows {
		tables = append(tables, rows)
	}
	slices.Sort(tables)
	if want := l.contents.tables; size.Bytes == 0 || len(tables) == 0 || want != nil && !slices.Equal(tables, want) {
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
	l.mustFind(l.marker("run-2"), l.empty())
	l.schema.check() // what was there is gone
	l.schema.load(second)
	l.schema.write(second, 0)
	l.check(l.marker("run-2"))
	l.drop()
	l.create(l.store, "run-3")
	l.mustFind(l.marker("run-3"), l.empty())
	l.schema.load(l.store)
	l.schema.write(l.store, 0)
	l.schema.check()
}

// testForeign makes what is another maker's and wants it refused and untouched.
func (l *lifecycle[S]) testForeign() {
	l.harness.MakeForeign(l.t)
	for name, attempt := range map[string]func(S) error{
		"Find":      func(s S) error { _, err := s.Find(l.ctx); return err },
		"Marker":    func(s S) error { _, err := s.Marker(l.ctx); return err },
		"TakeLease": func(s S) error { return s.TakeLease(l.ctx, holderOf("one"), longLease, "") },
		"Create":    func(s S) error { return l.schema.create(s, l.marker("run-1")) },
		"Drop":      func(s S) error { return s.Drop(l.ctx) },
	} {
		err := attempt(l.open())
		var foreign *workload.ForeignError
		if !errors.As(err, &foreign) {
			l.t.Errorf("%s on what is not ours: %v; want *workload.ForeignError", name, err)
		} else if foreign.Name == "" || foreign.Hint == "" {
			l.t.Errorf("%s: %+v lacks a name or a hint", name, foreign)
		}
		l.harness.ForeignIntact(l.t)
	}
	if err := l.schema.read(l.open())(l.ctx, func() error { return nil }); err == nil {
		l.t.Error("Read of what is not ours gave no error")
	}
	l.harness.ForeignIntact(l.t)
}
