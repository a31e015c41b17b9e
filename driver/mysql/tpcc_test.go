package mysql

import (
	"context"
	"testing"

	"assay/driver/drivertest"
	"assay/workload/tpcc"
)

// TestTPCC leaves out the life cycle, which is that of the other workloads.
func TestTPCC(t *testing.T) {
	drivertest.RunTPCC(t, drivertest.TPCC{
		Secret: secret, OperationsOnly: true,
		Open: func(t *testing.T) tpcc.Store {
			store, err := tpcc.Opener(Open)(context.Background(), target())
			if err != nil {
				t.Fatal(err)
			}
			return store
		},
	})
}

// TestTPCCIsolation: read uncommitted shows what another transaction has not committed,
// and another thing at a second reading. Repeatable read shows one
// snapshot, and locks the gap in which a Delivery has found no order.
func TestTPCCIsolation(t *testing.T) {
	drivertest.RunTPCCIsolation(t, func(t *testing.T, isolation string) tpcc.Store {
		store, err := tpcc.Opener(Open)(context.Background(), at(isolation))
		if err != nil {
			t.Fatal(err)
		}
		return store
	}, map[string][]int{"": nil, "read uncommitted": {1, 2, 7, 8, 9}, "serializable": nil})
}
