package drivertest

import (
	"errors"
	"fmt"
	"sync"
	"time"

	"assay/store"
)

// longLease outlasts a test; a test waits for the end of shortLease. Cassandra's times to live
// are whole seconds.
const (
	longLease  = time.Hour
	shortLease = 300 * time.Millisecond
)

func holderOf(run string) store.Holder {
	return store.Holder{
		Token: "token of " + run, Run: run, Host: `h'";--é`, Machine: "m", PID: 4711, Started: "17",
	}
}

func (f *fixture) take(db store.Database, run string, ttl time.Duration, gone string) {
	f.t.Helper()
	f.must("TakeLease for "+run, db.TakeLease(f.ctx, holderOf(run), ttl, gone))
}

func (f *fixture) heldBy(doing string, err error, run string) {
	f.t.Helper()
	var held *store.HeldError
	if !errors.As(err, &held) {
		f.t.Errorf("%s: %v; want *store.HeldError", doing, err)
		return
	}
	if held.Name == "" || held.Lease.Holder != holderOf(run) {
		f.t.Errorf("%s: %+v; want the lease of %s", doing, held, run)
	}
}

func (f *fixture) wantLease(db store.Database, run string) {
	f.t.Helper()
	lease, err := db.Lease(f.ctx)
	switch {
	case err != nil:
		f.t.Fatalf("Lease: %v", err)
	case run == "" && lease != nil:
		f.t.Errorf("Lease: %+v; want none", lease)
	case run != "" && (lease == nil || lease.Holder != holderOf(run) || lease.Remaining <= 0 || lease.Remaining > longLease+time.Second):
		f.t.Errorf("Lease: %+v; want that of %s", lease, run)
	case run != "" && time.Since(lease.Since).Abs() > 24*time.Hour:
		f.t.Errorf("Lease: taken at %v", lease.Since)
	}
}

func (f *fixture) wantMarker(db store.Database, run string) {
	f.t.Helper()
	m, err := db.Marker(f.ctx)
	if err != nil || (m == nil) != (run == "") || m != nil && m.Run != run {
		f.t.Errorf("Marker: %+v, %v; want that of %q", m, err, run)
	}
}

func (f *fixture) wantNoSchema(doing string, err error) {
	f.t.Helper()
	var missing *store.NoSchemaError
	if !errors.As(err, &missing) {
		f.t.Errorf("%s: %v; want *store.NoSchemaError", doing, err)
	}
}

func (f *fixture) testLeaseHeld() {
	first, second := f.store, f.open()
	f.wantLease(first, "")
	f.wantNoSchema("RenewLease on nothing", second.RenewLease(f.ctx, holderOf("two").Token, longLease))
	f.wantNoError("ReleaseLease on nothing", second.ReleaseLease(f.ctx, holderOf("two").Token))
	f.findNothing()
	f.take(first, "one", longLease, "")
	f.findNothing() // a lease alone is nothing
	f.wantMarker(second, "")
	f.wantLease(second, "one")
	f.mustCreate(first, "one")
	f.wantLease(second, "one")
	if _, rows := f.size(); rows != 0 {
		f.t.Errorf("an empty schema has %d rows", rows)
	}
	for doing, try := range map[string]func() error{
		"TakeLease":  func() error { return second.TakeLease(f.ctx, holderOf("two"), longLease, "of nobody") },
		"Create":     func() error { return f.create(second, f.marker("two")) },
		"Drop":       func() error { return second.Drop(f.ctx) },
		"RenewLease": func() error { return second.RenewLease(f.ctx, holderOf("two").Token, longLease) },
	} {
		f.heldBy(doing, try(), "one")
		f.wantMarker(second, "one")
	}
	f.wantNoError("ReleaseLease of another's", second.ReleaseLease(f.ctx, holderOf("two").Token))
	f.wantLease(second, "one")
	f.wantNoError("RenewLease", first.RenewLease(f.ctx, holderOf("one").Token, longLease))
	f.take(first, "one", longLease, "") // again
	f.wantLease(second, "one")
	f.wantNoError("ReleaseLease", first.ReleaseLease(f.ctx, holderOf("one").Token))
	f.wantLease(second, "")
	f.wantMarker(second, "one")
	f.wantNoSchema("RenewLease of a released one", first.RenewLease(f.ctx, holderOf("one").Token, longLease))
	f.take(second, "two", longLease, "")
	f.mustCreate(second, "two")
	f.wantMarker(first, "two")
	f.wantNoError("Drop", second.Drop(f.ctx))
	f.findNothing()
	f.wantLease(first, "")
}

func (f *fixture) testLeaseTakenOver() {
	first, second := f.store, f.open()
	f.take(first, "one", longLease, "")
	f.mustCreate(first, "one")
	f.must("RenewLease", first.RenewLease(f.ctx, holderOf("one").Token, shortLease))
	for err := second.TakeLease(f.ctx, holderOf("two"), shortLease, ""); err != nil; err = second.TakeLease(f.ctx, holderOf("two"), shortLease, "") {
		f.heldBy("TakeLease before the expiry", err, "one")
		if pause(f.ctx, 20*time.Millisecond); f.t.Failed() || f.ctx.Err() != nil {
			f.t.FailNow()
		}
	}
	f.wantMarker(second, "one")
	for expired := false; !expired; pause(f.ctx, 20*time.Millisecond) {
		lease, err := first.Lease(f.ctx)
		f.must("Lease", err)
		expired = lease == nil || lease.Remaining <= 0
	}
	f.must("RenewLease of the own lease, expired", second.RenewLease(f.ctx, holderOf("two").Token, longLease))
	f.heldBy("RenewLease after another has taken it", first.RenewLease(f.ctx, holderOf("one").Token, longLease), "two")
	f.heldBy("Create after another has taken it", f.create(first, f.marker("one")), "two")
	f.heldBy("Drop after another has taken it", first.Drop(f.ctx), "two")
	f.mustCreate(second, "two")
	third := f.open()
	f.take(third, "three", longLease, holderOf("two").Token)
	f.wantLease(first, "three")
	f.heldBy("Drop by the one that is gone", second.Drop(f.ctx), "three")
	f.wantMarker(first, "two")
	f.wantNoError("ReleaseLease", third.ReleaseLease(f.ctx, holderOf("three").Token))
}

// testLeaseRace has four databases take the lease at once, first on nothing.
func (f *fixture) testLeaseRace() {
	stores := []store.Database{f.store, f.open(), f.open(), f.open()}
	for round := range 3 {
		errs := make([]error, len(stores))
		var all sync.WaitGroup
		for i, s := range stores {
			all.Go(func() { errs[i] = s.TakeLease(f.ctx, holderOf(fmt.Sprint(i)), longLease, "") })
		}
		all.Wait()
		winner := -1
		for i, err := range errs {
			if err == nil && winner >= 0 {
				f.t.Fatalf("both %d and %d have taken the lease", winner, i)
			}
			if err == nil {
				winner = i
			}
		}
		if winner < 0 {
			f.t.Fatalf("nobody has taken the lease: %v", errs)
		}
		for i, err := range errs {
			if i != winner {
				f.heldBy("TakeLease of a loser", err, fmt.Sprint(winner))
			}
		}
		f.wantLease(f.store, fmt.Sprint(winner))
		if round == 1 {
			f.mustCreate(stores[winner], "one")
		}
		f.must("ReleaseLease", stores[winner].ReleaseLease(f.ctx, holderOf(fmt.Sprint(winner)).Token))
	}
}
