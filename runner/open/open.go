// Package open reaches a run's database and takes its schema for the run. Its calls do not wait
// forever: if a database is gone or a call is kept from going on, they return an error.
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

// Asked is a workload to open on a database.
type Asked struct {
	Workload string
	Config   definition.Config
	Seed     uint64
	Clients  int
	// Isolation is one of the database's levels; empty for the driver's default.
	Isolation string
	Existing  bool
	// Shared means that agents do the work, perhaps on other machines.
	Shared bool
	// ConnectTimeout bounds each contact while the database is reached. StallTimeout bounds
	// later calls without progress; 0 means a minute.
	ConnectTimeout, StallTimeout time.Duration
}

// Open opens the workload on the database at address, which has all parameters and the password.
// Until BearFor, a call may be blocked by others for ConnectTimeout. It returns
// *catalog.SchemeError, *store.OptionError if the database does not serve the workload,
// *store.UnreachableError, and errors of the driver and the workload.
func (a Asked) Open(ctx context.Context, address string) (*Work, error) {
	driver, err := catalog.DriverFor(address)
	if err != nil {
		return nil, err
	}
	support := driver.Support(a.Workload)
	if support.Open == nil {
		return nil, support.Refused()
	}
	// The driver bounds each contact by the connect timeout.
	b := New(nil, cmp.Or(a.StallTimeout, defaultStallTimeout)+a.ConnectTimeout, address)
	opened, err := bind(b, ctx, "connecting", func(ctx context.Context) (definition.Work, error) { return a.reach(ctx, support, address) })
	if err != nil {
		return nil, err
	}
	b = New(opened, a.StallTimeout, address)
	b.BearFor(a.ConnectTimeout)
	return b, nil
}

func (a Asked) reach(ctx context.Context, by definition.Support, address string) (definition.Work, error) {
	to := store.Target{Address: address, ConnectTimeout: a.ConnectTimeout, Isolation: a.Isolation, Seed: a.Seed, Existing: a.Existing, Shared: a.Shared}
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

// Own takes the lease on the schema for a new run before anything is changed, and returns what an
// earlier run left; nil for nothing. It takes no lease on a foreign schema, and releases it if the
// leftover cannot be removed. Errors are those of lease.Take and of the database.
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
