// Package open reaches a run's database and takes its schema for the run. What it opens waits without
// end for nothing: a database that went away, or that keeps a call from going on, gives an error.
//
// It must not know what a run does there.
package open

import (
	"cmp"
	"context"
	"errors"
	"time"

	"assay/runner/catalog"
	"assay/runner/lease"
	"assay/store"
	"assay/workload/definition"
)

// Asked is a workload as it is to be opened on a database.
type Asked struct {
	// Workload is its name, and Config what was set of it.
	Workload string
	Config   definition.Config
	// Seed and Clients are those of the load.
	Seed    uint64
	Clients int
	// Isolation is one of the database's own levels; empty for the driver's default.
	Isolation string
	// Existing is true if the tables are there already, and are a user's.
	Existing bool
	// ConnectTimeout bounds each contact while the database is reached, and StallTimeout any call
	// then that makes no progress; 0 for a minute.
	ConnectTimeout, StallTimeout time.Duration
}

// Open opens it on the database at address, which has all parameters and the password. A call of the
// work that is kept from going on by others is borne for ConnectTimeout; see BearFor. It returns
// *catalog.SchemeError, *store.OptionError where the database does not serve the workload,
// *store.UnreachableError, and what the driver and the workload refuse.
func (a Asked) Open(ctx context.Context, address string) (*Work, error) {
	driver, err := catalog.DriverFor(address)
	if err != nil {
		return nil, err
	}
	support := driver.Support(a.Workload)
	if support.Open == nil {
		return nil, support.Refused()
	}
	// The driver bounds each contact by the time to connect.
	b := New(nil, cmp.Or(a.StallTimeout, defaultStallTimeout)+a.ConnectTimeout, address)
	opened, err := bind(b, ctx, "connecting", func(ctx context.Context) (definition.Work, error) { return a.reach(ctx, support, address) })
	if err != nil {
		return nil, err
	}
	b = New(opened, a.StallTimeout, address)
	b.BearFor(a.ConnectTimeout)
	return b, nil
}

// reach reaches the database at address and begins the workload on it.
func (a Asked) reach(ctx context.Context, by definition.Support, address string) (definition.Work, error) {
	to := store.Target{Address: address, ConnectTimeout: a.ConnectTimeout, Isolation: a.Isolation, Seed: a.Seed, Existing: a.Existing}
	if c, can := a.Config.(definition.Existing); can && a.Existing {
		to.ReadOnly, to.Written = c.Touched()
	}
	if c, chooses := a.Config.(definition.Targeting); chooses {
		c.Target(&to)
	}
	db, err := by.Open(ctx, to)
	if err != nil {
		return nil, err
	}
	w, err := a.Config.Open(ctx, db, a.Seed, a.Clients)
	if err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return w, nil
}

// Own takes the lease on the schema for a run that begins, before anything is changed in it, and
// tells what an earlier run left there; nil if nothing. What is not assay's gets no lease, and what
// cannot be removed keeps none. Errors are those of lease.Take and of the database.
func (b *Work) Own(ctx context.Context, run string, on lease.Terms) (*lease.Lease, *store.Leftover, error) {
	if _, err := b.Marker(ctx); err != nil {
		return nil, nil, err
	}
	on.Limit = b.StallTimeout
	own, err := lease.Take(ctx, b, run, on)
	if err != nil {
		return nil, nil, err
	}
	var found *store.Leftover
	if err = b.Removable(ctx); err == nil {
		found, err = b.Find(ctx)
	}
	if err != nil {
		own.Release(ctx)
		return nil, nil, err
	}
	return own, found, nil
}
