package redis

import (
	"context"
	"fmt"
	"testing"
	"time"

	cluster "assay/cluster/redis"
	"assay/cluster/server"
	"assay/driver/drivertest"
	"assay/history"
	"assay/internal/expect"
	"assay/internal/wait"
	"assay/store"
	"assay/store/durability"
	"assay/workload/availability"
)

const downAfter = time.Second

// TestSentinels: the conformance suite and a failover with a primary and replicas.
func TestSentinels(t *testing.T) {
	t.Parallel()
	c := start(t, cluster.Options{Layout: server.Layout{Nodes: 3}, DownAfter: downAfter, Settings: durable()})
	target := store.Target{Address: c.Address() + "?wait=2&waitMS=60000", ConnectTimeout: 30 * time.Second}
	t.Run("Store", func(t *testing.T) {
		drivertest.RunStore(t, drivertest.Store{Open: Open, Lacks: Lacks(), Target: target})
	})
	t.Run("Description", func(t *testing.T) { testDescription(t, c.Address()+"?wait=2") })
	t.Run("Replica", func(t *testing.T) { testReplica(t, c) })
	t.Run("Failover", func(t *testing.T) { testFailover(t, c, 2) })
}

// testDescription describes what decides the durability.
func testDescription(t *testing.T, address string) {
	product, err := opened(t, address).Describe(expect.Patiently(t))
	expect.NoError(t, err)
	var all []durability.Setting
	for _, s := range product.Settings {
		all = append(all, durability.Setting{Name: s.Name, Value: s.Value})
	}
	if g := durability.Of(product.Name, all); g.Class != durability.SystemCrash || g.Failover != durability.Unbounded {
		t.Errorf("%+v gives %+v", product, g)
	}
	if product.Topology.Nodes != 3 {
		t.Errorf("%+v; want three nodes", product.Topology)
	}
}

func testReplica(t *testing.T, c *cluster.Cluster) {
	primary, err := c.Primary(expect.Patiently(t))
	expect.NoError(t, err)
	replica := c.Node((primary + 1) % 3).Address()
	if _, err := Open(expect.Patiently(t), store.Target{Address: "redis://" + replica}, recordsOf()); err == nil {
		t.Error("a replica was opened")
	}
}

func recordsOf() store.Schema {
	return store.Schema{Workload: "records", Tables: []store.Table{{Name: "record", Columns: store.Integers("id", "n")}}}
}

// testFailover kills the primary and starts it again. The session is refused or lost, and another
// has on the new primary all that the replicas confirmed. All members are equal afterwards.
func testFailover(t *testing.T, c *cluster.Cluster, replicas int) {
	of := availability.Schema()
	of.Transactions = true // so that all is on the primary
	d, s := made(t, openedAs(t, fmt.Sprintf("%s?wait=%d&waitMS=60000", c.Address(), replicas), of))
	ctx := expect.Patiently(t)
	for n := range int64(20) {
		if r := s.insertRecord(ctx, n); r.Outcome != history.Committed {
			t.Fatalf("before: %+v", r)
		}
	}
	first, err := c.Primary(ctx)
	expect.NoError(t, err, c.Node(first).Kill())
	if r := s.insertRecord(ctx, 100); r.Outcome == history.Committed || !r.Broken {
		t.Errorf("on a primary that was killed: %+v", r)
	}
	second := first
	for second == first {
		second, err = c.Primary(ctx)
		expect.NoError(t, err)
	}
	expect.NoError(t, c.Restart(ctx, first), c.Settled(ctx))
	next := sessionOn(t, d)
	for n := range int64(20) {
		if found, r := next.readRecord(ctx, n); found != 1 || r.Outcome != history.Committed {
			t.Errorf("record %d, which all replicas had: %d rows, %+v", n, found, r)
		}
	}
	if r := next.insertRecord(ctx, 200); r.Outcome != history.Committed {
		t.Errorf("on the new primary: %+v", r)
	}
	wantAlike(ctx, t, d, 1+replicas)
}

func wantAlike(ctx context.Context, t *testing.T, d *database, want int) {
	t.Helper()
	var members []store.Replica
	var unreachable map[string]error
	for len(members) < want && ctx.Err() == nil {
		var err error
		members, unreachable, err = d.Replicas(ctx)
		expect.NoError(t, err)
		_ = wait.Pause(ctx, 20*time.Millisecond)
	}
	counts := map[int]bool{}
	for _, m := range members {
		expect.NoError(t, d.CatchUp(ctx, m))
		rows := 0
		expect.NoError(t, d.ViewReplica(ctx, m, func(r store.Reader) error {
			s := store.Statement{Name: "all", Verb: store.Read, Table: d.of.Tables[0].Name, Columns: d.of.Tables[0].Names()}
			return r.Read(ctx, s, func(store.Row) error { rows++; return nil })
		}))
		counts[rows] = true
	}
	if len(members) != want || len(unreachable) != 0 || len(counts) != 1 {
		t.Errorf("members %+v, unreachable %v, rows %v", members, unreachable, counts)
	}
}
