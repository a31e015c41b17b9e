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

// harness is what the parameters of all suites have in common; see Bank.
type harness[S workload.Store] struct {
	open                       func(t *testing.T) S
	makeForeign, foreignIntact func(t *testing.T)
	secret                     string
}

// hold is one subtest's hold on the place under test.
type hold[S workload.Store] struct {
	t       *testing.T
	ctx     context.Context
	harness harness[S]
	store   S
}

// empty opens the place and empties it, now and at the end of the test.
func empty[S workload.Store](t *testing.T, h harness[S]) *hold[S] {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	t.Cleanup(cancel)
	o := &hold[S]{t: t, ctx: ctx, harness: h}
	o.store = o.open()
	if err := o.store.Drop(ctx); err != nil {
		t.Fatalf("Drop before the test: %v", err)
	}
	t.Cleanup(func() {
		if err := o.store.Drop(ctx); err != nil {
			t.Errorf("Drop after the test: %v", err)
		}
	})
	return o
}

func (o *hold[S]) open() S {
	o.t.Helper()
	return o.closing(o.harness.open(o.t))
}

// closing closes a Store at the end of the test.
func (o *hold[S]) closing(store S) S {
	o.t.Cleanup(func() {
		if err := store.Close(); err != nil {
			o.t.Errorf("Close: %v", err)
		}
	})
	return store
}

// markOf has characters that a careless driver trips over, and a time that
// every database can hold.
func markOf(name, run string, rows int) workload.Marker {
	return workload.Marker{
		Run: run, Workload: name, Version: `v1'";--é`, Rows: int64(rows),
		Created: time.Date(2026, 1, 2, 3, 4, 5, 678_000_000, time.UTC),
	}
}

// loadedMark is the mark of a workload that has nothing to load.
func loadedMark(name, run string) workload.Marker {
	mark := markOf(name, run, 0)
	mark.Loaded = true
	return mark
}

func (o *hold[S]) describe() {
	o.t.Helper()
	product, err := o.store.Describe(o.ctx)
	if err != nil {
		o.t.Fatalf("Describe: %v", err)
	}
	if product.Name == "" || product.Version == "" || len(product.Settings) == 0 {
		o.t.Errorf("Describe gave %+v; name, version and settings are due", product)
	}
	for _, s := range product.Settings {
		if s.Name == "" || s.Value == "" {
			o.t.Errorf("setting %+v is not complete", s)
		}
	}
	text, err := json.Marshal(product)
	if err != nil {
		o.t.Fatal(err)
	}
	if o.harness.secret != "" && strings.Contains(string(text), o.harness.secret) {
		o.t.Error("Describe tells the password")
	}
}

func (o *hold[S]) findNothing() {
	o.t.Helper()
	for range 2 { // looking must not make anything that the second look finds
		if remains, err := o.store.Find(o.ctx); remains != nil || err != nil {
			o.t.Fatalf("Find on nothing: %+v, %v; want nil", remains, err)
		}
	}
}

// anyRows stands for a number of rows that the workload does not fix.
const anyRows = -1

// mustFind looks with the hold's Store and with a new one.
func (o *hold[S]) mustFind(mark workload.Marker, rows int64) {
	o.t.Helper()
	for _, store := range []S{o.store, o.open()} {
		remains, err := store.Find(o.ctx)
		if err != nil || remains == nil {
			o.t.Fatalf("Find: %+v, %v; want %+v", remains, err, mark)
		}
		got := remains.Marker
		if _, offset := got.Created.Zone(); offset != 0 || !got.Created.Equal(mark.Created) {
			o.t.Errorf("Find: created %v, want %v", got.Created, mark.Created)
		}
		got.Created = mark.Created
		if got != mark || rows != anyRows && remains.Rows != rows {
			o.t.Errorf("Find: %+v with %d rows, want %+v with %d", got, remains.Rows, mark, rows)
		}
	}
}

