package drivertest

import (
	"testing"

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
		return &keyValueFixture{make: recordMaker{table}, written: NewRecords(), fixture: newFixture(t, h)}
	}
	runLifecycle(t, h, func(t *testing.T) schema[keyvalue.Store] { return on(t) })
	operations(t, func(t *testing.T) *keyValueFixture { f := on(t); f.mustCreate(); return f }, []operation[*keyValueFixture]{
		{"InsertGet", (*keyValueFixture).testInsertGet},
		{"Duplicate", (*keyValueFixture).testDuplicate},
		{"Read", (*keyValueFixture).testRead},
		{"ContextOver", (*keyValueFixture).testContextOver},
		{"Race", (*keyValueFixture).testRace},
		{"RaceForOneKey", (*keyValueFixture).testRaceForOneKey},
	})
	if h.OpenVia == nil {
		return
	}
	t.Run("CutBeforeSending", func(t *testing.T) { keyValueNetwork(on(t)).testCutBeforeSending() })
	t.Run("CutAfterSending", func(t *testing.T) { on(t).testCutAfterSending() })
	t.Run("Frozen", func(t *testing.T) { keyValueNetwork(on(t)).testSilent((*Proxy).Freeze) })
	t.Run("FrozenRead", func(t *testing.T) { on(t).testFrozenRead() })
	t.Run("CutAtAnyTime", func(t *testing.T) { keyValueNetwork(on(t)).testCutAtAnyTime() })
}

// keyValueFixture is a fixture with what was answered to inserts.
type keyValueFixture struct {
	*fixture[keyvalue.Store]
	make    recordMaker
	written *Records
}

// mustCreate makes an empty table.
func (f *keyValueFixture) mustCreate() {
	f.t.Helper()
	if err := f.create(f.store, f.marker("run-1")); err != nil {
		f.t.Fatalf("Create: %v", err)
	}
}

func (f *keyValueFixture) marker(run string) workload.Marker {
	return loadedMarker(f.make.table.Workload, run)
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

func (f *keyValueFixture) found() int64 { return 2 }

func (f *keyValueFixture) tables() []int64 { return []int64{2} }
