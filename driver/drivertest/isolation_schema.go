package drivertest

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"assay/workload"
	"assay/workload/isolation"
)

func testIsolationDescribe(t *testing.T, h Isolation) {
	r := emptyRoom(t, h)
	product, err := r.store.Describe(r.ctx)
	if err != nil {
		t.Fatalf("Describe: %v", err)
	}
	if product.Name == "" || product.Version == "" || len(product.Settings) == 0 {
		t.Errorf("Describe gave %+v; name, version and settings are due", product)
	}
	text, err := json.Marshal(product)
	if err != nil {
		t.Fatal(err)
	}
	if h.Secret != "" && strings.Contains(string(text), h.Secret) {
		t.Error("Describe tells the password")
	}
}

// testPromise wants the name of a model, the same at all times.
func testPromise(t *testing.T, h Isolation) {
	r := emptyRoom(t, h)
	promise := r.store.Promise()
	if _, err := isolation.AllowsLostUpdates(promise); err != nil {
		t.Error(err)
	}
	r.create(r.store, isolationMark("run-1"))
	if again := r.open().Promise(); again != promise || r.store.Promise() != promise {
		t.Errorf("the promise is %s, then %s", promise, again)
	}
}

func testIsolationFindNothing(t *testing.T, h Isolation) {
	r := emptyRoom(t, h)
	for range 2 { // looking must not make anything that the second look finds
		remains, err := r.store.Find(r.ctx)
		if remains != nil || err != nil {
			t.Fatalf("Find on nothing: %+v, %v; want nil", remains, err)
		}
	}
}

// mustFind looks with the room's Store and with a new one.
func (r *room) mustFind(mark workload.Mark) {
	r.t.Helper()
	for _, store := range []isolation.Store{r.store, r.open()} {
		remains, err := store.Find(r.ctx)
		if err != nil || remains == nil {
			r.t.Fatalf("Find: %+v, %v; want %+v", remains, err, mark)
		}
		got := remains.Mark
		if _, offset := got.Created.Zone(); offset != 0 || !got.Created.Equal(mark.Created) {
			r.t.Errorf("Find: created %v, want %v", got.Created, mark.Created)
		}
		got.Created = mark.Created
		if got != mark {
			r.t.Errorf("Find: %+v, want %+v", got, mark)
		}
	}
}

func testIsolationCreateFind(t *testing.T, h Isolation) {
	r := emptyRoom(t, h)
	for _, loaded := range []bool{false, true} {
		mark := isolationMark("run-1")
		mark.Loaded = loaded
		r.create(r.store, mark)
		r.mustFind(mark)
	}
	r.check()
}

func testIsolationCreateAgain(t *testing.T, h Isolation) {
	r := newRoom(t, h)
	a := r.actor(r.store, 0)
	a.commit(r.ctx, appendTo(2), write(3), insert(1), withdraw(1, 0))
	a.close()
	second := r.open()
	r.create(second, isolationMark("run-2"))
	r.mustFind(isolationMark("run-2"))
	r.check() // what was there is gone
	a = r.actor(second, 1)
	ops := a.commit(r.ctx, readList(2), readValue(3), count(1), withdraw(1, 0))
	if len(ops[0].List) != 0 || ops[1].Found || ops[2].Value != 0 || ops[3].Result != 3 {
		t.Errorf("the schema is not empty: %+v", ops)
	}
	a.close()
	r.check()
}

func testIsolationDrop(t *testing.T, h Isolation) {
	r := newRoom(t, h)
	a := r.actor(r.store, 0)
	a.commit(r.ctx, appendTo(2), write(3), insert(1))
	a.close()
	if err := r.store.Drop(r.ctx); err != nil {
		t.Fatalf("Drop: %v", err)
	}
	if remains, err := r.store.Find(r.ctx); remains != nil || err != nil {
		t.Errorf("Find after Drop: %+v, %v; want nil", remains, err)
	}
	if err := r.store.Drop(r.ctx); err != nil {
		t.Errorf("Drop of nothing: %v", err)
	}
	r.create(r.store, isolationMark("run-2"))
	r.check()
}

