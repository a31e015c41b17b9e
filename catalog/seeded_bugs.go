package catalog

import (
	"context"
	"errors"

	"assay/driver/bugs"
	"assay/workload"
	"assay/workload/definition"
)

// withBugs is the support of a workload whose addresses can ask for bugs
// (bug=NAME:PROBABILITY), which no driver is told of.
func withBugs(by definition.Support) definition.Support {
	open := by.Open
	if open == nil || len(bugs.For(by.Workload)) == 0 {
		return by
	}
	by.Open = func(ctx context.Context, target workload.Target) (workload.Store, error) {
		address, seeded, err := bugs.Take(target.Address, by.Workload)
		if err != nil {
			return nil, err
		}
		target.Address = address
		store, err := open(ctx, target)
		if err != nil || len(seeded) == 0 {
			return store, err
		}
		wrapped, err := bugs.Wrap(store, by.Workload, seeded, target.Seed)
		if err != nil {
			return nil, errors.Join(err, store.Close())
		}
		return wrapped, nil
	}
	return by
}
