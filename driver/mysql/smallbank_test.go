package mysql

import (
	"context"
	"testing"

	"assay/driver/drivertest"
	"assay/workload/smallbank"
	"assay/workload/tpcb"
)

// The life cycle is the namespace's, which the suites of other workloads test.

// TestSmallBank has both engines, of which one refuses what its snapshot does not allow.
func TestSmallBank(t *testing.T) {
	for name, changes := range map[string][]func(*spot){
		"InnoDB": nil, "RocksDB": {parameter("engine", "rocksdb")},
	} {
		t.Run(name, func(t *testing.T) {
			drivertest.RunSmallBank(t, drivertest.SmallBank{Secret: secret, OperationsOnly: true, Open: func(t *testing.T) smallbank.Store {
				store, err := smallbank.Opener(Driver().Open)(context.Background(), target(changes...))
				if err != nil {
					t.Fatal(err)
				}
				return store
			}})
		})
	}
}

func TestTPCB(t *testing.T) {
	drivertest.RunTPCB(t, drivertest.TPCB{Secret: secret, OperationsOnly: true, Open: func(t *testing.T) tpcb.Store {
		store, err := tpcb.Opener(Driver().Open)(context.Background(), target())
		if err != nil {
			t.Fatal(err)
		}
		return store
	}})
}
