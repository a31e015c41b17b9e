package drivertest

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"assay/workload"
)

// The times that leases are taken for: one that does not end during a test, and
// one that is waited for. Cassandra's are whole seconds.
const (
	longLease  = time.Hour
	shortLease = time.Second
)

// holderOf is the holder of a run, with characters that a careless driver trips
// over.
func holderOf(run string) workload.Holder {
	return workload.Holder{
		Token: "token of " + run, Run: run, Host: `h'";--é`, Machine: "m", PID: 4711, Started: "17",
	}
}

// runLease tries what workload.Leaser promises, on the place that empty makes.
// create makes the schema of a run.
func runLease[S workload.Store](t *testing.T, empty func(t *testing.T) *hold[S], create func(ctx context.Context, s S, run string) error) {
	t.Run("LeaseHeld", func(t *testing.T) { (&tenancy[S]{empty(t), create}).testHeld() })
	t.Run("LeaseTakenOver", func(t *testing.T) { (&tenancy[S]{empty(t), create}).testTakenOver() })
	t.Run("LeaseRace", func(t *testing.T) { (&tenancy[S]{empty(t), create}).testRace() })
}

// tenancy is one subtest's hold on a place whose lease is tried.
type tenancy[S workload.Store] struct {
	*hold[S]
	create func(ctx context.Context, s S, run string) error
}

func (o *tenancy[S]) take(s S, run string, ttl time.Duration, gone string) {
	o.t.Helper()
	if err := s.TakeLease(o.ctx, holderOf(run), ttl, gone); err != nil {
		o.t.Fatalf("TakeLease for %s: %v", run, err)
	}
}

func (o *tenancy[S]) make(s S, run string) {
	o.t.Helper()
	if err := o.create(o.ctx, s, run); err != nil {
		o.t.Fatalf("Create of %s: %v", run, err)
	}
}

// heldBy wants an error that names this run.
func (o *tenancy[S]) heldBy(doing string, err error, run string) {
	o.t.Helper()
	var held *workload.HeldError
	if !errors.As(err, &held) {
		o.t.Errorf("%s: %v; want *workload.HeldError", doing, err)
		return
	}
	if held.Name == "" || held.Lease.Holder != holderOf(run) {
		o.t.Errorf("%s: %+v; want the lease of %s", doing, held, run)
	}
}

// lease wants the lease of this run, alive; empty for none.
func (o *tenancy[S]) lease(s S, run string) {
	o.t.Helper()
	l, err := s.Lease(o.ctx)
	switch {
	case err != nil:
		o.t.Fatalf("Lease: %v", err)
	case run == "" && l != nil:
		o.t.Errorf("Lease: %+v; want none", l)
	case run != "" && (l == nil || l.Holder != holderOf(run) || l.Remaining <= 0 || l.Remaining > longLease+time.Second):
		o.t.Errorf("Lease: %+v; want that of %s", l, run)
	case run != "" && time.Since(l.Since).Abs() > 24*time.Hour:
		o.t.Errorf("Lease: taken at %v", l.Since)
	}
}

// mark wants the mark of this run; empty for none.
func (o *tenancy[S]) mark(s S, run string) {
	o.t.Helper()
	m, err := s.Marker(o.ctx)
	if err != nil || (m == nil) != (run == "") || m != nil && m.Run != run {
		o.t.Errorf("Mark: %+v, %v; want that of %q", m, err, run)
	}
}

func (o *tenancy[S]) noLease(doing string, err error) {
	o.t.Helper()
	var missing *workload.NoSchemaError
	if !errors.As(err, &missing) {
		o.t.Errorf("%s: %v; want *workload.NoSchemaError", doing, err)
	}
}

