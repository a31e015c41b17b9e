package mysql

import (
	"context"
	"testing"

	"assay/driver/drivertest"
	"assay/workload/churn"
)

func TestChurn(t *testing.T) {
	for name, changes := range map[string][]func(*spot){"InnoDB": nil, "RocksDB": {parameter("engine", "rocksdb")}} {
		t.Run(name, func(t *testing.T) {
			drivertest.RunChurn(t, drivertest.Churn{
				Secret: secret,
				Open: func(t *testing.T) churn.Store {
					store, err := churn.Opener(Driver().Open)(context.Background(), target(changes...))
					if err != nil {
						t.Fatal(err)
					}
					return store
				},
				MakeForeign:   func(t *testing.T) { makeForeign(t, "assay_churn", "entry") },
				ForeignIntact: func(t *testing.T) { foreignIntact(t, "assay_churn", "entry") },
			})
		})
	}
}
