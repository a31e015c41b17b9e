package redis

import (
	"errors"
	"testing"
	"time"

	cluster "assay/cluster/redis"
	"assay/cluster/server"
	"assay/driver/drivertest"
	"assay/driver/rows"
	"assay/history"
	"assay/internal/expect"
	"assay/store"
	"assay/workload/availability"
)

// TestRedisCluster has three primaries with a replica each, the conformance suite, all workloads,
// and a failover of the server with the rows.
func TestRedisCluster(t *testing.T) {
	t.Parallel()
	c := start(t, cluster.Options{Layout: server.Layout{Nodes: 6}, Sharded: true, DownAfter: 2 * time.Second, Settings: durable()})
	target := store.Target{Address: c.Address() + "?wait=1&waitMS=60000", ConnectTimeout: 30 * time.Second}
	t.Run("Addresses", func(t *testing.T) { testClusterAddresses(t, c) })
	t.Run("Store", func(t *testing.T) {
		drivertest.RunStore(t, drivertest.Store{Open: Open, Lacks: Lacks(), Target: target})
	})
	t.Run("Workloads", func(t *testing.T) { drivertest.ShortRuns(t, target, drivertest.Supports(Open, Lacks())...) })
	t.Run("Statistics", func(t *testing.T) { testClusterStatistics(t, c) })
	t.Run("Slot", func(t *testing.T) { testOneSlot(t, c) })
	t.Run("SlotOf", func(t *testing.T) { testSlotOf(t, c) })
	t.Run("Spread", func(t *testing.T) { testSpread(t, c) })
	t.Run("PrimaryAway", func(t *testing.T) { testPrimaryAway(t, c) })
	t.Run("Failover", func(t *testing.T) { testFailover(t, c, 1) })
}

// testClusterAddresses: a server of a Redis Cluster is refused as a single one, and the reverse.
func testClusterAddresses(t *testing.T, c *cluster.Cluster) {
	alone := start(t, cluster.Options{})
	for _, address := range []string{"redis://" + c.Node(0).Address(), "redis+cluster://" + alone.Node(0).Address(), c.Address() + "1"} {
		var refused *store.OptionError
		if _, err := Open(expect.Patiently(t), store.Target{Address: address}, availability.Schema()); !errors.As(err, &refused) {
			t.Errorf("%s: %v", address, err)
		}
	}
}

// testOneSlot: with transactions the primary has all our keys.
func testOneSlot(t *testing.T, c *cluster.Cluster) {
	of := availability.Schema()
	of.Transactions = true
	_, s := made(t, openedAs(t, c.Address(), of))
	insertAll(t, s, 20)
	primary, err := c.Primary(expect.Patiently(t))
	expect.NoError(t, err)
	for i, keys := range keysOf(t, c) {
		if (keys > 0) != (i == primary) {
			t.Errorf("server %d has %d keys; the primary is %d", i, keys, primary)
		}
	}
}

const spreadRows = 60

// testSpread: without transactions each primary has rows, and all are found and removed.
func testSpread(t *testing.T, c *cluster.Cluster) {
	d, s := records(t, c.Address())
	insertAll(t, s, spreadRows)
	total := int64(0)
	for i, keys := range keysOf(t, c) {
		if keys < spreadRows/6 {
			t.Errorf("primary %d has %d keys of %d rows", i, keys, spreadRows)
		}
		total += keys
	}
	ctx := expect.Patiently(t)
	size, err := d.Size(ctx)
	expect.NoError(t, err)
	product, err := d.Describe(ctx)
	expect.NoError(t, err)
	if table := d.of.Tables[0].Name; total != spreadRows+1 || size.Rows[table] != spreadRows { // and the mark
		t.Errorf("the servers have %d keys, and Size counts %d rows", total, size.Rows[table])
	}
	if of := product.Topology; of.Nodes != 6 || of.Shards != 3 || of.Replicas != 2 {
		t.Errorf("%+v", of)
	}
	several := store.Rows{Table: d.of.Tables[0].Name, Columns: d.of.Tables[0].Names(), Count: 2,
		Row: func(i int, into []store.Value) []store.Value {
			return append(into, values(&d.of.Tables[0], int64(1000+i))...)
		}}
	if r := s.Insert(ctx, several); r.Outcome != history.Failed || r.Class != classSlots || r.Broken {
		t.Errorf("two rows in two slots: %+v", r)
	}
	wantNothing(t, s, 1000)
	expect.NoError(t, d.Drop(ctx))
	for i, keys := range keysOf(t, c) {
		if keys != 0 {
			t.Errorf("server %d has %d keys of what was dropped", i, keys)
		}
	}
}

