package drivertest

import (
	"errors"
	"fmt"
	"sync"
	"time"

	"assay/workload"
)

// The times that leases are taken for: one that does not end during a test, and
// one that is waited for; it is a second in Cassandra, whose times to live are
// whole seconds.
const (
	longLease  = time.Hour
	shortLease = 300 * time.Millisecond
)

// holderOf is the holder of a run, with characters that a careless driver trips
// over.
func holderOf(run string) workload.Holder {
	return workload.Holder{
		Token: "token of " + run, Run: run, Host: `h'";--é`, Machine: "m", PID: 4711, Started: "17",
	}
}

func (l *lifecycle[S]) take(s S, run string, ttl time.Duration, gone string) {
	l.t.Helper()
	l.must("TakeLease for "+run, s.TakeLease(l.ctx, holderOf(run), ttl, gone))
}

// heldBy wants an error that names this run.
func (l *lifecycle[S]) heldBy(doing string, err error, run string) {
	l.t.Helper()
	var held *workload.HeldError
	if !errors.As(err, &held) {
		l.t.Errorf("%s: %v; want *workload.HeldError", doing, err)
		return
	}
	if held.Name == "" || held.Lease.Holder != holderOf(run) {
		l.t.Errorf("%s: %+v; want the lease of %s", doing, held, run)
	}
}

// wantLease wants the lease of this run, alive; empty for none.
func (l *lifecycle[S]) wantLease(s S, run string) {
	l.t.Helper()
	lease, err := s.Lease(l.ctx)
	switch {
	case err != nil:
		l.t.Fatalf("Lease: %v", err)
	case run == "" && lease != nil:
		l.t.Errorf("Lease: %+v; want none", lease)
	case run != "" && (lease == nil || lease.Holder != holderOf(run) || lease.Remaining <= 0 || lease.Remaining > longLease+time.Second):
		l.t.Errorf("Lease: %+v; want that of %s", lease, run)
	case run != "" && time.Since(lease.Since).Abs() > 24*time.Hour:
		l.t.Errorf("Lease: taken at %v", lease.Since)
	}
}

// wantMarker wants the marker of this run; empty for none.
func (l *lifecycle[S]) wantMarker(s S, run string) {
	l.t.Helper()
	m, err := s.Marker(l.ctx)
	if err != nil || (m == nil) != (run == "") || m != nil && m.Run != run {
		l.t.Errorf("Marker: %+v, %v; want that of %q", m, err, run)
	}
}

func (l *lifecycle[S]) wantNoSchema(doing string, err error) {
	l.t.Helper()
	var missing *workload.NoSchemaError
	if !errors.As(err, &missing) {
		l.t.Errorf("%s: %v; want *workload.NoSchemaError", doing, err)
	}
}

// testLeaseHeld has a second run meet the lease of a first.
func (l *lifecycle[S]) testLeaseHeld() {
	first, second := l.store, l.open()
	l.wantLease(first, "")
	l.wantNoSchema("RenewLease on nothing", second.RenewLease(l.ctx, holderOf("two").Token, longLease))
	l.wantNoError("ReleaseLease on nothing", second.ReleaseLease(l.ctx, holderOf("two").Token))
	l.findNothing()
	l.take(first, "one", longLease, "")
	l.findNothing() // a lease alone is nothing
	l.wantMarker(second, "")
	l.wantLease(second, "one")
	l.create(first, "one")
	l.wantLease(second, "one")
	if _, rows := l.size(); rows != 0 {
		l.t.Errorf("an empty schema has %d rows", rows)
	}
	for doing, try := range map[string]func() error{
		"TakeLease":  func() error { return second.TakeLease(l.ctx, holderOf("two"), longLease, "of nobody") },
		"Create":     func() error { return l.schema.create(second, l.marker("two")) },
		"Drop":       func() error { return second.Drop(l.ctx) },
		"RenewLease": func() error { return second.RenewLease(l.ctx, holderOf("two").Token, longLease) },
	} {
		l.heldBy(doing, try(), "one")
		l.wantMarker(second, "one")
	}
	l.wantNoError("ReleaseLease of another's", second.ReleaseLease(l.ctx, holderOf("two").Token))
	l.wantLease(second, "one")
	l.wantNoError("RenewLease", first.RenewLease(l.ctx, holderOf("one").Token, longLease))
	l.take(first, "one", longLease, "") // again
	l.wantLease(second, "one")
	l.wantNoError("ReleaseLease", first.ReleaseLease(l.ctx, holderOf("one").Token))
	l.wantLease(second, "")
	l.wantMarker(second, "one")
	l.wantNoSchema("RenewLease of a released one", first.RenewLease(l.ctx, holderOf("one").Token, longLease))
	l.take(second, "two", longLease, "")
	l.create(second, "two")
	l.wantMarker(first, "two")
	l.wantNoError("Drop", second.Drop(l.ctx))
	l.findNothing()
	l.wantLease(first, "")
}

