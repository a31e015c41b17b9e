package drivertest

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"assay/workload"
)

// contents is what the suites that all workloads share have to know of a schema.
type contents struct {
	// workload is the name in the marker, and loads how many rows the marker says are
	// loaded; the schema of a workload that loads nothing is loaded when it is created.
	workload string
	loads    int64
	// found is how many rows Find counts after load and one write, anyRows if that is not
	// fixed; tables are the numbers of rows by table that Size gives then, ascending, nil
	// if they are not fixed.
	found  int64
	tables []int64
}

// anyRows stands for a number of rows that the workload does not fix.
const anyRows = -1

// fixture is the schema under test and a Store on it, for one subtest.
type fixture[S workload.Store] struct {
	t        *testing.T
	ctx      context.Context
	harness  Harness[S]
	contents contents
	store    S
	// clients are all that were opened.
	clients []client
}

// newFixture drops the schema under test, now and at the end of the test.
func newFixture[S workload.Store](t *testing.T, h Harness[S], c contents) *fixture[S] {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	t.Cleanup(cancel)
	f := &fixture[S]{t: t, ctx: ctx, harness: h, contents: c}
	f.store = f.open()
	if err := f.store.Drop(ctx); err != nil {
		t.Fatalf("Drop before the test: %v", err)
	}
	t.Cleanup(func() {
		err := f.store.Drop(ctx)
		for try := 0; err != nil && try < 5; try++ { // a replica set on a busy machine may be electing
			pause(ctx, time.Second)
			err = f.store.Drop(ctx)
		}
		if err != nil {
			t.Errorf("Drop after the test: %v", err)
		}
	})
	return f
}

// opened is a client of the fixture, which is closed with the test at the latest.
func opened[S workload.Store, C client](f *fixture[S], c C) C {
	f.clients = append(f.clients, c)
	f.t.Cleanup(c.close)
	return c
}

// closeClients ends the sessions of all clients.
func (f *fixture[S]) closeClients() {
	for _, c := range f.clients {
		c.close()
	}
}

// operation is a subtest of what a workload does on its Store.
type operation[F any] struct {
	name string
	run  func(F)
}

// operations runs subtests, each on a fixture of its own.
func operations[F any](t *testing.T, on func(t *testing.T) F, all []operation[F]) {
	for _, o := range all {
		t.Run(o.name, func(t *testing.T) { o.run(on(t)) })
	}
}

// checked compares after each subtest what was answered with what is there.
func checked[S workload.Store, F schema[S]](all []operation[F]) []operation[F] {
	for i, o := range all {
		all[i].run = func(f F) {
			o.run(f)
			f.base().closeClients()
			f.check()
		}
	}
	return all
}

// ready makes fixtures with the schema created and loaded.
func ready[S workload.Store, F schema[S]](on func(t *testing.T) F) func(t *testing.T) F {
	return func(t *testing.T) F {
		t.Helper()
		f := on(t)
		base := f.base()
		base.must("Create", f.create(base.store, base.marker("run-1")))
		f.load(base.store)
		return f
	}
}

// sessionOf opens a session, which closeClients or the end of the test closes.
func sessionOf[S workload.Store, N interface{ Close() }](f *fixture[S], dial func(ctx context.Context) (N, error)) N {
	f.t.Helper()
	c := newConnection(f, dial)
	session, err := c.Session(f.ctx)
	f.must("Session", err)
	opened(f, &c)
	return session
}

// load is that of a workload that loads nothing.
func (f *fixture[S]) load(S) {}

func (f *fixture[S]) base() *fixture[S] { return f }

// marker is that of a run whose schema has been created.
func (f *fixture[S]) marker(run string) workload.Marker {
	return markerOf(f.contents.workload, run, f.contents.loads)
}

// must ends the test with an error of what was done.
func (f *fixture[S]) must(what string, err error) {
	f.t.Helper()
	if err != nil {
		f.t.Fatalf("%s: %v", what, err)
	}
}

// wantNoError fails the test with an error of what was done.
func (f *fixture[S]) wantNoError(what string, err error) {
	f.t.Helper()
	if err != nil {
		f.t.Errorf("%s: %v", what, err)
	}
}

