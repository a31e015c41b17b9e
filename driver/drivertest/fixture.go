package drivertest

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"assay/internal/expect"
	"assay/store"
)

// patience ends a hanging test. It measures nothing, so it is long.
const patience = expect.Patience

// fixture is one subtest's schema and Database, with a ledger of its writes.
type fixture struct {
	t      *testing.T
	ctx    context.Context
	suite  Store
	schema store.Schema
	lacks  store.Lacks
	store  store.Database
	// firstClient is added to the numbers of the subtest's clients.
	firstClient int
	closers     []func()
	*ledger
}

// fixture drops the schema now and at the end of the test.
func (s Store) fixture(t *testing.T, schema store.Schema) *fixture {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	t.Cleanup(cancel)
	f := &fixture{t: t, ctx: ctx, suite: s, schema: schema, ledger: newLedger()}
	f.store = f.open()
	f.lacks = f.store.Lacks()
	for capability, reason := range s.Lacks {
		if f.lacks[capability] == "" {
			t.Errorf("the driver lacks %s (%s), the database does not", capability, reason)
		}
	}
	f.must("Drop before the test", f.store.Drop(ctx))
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		err := f.store.Drop(ctx)
		for try := 0; err != nil && try < 5; try++ { // a replica set on a busy machine may be electing
			pause(ctx, time.Second)
			err = f.store.Drop(ctx)
		}
		f.wantNoError("Drop after the test", err)
	})
	return f
}

type operation struct {
	name string
	run  func(*fixture)
}

func operations(t *testing.T, on func(t *testing.T) *fixture, all []operation) {
	for _, o := range all {
		t.Run(o.name, func(t *testing.T) { o.run(on(t)) })
	}
}

// onOne runs all subtests on one fixture, because databases make tables slowly. Each subtest has
// clients of its own.
func onOne(t *testing.T, on func(t *testing.T) *fixture, all []operation) {
	const clientsEach = 10_000
	f := on(t)
	for _, o := range all {
		t.Run(o.name, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(context.Background(), patience)
			t.Cleanup(cancel)
			defer func(t *testing.T, ctx context.Context) { f.t, f.ctx, f.firstClient = t, ctx, f.firstClient+clientsEach }(f.t, f.ctx)
			f.t, f.ctx, f.closers = t, ctx, nil
			o.run(f)
		})
	}
}

// checked compares the ledger with the database after each subtest.
func checked(all []operation) []operation {
	for i, o := range all {
		all[i].run = func(f *fixture) {
			o.run(f)
			f.closeClients()
			f.check()
		}
	}
	return all
}

func ready(on func(t *testing.T) *fixture) func(t *testing.T) *fixture {
	return func(t *testing.T) *fixture {
		t.Helper()
		f := on(t)
		f.mustCreate(f.store, "run-1")
		f.load(f.store)
		return f
	}
}

// transfers reports whether clients write transfers between accounts; otherwise records.
func (f *fixture) transfers() bool { return f.schema.Transactions && !f.schema.Open }

// has reports whether the database has all capabilities, and logs the reason if not.
func (f *fixture) has(t *testing.T, all ...store.Capability) bool {
	for _, c := range all {
		if reason := f.lacks[c]; reason != "" {
			t.Logf("left out for want of %s: %s", c, reason)
			return false
		}
	}
	return true
}

func (f *fixture) must(what string, err error) {
	f.t.Helper()
	if err != nil {
		f.t.Fatalf("%s: %v", what, err)
	}
}

func (f *fixture) wantNoError(what string, err error) {
	f.t.Helper()
	if err != nil {
		f.t.Errorf("%s: %v", what, err)
	}
}

func (f *fixture) wantNoSecret(what, text string) {
	f.t.Helper()
	if f.suite.Secret != "" && strings.Contains(text, f.suite.Secret) {
		f.t.Errorf("%s gives the password", what)
	}
}

func (f *fixture) open() store.Database { return f.openAt(f.suite.Target) }

func (f *fixture) openAt(target store.Target) store.Database {
	f.t.Helper()
	db, err := f.suite.Open(context.Background(), target, f.schema)
	f.must("open", err)
	f.t.Cleanup(func() { f.wantNoError("Close", db.Close()) })
	return db
}

// session names the statements by their numbers.
func (f *fixture) session(db store.Database, statements ...store.Statement) store.Session {
	f.t.Helper()
	session, err := f.dial(db, f.named(statements))(f.ctx)
	f.must("Session", err)
	f.closing(session.Close)
	return session
}

// closing has closeClients and the end of the test call end.
func (f *fixture) closing(end func()) {
	f.closers = append(f.closers, end)
	f.t.Cleanup(end)
}

func (f *fixture) closeClients() {
	for _, end := range f.closers {
		end()
	}
}

// dial returns a function that opens sessions. On an open schema they learn the statements.
func (f *fixture) dial(db store.Database, statements []store.Statement) func(context.Context) (store.Session, error) {
	if !f.schema.Open {
		return func(ctx context.Context) (store.Session, error) { return db.Session(ctx, statements) }
	}
	return func(ctx context.Context) (store.Session, error) {
		session, err := db.Session(ctx, nil)
		for i := 0; err == nil && i < len(statements); i++ {
			if _, err = session.(store.Learner).Learn(ctx, statements[i]); err != nil {
				session.Close()
			}
		}
		return session, err
	}
}

func (f *fixture) named(statements []store.Statement) []store.Statement {
	for i := range statements {
		statements[i].Name = "s" + strings.Repeat("x", i)
	}
	f.wantNoError("the suite's own statements", f.schema.Check(statements))
	return statements
}

