package redis

import (
	"errors"
	"testing"
	"time"

	cluster "assay/cluster/redis"
	"assay/driver/drivertest"
	"assay/history"
	"assay/internal/expect"
	"assay/store"
	"assay/workload/availability"
)

// TestRedisCluster has three primaries with a replica each: what every driver passes, every
// workload, and a failover of the server that has the rows.
func TestRedisCluster(t *testing.T) {
	c := start(t, cluster.Options{Nodes: 6, Sharded: true, DownAfter: 2 * time.Second, Settings: durable()})
	target := store.Target{Address: c.Address() + "?wait=1", ConnectTimeout: 10 * time.Second}
	t.Run("Addresses", func(t *testing.T) { testClusterAddresses(t, c) })
	t.Run("Store", func(t *testing.T) {
		drivertest.RunStore(t, drivertest.Store{Open: Open, Lacks: Lacks(), Target: target})
	})
	t.Run("Workloads", func(t *testing.T) { drivertest.ShortRuns(t, target, drivertest.Supports(Open, Lacks())...) })
	t.Run("Slot", func(t *testing.T) { testOneSlot(t, c) })
	t.Run("Failover", func(t *testing.T) { testFailover(t, c, 1) })
}

// testClusterAddresses: a server of a Redis Cluster is refused as one alone, and the other way round.
func testClusterAddresses(t *testing.T, c *cluster.Cluster) {
	alone := start(t, cluster.Options{})
	for _, address := range []string{"redis://" + c.Node(0).Address(), "redis+cluster://" + alone.Node(0).Address(), c.Address() + "1"} {
		var refused *store.OptionError
		if _, err := Open(patiently(t), store.Target{Address: address}, availability.Schema()); !errors.As(err, &refused) {
			t.Errorf("%s: %v", address, err)
		}
	}
}

// testOneSlot: every key of ours is on the server that is called the primary.
func testOneSlot(t *testing.T, c *cluster.Cluster) {
	_, s := records(t, c.Address())
	for n := range int64(20) {
		if r := s.insertRecord(patiently(t), n); r.Outcome != history.Committed {
			t.Fatalf("%+v", r)
		}
	}
	primary, err := c.Primary(patiently(t))
	expect.NoError(t, err)
	for i := range 6 {
		keys, _ := tell(t, somebody(t, c.Node(i).Address()), "dbsize").(int64)
		told := tell(t, somebody(t, c.Node(i).Address()), "role").([]any)
		if told[0] == roleOfPrimary && (keys > 0) != (i == primary) {
			t.Errorf("server %d has %d keys; the primary is %d", i, keys, primary)
		}
	}
}
