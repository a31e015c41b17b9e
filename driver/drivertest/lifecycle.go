package drivertest

import (
	"errors"
	"testing"

	"assay/store"
)

func (s Store) runLifecycle(t *testing.T, on func(t *testing.T) *fixture, leases bool) {
	all := []operation{
		{"Nothing", (*fixture).testNothing},
		{"Create", (*fixture).testCreate},
		{"CreateAgain", (*fixture).testCreateAgain},
	}
	if leases {
		all = append(all, operation{"LeaseHeld", (*fixture).testLeaseHeld}, operation{"LeaseTakenOver", (*fixture).testLeaseTakenOver},
			operation{"LeaseRace", (*fixture).testLeaseRace})
	}
	if s.MakeForeign != nil {
		all = append(all, operation{"Foreign", (*fixture).testForeign})
	}
	if s.Others != nil {
		all = append(all, operation{"Others", (*fixture).testOthers})
	}
	operations(t, on, all)
}

func (f *fixture) testNothing() {
	f.describe()
	f.findNothing()
	f.readNothing()
	// Session may refuse at once, or open and let its statements fail.
	if session, err := f.dial(f.store, f.named(f.clientStatements()))(f.ctx); err != nil {
		f.wantNoSchema("Session on nothing", err)
	} else {
		session.Close()
	}
	_, err := f.store.Size(f.ctx)
	f.wantNoSchema("Size of nothing", err)
	f.wantNoError("Drop of nothing", f.store.Drop(f.ctx))
}

func (f *fixture) testCreate() {
	marker := f.marker("run-1")
	unloaded := marker
	unloaded.Loaded = false
	f.must("Create", f.create(f.store, unloaded))
	f.mustFind(unloaded)
	if marker.Loaded {
		f.mustCreate(f.store, "run-1")
	}
	f.load(f.store)
	f.write(f.store, 0)
	f.wantRun(marker)
	rows := 0
	if err := f.read(f.store, func() error { rows++; return nil }); err != nil || rows == 0 {
		f.t.Fatalf("View: %d rows, %v", rows, err)
	}
	for stop := range min(rows, 8) {
		f.stopReading(stop + 1)
	}
	f.stopReading(rows)
	for number := 1; number < 4; number++ { // sessions that come and go, each settled
		f.write(f.store, number)
		f.settle()
	}
	f.check()
}

func (f *fixture) wantRun(marker store.Marker) {
	f.t.Helper()
	f.check()
	marker.Loaded = true
	f.mustFind(marker)
	size, rows := f.size()
	if size.Bytes == 0 || len(size.Rows) == 0 || f.schema.Open && (len(size.Rows) != 1 || rows != int64(len(f.sent))) {
		f.t.Errorf("Size: %+v, after %d writes", size, len(f.sent))
	}
}

func (f *fixture) testCreateAgain() {
	f.mustCreate(f.store, "run-1")
	f.load(f.store)
	f.write(f.store, 0)
	second := f.open()
	f.mustCreate(second, "run-2")
	f.mustFind(f.marker("run-2"))
	f.check() // what was there is gone
	f.load(second)
	f.write(second, 0)
	f.wantRun(f.marker("run-2"))
	f.drop()
	f.mustCreate(f.store, "run-3")
	f.mustFind(f.marker("run-3"))
	f.load(f.store)
	f.write(f.store, 0)
	f.check()
}

func (f *fixture) testForeign() {
	intact := f.suite.MakeForeign(f.t, f.schema.Workload)
	for name, attempt := range map[string]func(store.Database) error{
		"Find":      func(db store.Database) error { _, err := db.Find(f.ctx); return err },
		"Marker":    func(db store.Database) error { _, err := db.Marker(f.ctx); return err },
		"TakeLease": func(db store.Database) error { return db.TakeLease(f.ctx, holderOf("one"), longLease, "") },
		"Create":    func(db store.Database) error { return f.create(db, f.marker("run-1")) },
		"Drop":      func(db store.Database) error { return db.Drop(f.ctx) },
	} {
		err := attempt(f.open())
		var foreign *store.ForeignError
		if !errors.As(err, &foreign) {
			f.t.Errorf("%s on what is not ours: %v; want *store.ForeignError", name, err)
		} else if foreign.Name == "" || foreign.Hint == "" {
			f.t.Errorf("%s: %+v lacks a name or a hint", name, foreign)
		}
		intact(f.t)
	}
	if err := f.read(f.open(), func() error { return nil }); err == nil {
		f.t.Error("View of what is not ours gave no error")
	}
	intact(f.t)
}