// marker has characters that trip a careless driver, and a time that every database can hold.
// It says loaded if there are no rows to load.
func (f *fixture) marker(run string) store.Marker {
	m := store.Marker{Run: run, Workload: f.schema.Workload, Version: `v1'";--é`, Created: time.Date(2026, 1, 2, 3, 4, 5, 678_000_000, time.UTC)}
	if f.transfers() {
		m.Rows = accounts
	}
	m.Loaded = m.Rows == 0
	return m
}

func (f *fixture) create(db store.Database, marker store.Marker) error {
	f.ledger.reset()
	err := db.Create(f.ctx, marker)
	if err == nil && f.schema.Open {
		err = f.make(db, tableOfRecords())
	}
	return err
}

func (f *fixture) mustCreate(db store.Database, run string) {
	f.t.Helper()
	f.must("Create", f.create(db, f.marker(run)))
}

func (f *fixture) load(db store.Database) {
	f.t.Helper()
	switch {
	case f.transfers():
		var loaded []account
		for id := range int64(accounts) {
			loaded = append(loaded, account{id + 1, opening, 0})
		}
		f.must("Load", db.Load(f.ctx, store.RowsOf("account", accountColumns(), loaded)))
		f.must("FinishLoad", db.FinishLoad(f.ctx))
		f.ledger.holds(accounts)
	case f.schema.Open:
		f.loadRecords(db, 1, 2)
	}
}

// write writes four rows. Each number, from 0, is used once after create.
func (f *fixture) write(db store.Database, number int) {
	f.t.Helper()
	c := f.client(db, number)
	defer c.Close()
	for range 4 {
		c.insist(f.ctx)
	}
}

func (f *fixture) check() {
	f.t.Helper()
	f.settle()
	views := []view{f.store.View, f.store.View}
	if f.schema.Open {
		views[1] = f.store.Audit
	}
	for _, look := range views {
		there, err := f.readAll(f.ctx, look, func() error { return nil })
		f.must("View", err)
		f.ledger.compare(f.t, there)
	}
}

func (f *fixture) settle() {
	f.t.Helper()
	f.must("Settle", f.store.Settle(f.ctx))
}

func (f *fixture) describe() {
	f.t.Helper()
	product, err := f.store.Describe(f.ctx)
	f.must("Describe", err)
	if product.Name == "" || product.Version == "" || len(product.Settings) == 0 {
		f.t.Errorf("Describe gave %+v; name, version and settings are due", product)
	}
	for _, s := range product.Settings {
		if s.Name == "" || s.Value == "" {
			f.t.Errorf("setting %+v is not complete", s)
		}
	}
	text, err := json.Marshal(product)
	f.must("Describe", err)
	f.wantNoSecret("Describe", string(text))
}

func (f *fixture) findNothing() {
	f.t.Helper()
	for range 2 { // looking must not make anything that the second look finds
		if leftover, err := f.store.Find(f.ctx); leftover != nil || err != nil {
			f.t.Fatalf("Find on nothing: %+v, %v; want nil", leftover, err)
		}
	}
}

func (f *fixture) mustFind(marker store.Marker) {
	f.t.Helper()
	for _, db := range []store.Database{f.store, f.open()} {
		leftover, err := db.Find(f.ctx)
		if err != nil || leftover == nil {
			f.t.Fatalf("Find: %+v, %v; want %+v", leftover, err, marker)
		}
		got := leftover.Marker
		if _, offset := got.Created.Zone(); offset != 0 || !got.Created.Equal(marker.Created) {
			f.t.Errorf("Find: created %v, want %v", got.Created, marker.Created)
		}
		got.Created = marker.Created
		if rows := int64(len(f.sent)); got != marker || f.schema.Open && leftover.Rows != rows {
			f.t.Errorf("Find: %+v with %d rows, want %+v with %d", got, leftover.Rows, marker, rows)
		}
	}
}

func (f *fixture) drop() {
	f.t.Helper()
	f.must("Drop", f.store.Drop(f.ctx))
	f.findNothing()
	f.wantNoError("Drop of nothing", f.store.Drop(f.ctx))
}

func (f *fixture) read(db store.Database, each func() error) error {
	_, err := f.readAll(f.ctx, db.View, each)
	return err
}

func (f *fixture) readNothing() {
	f.t.Helper()
	calls := 0
	err := f.read(f.store, func() error { calls++; return nil })
	var missing *store.NoSchemaError
	if !errors.As(err, &missing) || calls != 0 {
		f.t.Errorf("View on nothing: %d calls, %v; want *store.NoSchemaError", calls, err)
	}
}

func (f *fixture) stopReading(stop int) {
	f.t.Helper()
	sentinel := errors.New("the reader has had enough")
	calls := 0
	err := f.read(f.store, func() error {
		if calls++; calls == stop {
			return sentinel
		}
		return nil
	})
	if !errors.Is(err, sentinel) || !f.schema.Open && err != sentinel || calls != stop {
		f.t.Errorf("the callback failed at call %d: there were %d calls, and %v came back", stop, calls, err)
	}
}

// size fails the test if the parts of the size contradict the sum.
func (f *fixture) size() (size store.Size, rows int64) {
	f.t.Helper()
	size, err := f.store.Size(f.ctx)
	f.must("Size", err)
	if size.Bytes < 0 || size.Tables < 0 || size.Indexes < 0 {
		f.t.Errorf("Size: %+v", size)
	}
	if size.Tables+size.Indexes != 0 && size.Tables+size.Indexes != size.Bytes {
		f.t.Errorf("Size: %d of tables and %d of indexes are not %d", size.Tables, size.Indexes, size.Bytes)
	}
	for _, n := range size.Rows {
		rows += n
	}
	return size, rows
}
