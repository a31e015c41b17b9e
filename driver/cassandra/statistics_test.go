package cassandra

import (
	"testing"
	"time"

	cluster "assay/cluster/cassandra"
	"assay/driver/drivertest"
	"assay/store"
)

func testStatistics(t *testing.T, c *cluster.Ring) {
	drivertest.RunStatistics(t, drivertest.Statistics{
		Open: OpenStatistics, Target: store.Target{Address: c.Address(), ConnectTimeout: 10 * time.Second},
		Pause: c.Node(0).Pause, Resume: c.Node(0).Resume, Counter: "requests", Means: []store.Meaning{store.BusySessions},
	})
}