func testSlotOf(t *testing.T, c *cluster.Cluster) {
	client := somebody(t, c.Node(0).Address())
	for _, key := range []string{"", "a", "{a}b", "x{a}", "{}a", "{a", "a}{b}{c}", "{{a}}", "assay:w:r:é{\x00}", "123456789"} {
		if want := tell(t, client, "cluster", "keyslot", key); want != int64(slotOf(key)) {
			t.Errorf("%q is in slot %v, and not in %d", key, want, slotOf(key))
		}
	}
}

// testPrimaryAway: while a primary without a replica is away, old and new sessions reach the rows
// of the others, even if the mark is away. All is there again with it.
func testPrimaryAway(t *testing.T, c *cluster.Cluster) {
	for i := range 6 {
		client := somebody(t, c.Node(i).Address())
		configure(t, client, "cluster-require-full-coverage", "no")
		configure(t, client, "cluster-replica-no-failover", "yes")
	}
	d, s := records(t, c.Address())
	insertAll(t, s, spreadRows)
	ctx := expect.Patiently(t)
	away, err := c.Primary(ctx) // which has the mark
	expect.NoError(t, err, c.Node(away).Kill())
	isAway := func(n int64) bool {
		return s.has.ownerOf(slotOf(s.key(d.tables[d.of.Tables[0].Name], []rows.Value{{Number: n}}))) == c.Node(away).Address()
	}
	next := sessionOn(t, d)
	lost := 0
	for n := range int64(spreadRows) {
		for _, by := range []*session{s, next} {
			found, r := by.readRecord(ctx, n)
			switch {
			case isAway(n):
				if lost++; r.Outcome == history.Committed || !r.Broken {
					t.Errorf("record %d of a primary that is away: %d rows, %+v", n, found, r)
				}
			case found != 1 || r.Outcome != history.Committed:
				t.Errorf("record %d: %d rows, %+v", n, found, r)
			}
		}
	}
	if lost == 0 || lost == 2*spreadRows {
		t.Errorf("%d of %d reads were of the primary that is away", lost, 2*spreadRows)
	}
	if err := d.View(ctx, func(store.Reader) error { return nil }); err == nil {
		t.Error("a view without the rows of a primary that is away")
	}
	expect.NoError(t, c.Restart(ctx, away), c.Settled(ctx))
	size, err := d.Size(ctx)
	expect.NoError(t, err)
	if size.Rows[d.of.Tables[0].Name] != spreadRows {
		t.Errorf("%+v; want %d rows", size, spreadRows)
	}
}

func insertAll(t *testing.T, s *session, count int64) {
	t.Helper()
	for n := range count {
		if r := s.insertRecord(expect.Patiently(t), n); r.Outcome != history.Committed {
			t.Fatalf("%+v", r)
		}
	}
}

func keysOf(t *testing.T, c *cluster.Cluster) map[int]int64 {
	t.Helper()
	all := map[int]int64{}
	for i := range 6 {
		client := somebody(t, c.Node(i).Address())
		if told := tell(t, client, "role").([]any); told[0] == roleOfPrimary {
			all[i], _ = tell(t, client, "dbsize").(int64)
		}
	}
	return all
}

// testClusterStatistics are of the server that is called the primary.
func testClusterStatistics(t *testing.T, c *cluster.Cluster) {
	of, err := OpenStatistics(expect.Patiently(t), store.Target{Address: c.Address()})
	expect.NoError(t, err)
	defer of.Close()
	_, err = of.Read(expect.Patiently(t))
	expect.NoError(t, err)
	primary, err := c.Primary(expect.Patiently(t))
	expect.NoError(t, err)
	if got, want := of.(*statistics).link.address, c.Node(primary).Address(); got != want {
		t.Errorf("the figures are those of %s, and the primary is %s", got, want)
	}
}
