package drivertest

import (
	"testing"

	"assay/workload/isolation"
)

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

func testIsolationCreateFind(t *testing.T, h Isolation) {
	r := emptyRoom(t, h)
	for _, loaded := range []bool{false, true} {
		mark := isolationMark("run-1")
		mark.Loaded = loaded
		r.create(r.store, mark)
		r.mustFind(mark, anyRows)
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
	r.mustFind(isolationMark("run-2"), anyRows)
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
	r.drop()
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
	r.stopReading(readThings(r.store), 1, 2, 3, 4)
	r.check()
}

func testIsolationReadNothing(t *testing.T, h Isolation) {
	r := emptyRoom(t, h)
	r.readNothing(readThings(r.store))
}

func testIsolationSize(t *testing.T, h Isolation) {
	r := newRoom(t, h)
	a := r.actor(r.store, 0)
	for range 5 {
		a.commit(r.ctx, appendTo(2), write(3), insert(1), withdraw(1, 0))
	}
	a.close()
	if size, _ := r.size(); size.Bytes == 0 || len(size.Rows) == 0 {
		t.Errorf("Size: %+v", size)
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
	r.foreign(func(s isolation.Store) error { return s.Create(r.ctx, isolationMark("run-1")) })
	r.foreignUnread(readThings(r.open()))
}
