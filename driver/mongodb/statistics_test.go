package mongodb

import (
	"testing"
	"time"

	cluster "assay/cluster/mongodb"
	"assay/driver/drivertest"
	"assay/internal/expect"
	"assay/store"
)

func testStatistics(t *testing.T, set *cluster.ReplicaSet) {
	drivertest.RunStatistics(t, drivertest.Statistics{
		Open: OpenStatistics, Target: store.Target{Address: set.Address(), ConnectTimeout: 3 * time.Second},
		Pause: set.Node(0).Pause, Resume: set.Node(0).Resume, Counter: "other commands",
		Means: []store.Meaning{store.BusySessions, store.LockWaits},
	})
}

// testStatisticsRefused has a user who may not ask for the server's status.
func testStatisticsRefused(t *testing.T, address string) {
	account, err := OpenStatistics(t.Context(), store.Target{Address: address, ConnectTimeout: 3 * time.Second})
	expect.NoError(t, err)
	defer account.Close()
	if reading, err := account.Read(t.Context()); err == nil {
		t.Errorf("a user without rights reads %v", reading)
	}
}
