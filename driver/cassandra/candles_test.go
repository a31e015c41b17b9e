package cassandra

import (
	"testing"
	"time"

	cluster "assay/cluster/cassandra"
	"assay/driver/drivertest"
	"assay/workload"
	"assay/workload/availability"
	"assay/workload/candles"
)

func testCandles(t *testing.T, c *cluster.Ring) {
	foreign := harness(c, availability.Table())
	drivertest.RunCandles(t, drivertest.Candles{
		Replaces: true, Engines: []string{"zstd"},
		Open: func(t *testing.T) candles.Store {
			store, err := candles.Opener(Open)(t.Context(), workload.Target{Address: c.Address(), ConnectTimeout: time.Minute})
			if err != nil {
				t.Fatal(err)
			}
			return store
		},
		MakeForeign: foreign.MakeForeign, ForeignIntact: foreign.ForeignIntact,
	})
}
