package mem

import (
	"context"
	"testing"

	"assay/driver/drivertest"
	"assay/store"
	"assay/workload"
)

// TestStore runs what every driver passes, also with contexts that end in the middle of a
// transaction.
func TestStore(t *testing.T) {
	for _, address := range []string{"mem://", "mem://?latency=200us"} {
		t.Run(address, func(t *testing.T) {
			shared := map[string]*Database{}
			drivertest.RunStore(t, drivertest.Store{
				Lacks: Lacks(), Target: workload.Target{Address: address}, Shrinks: true, OperationsOnly: address != "mem://",
				Open: func(ctx context.Context, target workload.Target, schema store.Schema) (store.Database, error) {
					first := shared[schema.Workload]
					if first == nil {
						opened, err := Open(ctx, target, schema)
						if err != nil {
							return nil, err
						}
						first = opened.(*Database)
						shared[schema.Workload] = first
					}
					another := *first
					another.baseStore = baseStore{first.d, new(workload.Taken)}
					return &another, nil
				},
				MakeForeign: func(t *testing.T, workload string) (intact func(t *testing.T)) {
					d := shared[workload].d
					foreign(d)(t)
					return untouched(d)
				},
			})
		})
	}
}
