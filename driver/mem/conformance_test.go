package mem

import (
	"context"
	"testing"

	"assay/driver/drivertest"
	"assay/driver/ownership"
	"assay/store"
)

// sharing opens Databases on one database for each workload, each with a lease of its own.
type sharing map[string]*Database

func (all sharing) open(ctx context.Context, target store.Target, schema store.Schema) (store.Database, error) {
	if all[schema.Workload] == nil {
		db, err := Open(ctx, target, schema)
		if err != nil {
			return nil, err
		}
		all[schema.Workload] = db.(*Database)
	}
	one := *all[schema.Workload]
	one.Schema = ownership.New(&one, schema)
	return &one, nil
}

// TestStore also ends contexts in the middle of a transaction.
func TestStore(t *testing.T) {
	all, slow := sharing{}, sharing{}
	drivertest.RunStore(t, drivertest.Store{
		Open: all.open, Lacks: Lacks(), Target: store.Target{Address: "mem://"}, Shrinks: true, Confirms: true,
		MakeForeign: func(t *testing.T, workload string) (intact func(t *testing.T)) {
			d := all[workload].d
			foreign(d)(t)
			return untouched(d)
		},
	})
	t.Run("latency", func(t *testing.T) {
		drivertest.RunOutcomes(t, drivertest.Store{Open: slow.open, Lacks: Lacks(), Target: store.Target{Address: "mem://?latency=200us"}})
	})
}

func TestWorkloads(t *testing.T) {
	for _, address := range []string{"mem://", "mem://?latency=200us"} {
		t.Run(address, func(t *testing.T) {
			drivertest.ShortRuns(t, store.Target{Address: address}, drivertest.Supports(Open, Lacks())...)
		})
	}
}