// testHeld has a second run meet the lease of a first.
func (o *tenancy[S]) testHeld() {
	first, second := o.store, o.open()
	o.lease(first, "")
	o.noLease("RenewLease on nothing", second.RenewLease(o.ctx, holderOf("two").Token, longLease))
	if err := second.ReleaseLease(o.ctx, holderOf("two").Token); err != nil {
		o.t.Errorf("ReleaseLease on nothing: %v", err)
	}
	o.findNothing()
	o.take(first, "one", longLease, "")
	o.findNothing() // a lease alone is nothing
	o.mark(second, "")
	o.lease(second, "one")
	o.make(first, "one")
	o.lease(second, "one")
	if _, rows := o.size(); rows != 0 {
		o.t.Errorf("an empty schema has %d rows", rows)
	}
	for doing, try := range map[string]func() error{
		"TakeLease":  func() error { return second.TakeLease(o.ctx, holderOf("two"), longLease, "of nobody") },
		"Create":     func() error { return o.create(o.ctx, second, "two") },
		"Drop":       func() error { return second.Drop(o.ctx) },
		"RenewLease": func() error { return second.RenewLease(o.ctx, holderOf("two").Token, longLease) },
	} {
		o.heldBy(doing, try(), "one")
		o.mark(second, "one")
	}
	if err := second.ReleaseLease(o.ctx, holderOf("two").Token); err != nil {
		o.t.Errorf("ReleaseLease of another's: %v", err)
	}
	o.lease(second, "one")
	if err := first.RenewLease(o.ctx, holderOf("one").Token, longLease); err != nil {
		o.t.Errorf("RenewLease: %v", err)
	}
	o.take(first, "one", longLease, "") // again
	o.lease(second, "one")
	if err := first.ReleaseLease(o.ctx, holderOf("one").Token); err != nil {
		o.t.Errorf("ReleaseLease: %v", err)
	}
	o.lease(second, "")
	o.mark(second, "one")
	o.noLease("RenewLease of a released one", first.RenewLease(o.ctx, holderOf("one").Token, longLease))
	o.take(second, "two", longLease, "")
	o.make(second, "two")
	o.mark(first, "two")
	if err := second.Drop(o.ctx); err != nil {
		o.t.Errorf("Drop: %v", err)
	}
	o.findNothing()
	o.lease(first, "")
}

// testTakenOver has leases expire, and be taken from a holder that is gone.
func (o *tenancy[S]) testTakenOver() {
	first, second := o.store, o.open()
	o.take(first, "one", longLease, "")
	o.make(first, "one")
	if err := first.RenewLease(o.ctx, holderOf("one").Token, shortLease); err != nil {
		o.t.Fatalf("RenewLease: %v", err)
	}
	for err := second.TakeLease(o.ctx, holderOf("two"), shortLease, ""); err != nil; err = second.TakeLease(o.ctx, holderOf("two"), shortLease, "") {
		o.heldBy("TakeLease before the expiry", err, "one")
		if pause(o.ctx, 50*time.Millisecond); o.t.Failed() || o.ctx.Err() != nil {
			o.t.FailNow()
		}
	}
	o.mark(second, "one")
	for expired := false; !expired; pause(o.ctx, 50*time.Millisecond) {
		l, err := first.Lease(o.ctx)
		if err != nil {
			o.t.Fatalf("Lease: %v", err)
		}
		expired = l == nil || l.Remaining <= 0
	}
	if err := second.RenewLease(o.ctx, holderOf("two").Token, longLease); err != nil {
		o.t.Fatalf("RenewLease of the own lease, expired: %v", err)
	}
	o.heldBy("RenewLease after another has taken it", first.RenewLease(o.ctx, holderOf("one").Token, longLease), "two")
	o.heldBy("Create after another has taken it", o.create(o.ctx, first, "one"), "two")
	o.heldBy("Drop after another has taken it", first.Drop(o.ctx), "two")
	o.make(second, "two")
	third := o.open()
	o.take(third, "three", longLease, holderOf("two").Token)
	o.lease(first, "three")
	o.heldBy("Drop by the one that is gone", second.Drop(o.ctx), "three")
	o.mark(first, "two")
	if err := third.ReleaseLease(o.ctx, holderOf("three").Token); err != nil {
		o.t.Errorf("ReleaseLease: %v", err)
	}
}

// testRace has several take the lease at the same time, of nothing and of what is
// there.
func (o *tenancy[S]) testRace() {
	stores := []S{o.store, o.open(), o.open(), o.open()}
	for round := range 3 {
		errs := make([]error, len(stores))
		var all sync.WaitGroup
		for i, s := range stores {
			all.Go(func() { errs[i] = s.TakeLease(o.ctx, holderOf(fmt.Sprint(i)), longLease, "") })
		}
		all.Wait()
		winner := -1
		for i, err := range errs {
			if err == nil && winner >= 0 {
				o.t.Fatalf("both %d and %d have taken the lease", winner, i)
			}
			if err == nil {
				winner = i
			}
		}
		if winner < 0 {
			o.t.Fatalf("nobody has taken the lease: %v", errs)
		}
		for i, err := range errs {
			if i != winner {
				o.heldBy("TakeLease of a loser", err, fmt.Sprint(winner))
			}
		}
		o.lease(o.store, fmt.Sprint(winner))
		if round == 1 {
			o.make(stores[winner], "one")
		}
		if err := stores[winner].ReleaseLease(o.ctx, holderOf(fmt.Sprint(winner)).Token); err != nil {
			o.t.Fatalf("ReleaseLease: %v", err)
		}
	}
}
