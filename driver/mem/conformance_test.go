package mem

import (
	"context"
	"testing"

	"assay/driver/drivertest"
	"assay/store"
	"assay/workload"
)

// sharing opens Databases that all serve one database for each workload, each with a lease
// of its own, as the suites want it.
type sharing map[string]*Database

func (all sharing) open(ctx context.Context, target workload.Target, schema store.Schema) (store.Database, error) {
	if all[schema.Workload] == nil {
		db, err := Open(ctx, target, schema)
		if err != nil {
			return nil, err
		}
		all[schema.Workload] = db.(*Database)
	}
	one := *all[schema.Workload]
	one.taken = new(workload.Taken)
	return &one, nil
}

// opens has a suite open Stores of a workload on one database, and makes that somebody
// else's.
func opens[S workload.Store](t *testing.T, address, name string, on func(store.Opener) func(context.Context, workload.Target) (S, error)) (
	open func(*testing.T) S, makeForeign, intact func(*testing.T)) {
	all := sharing{}
	open = func(t *testing.T) S {
		t.Helper()
		s, err := on(all.open)(t.Context(), workload.Target{Address: address})
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	open(t)
	return open, foreign(all[name].d), untouched(all[name].d)
}

// TestStore runs what every driver passes, also with contexts that end in the middle of a
// transaction.
func TestStore(t *testing.T) {
	for _, address := range []string{"mem://", "mem://?latency=200us"} {
		t.Run(address, func(t *testing.T) {
			all := sharing{}
			drivertest.RunStore(t, drivertest.Store{
				Open: all.open, Lacks: Lacks(), Target: workload.Target{Address: address}, Shrinks: true, OperationsOnly: address != "mem://",
				MakeForeign: func(t *testing.T, workload string) (intact func(t *testing.T)) {
					d := all[workload].d
					foreign(d)(t)
					return untouched(d)
				},
			})
		})
	}
}