// wantNoSecret fails the test if an error gives the password.
func (f *fixture[S]) wantNoSecret(err error) {
	f.t.Helper()
	if f.harness.Secret != "" && err != nil && strings.Contains(err.Error(), f.harness.Secret) {
		f.t.Errorf("the reply gives the password")
	}
}

func (f *fixture[S]) open() S {
	f.t.Helper()
	return f.closing(f.harness.Open(f.t))
}

// closing closes a Store at the end of the test.
func (f *fixture[S]) closing(store S) S {
	f.t.Cleanup(func() {
		f.wantNoError("Close", store.Close())
	})
	return store
}

// openVia opens a Store at this address.
func (f *fixture[S]) openVia(addr string) S {
	f.t.Helper()
	store, err := f.harness.OpenVia(f.t, addr)
	if err != nil {
		f.t.Fatalf("open at %s: %v", addr, err)
	}
	return f.closing(store)
}

// openProxied opens a Store behind a proxy before the server.
func (f *fixture[S]) openProxied() (*Proxy, S) {
	f.t.Helper()
	proxy := NewProxy(f.t, f.harness.Server)
	return proxy, f.openVia(proxy.Addr())
}

func (f *fixture[S]) describe() {
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
	if err != nil {
		f.t.Fatal(err)
	}
	if f.harness.Secret != "" && strings.Contains(string(text), f.harness.Secret) {
		f.t.Error("Describe gives the password")
	}
}

func (f *fixture[S]) findNothing() {
	f.t.Helper()
	for range 2 { // looking must not make anything that the second look finds
		if leftover, err := f.store.Find(f.ctx); leftover != nil || err != nil {
			f.t.Fatalf("Find on nothing: %+v, %v; want nil", leftover, err)
		}
	}
}

// mustFind looks with the fixture's Store and with a new one.
func (f *fixture[S]) mustFind(marker workload.Marker, rows int64) {
	f.t.Helper()
	for _, store := range []S{f.store, f.open()} {
		leftover, err := store.Find(f.ctx)
		if err != nil || leftover == nil {
			f.t.Fatalf("Find: %+v, %v; want %+v", leftover, err, marker)
		}
		got := leftover.Marker
		if _, offset := got.Created.Zone(); offset != 0 || !got.Created.Equal(marker.Created) {
			f.t.Errorf("Find: created %v, want %v", got.Created, marker.Created)
		}
		got.Created = marker.Created
		if got != marker || rows != anyRows && leftover.Rows != rows {
			f.t.Errorf("Find: %+v with %d rows, want %+v with %d", got, leftover.Rows, marker, rows)
		}
	}
}

// drop drops what is there, and then nothing.
func (f *fixture[S]) drop() {
	f.t.Helper()
	f.must("Drop", f.store.Drop(f.ctx))
	f.findNothing()
	f.wantNoError("Drop of nothing", f.store.Drop(f.ctx))
}

// settle wants Settle to end without an error.
func (f *fixture[S]) settle() {
	f.t.Helper()
	f.must("Settle", f.store.Settle(f.ctx))
}

// reading is a Store's Read that calls back with each row, whatever the row.
type reading func(ctx context.Context, each func() error) error

func (f *fixture[S]) readNothing(read reading) {
	f.t.Helper()
	calls := 0
	err := read(f.ctx, func() error { calls++; return nil })
	var missing *workload.NoSchemaError
	if !errors.As(err, &missing) || calls != 0 {
		f.t.Errorf("Read on nothing: %d calls, %v; want *workload.NoSchemaError", calls, err)
	}
}

// stopReading has the callback fail at each of these calls.
func (f *fixture[S]) stopReading(read reading, stops ...int) {
	f.t.Helper()
	sentinel := errors.New("the reader has had enough")
	for _, stop := range stops {
		calls := 0
		err := read(f.ctx, func() error {
			if calls++; calls == stop {
				return sentinel
			}
			return nil
		})
		if err != sentinel || calls != stop {
			f.t.Errorf("the callback failed at call %d: Read made %d calls and returned %v", stop, calls, err)
		}
	}
}

// size asks for the size, wants it to be consistent, and returns it with the
// number of all rows.
func (f *fixture[S]) size() (size workload.Size, rows int64) {
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
