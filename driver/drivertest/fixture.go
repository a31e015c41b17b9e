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

// fixture is the schema under test and a Store on it, for one subtest.
type fixture[S workload.Store] struct {
	t       *testing.T
	ctx     context.Context
	harness Harness[S]
	store   S
	// clients are all that were opened.
	clients []client
}

// newFixture drops the schema under test, now and at the end of the test.
func newFixture[S workload.Store](t *testing.T, h Harness[S]) *fixture[S] {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	t.Cleanup(cancel)
	f := &fixture[S]{t: t, ctx: ctx, harness: h}
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

// operations runs subtests, each on a fixture of its own, and compares after each
// what was answered with what is there.
func operations[F interface {
	closeClients()
	check()
}](t *testing.T, on func(t *testing.T) F, all []operation[F]) {
	for _, o := range all {
		t.Run(o.name, func(t *testing.T) {
			f := on(t)
			o.run(f)
			f.closeClients()
			f.check()
		})
	}
}

// sessionOf opens a session, which closeClients or the end of the test closes.
func sessionOf[S workload.Store, N interface{ Close() }](f *fixture[S], dial func(ctx context.Context) (N, error)) N {
	f.t.Helper()
	c := newConnection(f, dial)
	session, err := c.Session(f.ctx)
	if err != nil {
		f.t.Fatalf("Session: %v", err)
	}
	opened(f, &c)
	return session
}

// The schema of a workload that loads nothing, and whose numbers of rows are not fixed.

func (f *fixture[S]) load(S)          {}
func (f *fixture[S]) found() int64    { return anyRows }
func (f *fixture[S]) tables() []int64 { return nil }

func (f *fixture[S]) base() *fixture[S] { return f }

func (f *fixture[S]) open() S {
	f.t.Helper()
	return f.closing(f.harness.Open(f.t))
}

// closing closes a Store at the end of the test.
func (f *fixture[S]) closing(store S) S {
	f.t.Cleanup(func() {
		if err := store.Close(); err != nil {
			f.t.Errorf("Close: %v", err)
		}
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
	if err != nil {
		f.t.Fatalf("Describe: %v", err)
	}
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

// anyRows stands for a number of rows that the workload does not fix.
const anyRows = -1

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
	if err := f.store.Drop(f.ctx); err != nil {
		f.t.Fatalf("Drop: %v", err)
	}
	f.findNothing()
	if err := f.store.Drop(f.ctx); err != nil {
		f.t.Errorf("Drop of nothing: %v", err)
	}
}

// settle wants Settle to end without an error.
func (f *fixture[S]) settle() {
	f.t.Helper()
	if err := f.store.Settle(f.ctx); err != nil {
		f.t.Fatalf("Settle: %v", err)
	}
}

// reading is a Store's Read that calls back with each row, whatever the row.
type reading func(ctx context.Context, each func() error) error

// each is the reading of a Read that calls back with rows R.
func each[R any](read func(ctx context.Context, row func(R) error) error) reading {
	return func(ctx context.Context, each func() error) error {
		return read(ctx, func(R) error { return each() })
	}
}

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
	if err != nil {
		f.t.Fatalf("Size: %v", err)
	}
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

// foreign makes what is another maker's and wants it refused and untouched.
func (f *fixture[S]) foreign(create func(S) error, read func(S) reading) {
	f.t.Helper()
	f.harness.MakeForeign(f.t)
	for name, attempt := range map[string]func(S) error{
		"Find":      func(s S) error { _, err := s.Find(f.ctx); return err },
		"Marker":    func(s S) error { _, err := s.Marker(f.ctx); return err },
		"TakeLease": func(s S) error { return s.TakeLease(f.ctx, holderOf("one"), longLease, "") },
		"Create":    create,
		"Drop":      func(s S) error { return s.Drop(f.ctx) },
	} {
		err := attempt(f.open())
		var foreign *workload.ForeignError
		if !errors.As(err, &foreign) {
			f.t.Errorf("%s on what is not ours: %v; want *workload.ForeignError", name, err)
		} else if foreign.Name == "" || foreign.Hint == "" {
			f.t.Errorf("%s: %+v lacks a name or a hint", name, foreign)
		}
		f.harness.ForeignIntact(f.t)
	}
	if err := read(f.open())(f.ctx, func() error { return nil }); err == nil {
		f.t.Error("Read of what is not ours gave no error")
	}
	f.harness.ForeignIntact(f.t)
}