// drop drops what is there, and then nothing.
func (o *hold[S]) drop() {
	o.t.Helper()
	if err := o.store.Drop(o.ctx); err != nil {
		o.t.Fatalf("Drop: %v", err)
	}
	if remains, err := o.store.Find(o.ctx); remains != nil || err != nil {
		o.t.Errorf("Find after Drop: %+v, %v; want nil", remains, err)
	}
	if err := o.store.Drop(o.ctx); err != nil {
		o.t.Errorf("Drop of nothing: %v", err)
	}
}

// reading is a Store's Read that calls back with each row, whatever the row.
type reading func(ctx context.Context, each func() error) error

func (o *hold[S]) readNothing(read reading) {
	o.t.Helper()
	calls := 0
	err := read(o.ctx, func() error { calls++; return nil })
	var missing *workload.NoSchemaError
	if !errors.As(err, &missing) || calls != 0 {
		o.t.Errorf("Read on nothing: %d calls, %v; want *workload.NoSchemaError", calls, err)
	}
}

// stopReading has the callback fail at each of these calls.
func (o *hold[S]) stopReading(read reading, stops ...int) {
	o.t.Helper()
	sentinel := errors.New("the reader has had enough")
	for _, stop := range stops {
		calls := 0
		err := read(o.ctx, func() error {
			if calls++; calls == stop {
				return sentinel
			}
			return nil
		})
		if err != sentinel || calls != stop {
			o.t.Errorf("the callback failed at call %d: Read made %d calls and returned %v", stop, calls, err)
		}
	}
}

// size asks for the size, wants it to be consistent, and returns it with the
// number of all rows.
func (o *hold[S]) size() (size workload.Size, rows int64) {
	o.t.Helper()
	size, err := o.store.Size(o.ctx)
	if err != nil {
		o.t.Fatalf("Size: %v", err)
	}
	if size.Bytes < 0 || size.Tables < 0 || size.Indexes < 0 {
		o.t.Errorf("Size: %+v", size)
	}
	if size.Tables+size.Indexes != 0 && size.Tables+size.Indexes != size.Bytes {
		o.t.Errorf("Size: %d of tables and %d of indexes are not %d", size.Tables, size.Indexes, size.Bytes)
	}
	for _, n := range size.Rows {
		rows += n
	}
	return size, rows
}

// foreign makes what is somebody else's and wants it refused and untouched.
func (o *hold[S]) foreign(create func(S) error) {
	o.t.Helper()
	o.harness.makeForeign(o.t)
	for name, attempt := range map[string]func(S) error{
		"Find":      func(s S) error { _, err := s.Find(o.ctx); return err },
		"Marker":    func(s S) error { _, err := s.Marker(o.ctx); return err },
		"TakeLease": func(s S) error { return s.TakeLease(o.ctx, holderOf("one"), longLease, "") },
		"Create":    create,
		"Drop":      func(s S) error { return s.Drop(o.ctx) },
	} {
		err := attempt(o.open())
		var foreign *workload.ForeignError
		if !errors.As(err, &foreign) {
			o.t.Errorf("%s on what is not ours: %v; want *workload.ForeignError", name, err)
		} else if foreign.Name == "" || foreign.Hint == "" {
			o.t.Errorf("%s: %+v says too little", name, foreign)
		}
		o.harness.foreignIntact(o.t)
	}
}

// foreignUnread wants what foreign made to be read by nobody. The reading is a
// new Store's.
func (o *hold[S]) foreignUnread(read reading) {
	o.t.Helper()
	if err := read(o.ctx, func() error { return nil }); err == nil {
		o.t.Error("Read of what is not ours gave no error")
	}
	o.harness.foreignIntact(o.t)
}

// through opens a Store behind a proxy before the server.
func (o *hold[S]) through(server string, openVia func(t *testing.T, addr string) (S, error)) (*Proxy, S) {
	o.t.Helper()
	proxy := NewProxy(o.t, server)
	return proxy, o.at(proxy.Addr(), openVia)
}

// at opens a Store at this address.
func (o *hold[S]) at(addr string, openVia func(t *testing.T, addr string) (S, error)) S {
	o.t.Helper()
	store, err := openVia(o.t, addr)
	if err != nil {
		o.t.Fatalf("open at %s: %v", addr, err)
	}
	return o.closing(store)
}
