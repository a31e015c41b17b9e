package runner

import (
	"cmp"
	"context"
	"errors"
	"time"

	"assay/catalog"
	"assay/workload"
	"assay/workload/definition"
)

// openWork opens the scenario's workload on the database at address. None of its
// calls makes no progress for longer than patience, 0 for the default.
func openWork(ctx context.Context, s Scenario, address string, patience time.Duration) (definition.Work, error) {
	driver, err := catalog.DriverFor(address)
	if err != nil {
		return nil, err
	}
	support := driver.Support(s.Workload)
	if support.Open == nil {
		return nil, support.Refused()
	}
	// The driver bounds each contact by the time to connect.
	b := newBounded(unopened{address: workload.Redact(address)}, cmp.Or(patience, defaultPatience)+s.ConnectTimeout, address)
	opened, err := bind(b, ctx, "connecting", func(ctx context.Context) (definition.Work, error) { return s.open(ctx, support, address) })
	if err != nil {
		return nil, err
	}
	return newBounded(opened, patience, address), nil
}

// unopened is the work of a database that was not reached yet.
type unopened struct {
	definition.Work
	address string
}

// Describe says that there is no answer, so that opening is given up.
func (u unopened) Describe(context.Context) (workload.Product, error) {
	return workload.Product{}, &workload.UnreachableError{Address: u.address, Err: context.DeadlineExceeded}
}

// open reaches the database at address and begins the workload on it.
func (s Scenario) open(ctx context.Context, by definition.Support, address string) (definition.Work, error) {
	to := workload.Target{Address: address, ConnectTimeout: s.ConnectTimeout, Isolation: s.Isolation, Seed: s.Load.Seed}
	if c, chooses := s.Config.(definition.ReadFrom); chooses {
		to.Read = c.ReadFrom()
	}
	if c, chooses := s.Config.(definition.ChoosesSchema); chooses {
		to.Schema = c.TargetSchema()
	}
	if c, chooses := s.Config.(definition.Shaped); chooses {
		to.Fields, to.FieldBytes = c.Shape()
	}
	store, err := by.Open(ctx, to)
	if err != nil {
		return nil, err
	}
	w, err := s.Config.Open(ctx, store, s.Load.Seed, s.Load.Clients)
	if err != nil {
		return nil, errors.Join(err, store.Close())
	}
	return w, nil
}
