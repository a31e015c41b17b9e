package mongodb

import (
	"testing"
	"time"

	cluster "assay/cluster/mongodb"
	"assay/driver/drivertest"
	"assay/workload"
	"assay/workload/candles"
)

func testCandles(t *testing.T, set *cluster.ReplicaSet) {
	database := plainClient(t, set.Address()).Database("assay_candles")
	drivertest.RunCandles(t, drivertest.Candles{
		Open: func(t *testing.T) candles.Store {
			store, err := candles.Opener(Open)(t.Context(), workload.Target{Address: set.Address(), ConnectTimeout: 20 * time.Second})
			if err != nil {
				t.Fatal(err)
			}
			return store
		},
		MakeForeign:   func(t *testing.T) { makeForeign(t, database) },
		ForeignIntact: func(t *testing.T) { foreignIntact(t, database) },
	})
}