// testLeaseTakenOver has leases expire, and be taken from a holder that is gone.
func (l *lifecycle[S]) testLeaseTakenOver() {
	first, second := l.store, l.open()
	l.take(first, "one", longLease, "")
	l.create(first, "one")
	l.must("RenewLease", first.RenewLease(l.ctx, holderOf("one").Token, shortLease))
	for err := second.TakeLease(l.ctx, holderOf("two"), shortLease, ""); err != nil; err = second.TakeLease(l.ctx, holderOf("two"), shortLease, "") {
		l.heldBy("TakeLease before the expiry", err, "one")
		if pause(l.ctx, 20*time.Millisecond); l.t.Failed() || l.ctx.Err() != nil {
			l.t.FailNow()
		}
	}
	l.wantMarker(second, "one")
	for expired := false; !expired; pause(l.ctx, 20*time.Millisecond) {
		lease, err := first.Lease(l.ctx)
		l.must("Lease", err)
		expired = lease == nil || lease.Remaining <= 0
	}
	l.must("RenewLease of the own lease, expired", second.RenewLease(l.ctx, holderOf("two").Token, longLease))
	l.heldBy("RenewLease after another has taken it", first.RenewLease(l.ctx, holderOf("one").Token, longLease), "two")
	l.heldBy("Create after another has taken it", l.schema.create(first, l.marker("one")), "two")
	l.heldBy("Drop after another has taken it", first.Drop(l.ctx), "two")
	l.create(second, "two")
	third := l.open()
	l.take(third, "three", longLease, holderOf("two").Token)
	l.wantLease(first, "three")
	l.heldBy("Drop by the one that is gone", second.Drop(l.ctx), "three")
	l.wantMarker(first, "two")
	l.wantNoError("ReleaseLease", third.ReleaseLease(l.ctx, holderOf("three").Token))
}

// testLeaseRace has several take the lease at the same time, of nothing and of what is
// there.
func (l *lifecycle[S]) testLeaseRace() {
	stores := []S{l.store, l.open(), l.open(), l.open()}
	for round := range 3 {
		errs := make([]error, len(stores))
		var all sync.WaitGroup
		for i, s := range stores {
			all.Go(func() { errs[i] = s.TakeLease(l.ctx, holderOf(fmt.Sprint(i)), longLease, "") })
		}
		all.Wait()
		winner := -1
		for i, err := range errs {
			if err == nil && winner >= 0 {
				l.t.Fatalf("both %d and %d have taken the lease", winner, i)
			}
			if err == nil {
				winner = i
			}
		}
		if winner < 0 {
			l.t.Fatalf("nobody has taken the lease: %v", errs)
		}
		for i, err := range errs {
			if i != winner {
				l.heldBy("TakeLease of a loser", err, fmt.Sprint(winner))
			}
		}
		l.wantLease(l.store, fmt.Sprint(winner))
		if round == 1 {
			l.create(stores[winner], "one")
		}
		l.must("ReleaseLease", stores[winner].ReleaseLease(l.ctx, holderOf(fmt.Sprint(winner)).Token))
	}
}