// testIsolationRead wants all lists and registers, and nothing of groups and
// pairs, whatever the order in which they were made.
func testIsolationRead(t *testing.T, h Isolation) {
	r := newRoom(t, h)
	a := r.actor(r.store, 0)
	for _, n := range []int64{700, 3, 1 << 40, 50, 0, 9} {
		a.commit(r.ctx, appendTo(2*n), write(2*n+1), insert(n), withdraw(n, 0), appendTo(2*n))
	}
	a.close()
	r.check()
	c, err := ReadContents(r.ctx, r.store)
	if err != nil || len(c.Lists) != 6 || len(c.Registers) != 6 {
		t.Errorf("%d lists and %d registers were read (%v), want 6 each", len(c.Lists), len(c.Registers), err)
	}
}

func testIsolationReadCallbackErrors(t *testing.T, h Isolation) {
	r := newRoom(t, h)
	a := r.actor(r.store, 0)
	a.commit(r.ctx, appendTo(2), appendTo(4), write(1), write(3))
	a.close()
	sentinel := errors.New("the reader has had enough")
	for stop := 1; stop <= 4; stop++ {
		calls := 0
		enough := func() error {
			if calls++; calls == stop {
				return sentinel
			}
			return nil
		}
		err := r.store.Read(r.ctx, func(int64, []int64) error { return enough() }, func(int64, int64) error { return enough() })
		if err != sentinel || calls != stop {
			t.Errorf("the callback failed at call %d: Read made %d calls and returned %v", stop, calls, err)
		}
	}
	r.check()
}

func testIsolationReadNothing(t *testing.T, h Isolation) {
	r := emptyRoom(t, h)
	calls := 0
	err := r.store.Read(r.ctx, func(int64, []int64) error { calls++; return nil }, func(int64, int64) error { calls++; return nil })
	var missing *workload.NoSchemaError
	if !errors.As(err, &missing) || calls != 0 {
		t.Errorf("Read on nothing: %d calls, %v; want *workload.NoSchemaError", calls, err)
	}
}

func testIsolationSize(t *testing.T, h Isolation) {
	r := newRoom(t, h)
	a := r.actor(r.store, 0)
	for range 5 {
		a.commit(r.ctx, appendTo(2), write(3), insert(1), withdraw(1, 0))
	}
	a.close()
	size, err := r.store.Size(r.ctx)
	if err != nil {
		t.Fatalf("Size: %v", err)
	}
	if size.Bytes <= 0 || size.Tables < 0 || size.Indexes < 0 || len(size.Rows) == 0 {
		t.Errorf("Size: %+v", size)
	}
	if size.Tables+size.Indexes != 0 && size.Tables+size.Indexes != size.Bytes {
		t.Errorf("Size: %d of tables and %d of indexes are not %d", size.Tables, size.Indexes, size.Bytes)
	}
}

func testIsolationSettle(t *testing.T, h Isolation) {
	r := newRoom(t, h)
	for number := range 3 {
		a := r.actor(r.store, number)
		a.commit(r.ctx, appendTo(2), write(3))
		a.close()
		if err := r.store.Settle(r.ctx); err != nil {
			t.Fatalf("Settle when idle: %v", err)
		}
	}
	r.check()
}

func testIsolationForeign(t *testing.T, h Isolation) {
	r := emptyRoom(t, h)
	h.MakeForeign(t)
	attempts := map[string]func(isolation.Store) error{
		"Find":   func(s isolation.Store) error { _, err := s.Find(r.ctx); return err },
		"Create": func(s isolation.Store) error { return s.Create(r.ctx, isolationMark("run-1")) },
		"Drop":   func(s isolation.Store) error { return s.Drop(r.ctx) },
	}
	for name, attempt := range attempts {
		err := attempt(r.open())
		var foreign *workload.ForeignError
		if !errors.As(err, &foreign) {
			t.Errorf("%s on what is not ours: %v; want *workload.ForeignError", name, err)
		} else if foreign.Name == "" || foreign.Hint == "" {
			t.Errorf("%s: %+v says too little", name, foreign)
		}
		h.ForeignIntact(t)
	}
	if err := r.open().Read(r.ctx, func(int64, []int64) error { return nil }, func(int64, int64) error { return nil }); err == nil {
		t.Error("Read of what is not ours gave no error")
	}
	h.ForeignIntact(t)
}
