package etcd

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	cluster "assay/cluster/etcd"
	"assay/driver/drivertest"
	"assay/history"
	"assay/internal/expect"
	"assay/store"
)

// TestThreeMembers: subtests share one cluster and leave it healthy and empty.
func TestThreeMembers(t *testing.T) {
	t.Parallel()
	c := startCluster(t, 3)
	t.Run("Outcomes", func(t *testing.T) {
		drivertest.RunOutcomes(t, drivertest.Store{Open: Open, Lacks: Lacks(), Target: targetOf(c, "")})
	})
	t.Run("Failover", func(t *testing.T) { testFailover(t, c) })
	t.Run("LostQuorum", func(t *testing.T) { testLostQuorum(t, c) })
	t.Run("Replicas", func(t *testing.T) { testReplicas(t, c) })
	t.Run("Stale", func(t *testing.T) { testStale(t, c) })
	t.Run("SilentMember", func(t *testing.T) { testSilentMember(t, c) })
}

// whileLeaderless kills members, the leader first, calls do, and starts them again.
func whileLeaderless(t *testing.T, c *cluster.Cluster, kills int, do func()) {
	t.Helper()
	leader, err := c.Primary(expect.Patiently(t))
	expect.NoError(t, err)
	var killed []int
	for i := range kills {
		killed = append(killed, (leader+i)%len(c.Nodes()))
		expect.NoError(t, c.Node(killed[i]).Kill())
	}
	do()
	for _, i := range killed {
		expect.NoError(t, c.Restart(expect.Patiently(t), i))
	}
	expect.NoError(t, c.Settled(expect.Patiently(t)))
}

func testFailover(t *testing.T, c *cluster.Cluster) {
	drivertest.RunThroughFaults(t, drivertest.Store{Open: Open, Lacks: Lacks(), Target: targetOf(c, "")},
		func(work func()) { whileLeaderless(t, c, 1, work) })
}

// testLostQuorum: without a majority a write is unknown, a read has failed, a serializable read is
// answered, and Blocked says why.
func testLostQuorum(t *testing.T, c *cluster.Cluster) {
	d := created(t, targetOf(c, ""), pairs())
	expect.AtEnd(t, func() error { return d.Drop(context.Background()) })
	stale := opened(t, targetOf(c, "?reads=serializable"), pairs())
	n, local := client(t, d), client(t, stale)
	mustDo(t, n, insertPair, pair(1, "a")...)
	expect.NoError(t, c.Settled(expect.Patiently(t)))
	whileLeaderless(t, c, 2, func() {
		for _, limit := range []time.Duration{time.Second, time.Minute} { // ours, and that of the member
			ctx, cancel := context.WithTimeout(t.Context(), limit)
			if r := n.Run(ctx, store.Call{Statement: insertPair, Parameters: pair(2, "b")}); r.Outcome == history.Committed || r.Class != store.ClassTimeout && r.Class != store.ClassLost && r.Class != store.ClassConnect {
				t.Errorf("a write without a majority: %+v", r)
			}
			if r := n.Run(ctx, store.Call{Statement: readPair, Parameters: pair(1), Row: ignore}); r.Outcome != history.Failed {
				t.Errorf("a read without a majority: %+v", r)
			}
			cancel()
		}
		if got := read(t, local, 1); !slices.Equal(got, []string{"a"}) {
			t.Errorf("a serializable read without a majority gives %q", got)
		}
		if by, err := d.Blocked(expect.Patiently(t)); err != nil || !strings.Contains(by, "majority") {
			t.Errorf("Blocked: %q, %v", by, err)
		}
	})
}

// testReplicas: each member has what was acknowledged, and a dead member is named.
func testReplicas(t *testing.T, c *cluster.Cluster) {
	d := created(t, targetOf(c, ""), pairs())
	expect.AtEnd(t, func() error { return d.Drop(context.Background()) })
	n := client(t, d)
	for id := range int64(50) {
		mustDo(t, n, insertPair, pair(id, "x")...)
	}
	whole := func() {
		members, unreachable, err := d.Replicas(expect.Patiently(t))
		if err != nil || len(unreachable) > 0 || len(members) != 3 {
			t.Fatalf("%v, %v, %v", members, unreachable, err)
		}
		primaries := 0
		for _, m := range members {
			if m.Primary {
				primaries++
			}
			expect.NoError(t, d.CatchUp(expect.Patiently(t), m))
			rows := 0
			expect.NoError(t, d.ViewReplica(expect.Patiently(t), m, func(r store.Reader) error {
				return store.Whole(t.Context(), r, store.Statement{Table: "pair", Columns: []string{"id"}}, func(store.Row) error { rows++; return nil })
			}))
			if rows != 50 {
				t.Errorf("%+v shows %d rows", m, rows)
			}
		}
		if primaries != 1 {
			t.Errorf("%d leaders among %+v", primaries, members)
		}
	}
	whole()
	leader, err := c.Primary(expect.Patiently(t))
	expect.NoError(t, err)
	other := (leader + 1) % 3
	expect.NoError(t, c.Node(other).Kill())
	members, unreachable, err := d.Replicas(expect.Patiently(t))
	if err != nil || len(members) != 2 || unreachable[c.Node(other).Address()] == nil {
		t.Errorf("with a member down: %v, %v, %v", members, unreachable, err)
	}
	expect.NoError(t, c.Restart(expect.Patiently(t), other))
	whole()
}

// testStale: a stopped member misses commits and says so until it has caught up. A serializable
// read of it is old, as promised.
func testStale(t *testing.T, c *cluster.Cluster) {
	d := created(t, targetOf(c, ""), pairs())
	expect.AtEnd(t, func() error { return d.Drop(context.Background()) })
	if p := opened(t, targetOf(c, "?reads=serializable"), pairs()).Promises(); p.Reads != "" || !p.Eventual || p.Model != serializable {
		t.Errorf("with serializable reads %+v is promised", p)
	}
	leader, err := c.Primary(expect.Patiently(t))
	expect.NoError(t, err)
	behind := c.Node((leader + 1) % 3)
	member := store.Replica{Name: behind.Address()}
	expect.NoError(t, d.CatchUp(expect.Patiently(t), member))
	expect.NoError(t, behind.Pause())
	n := client(t, opened(t, store.Target{Address: "etcd://" + c.Node(leader).Address(), ConnectTimeout: connectTimeout}, pairs()))
	mustDo(t, n, insertPair, pair(1, "a")...)
	short, cancel := context.WithTimeout(t.Context(), time.Second)
	if err := d.CatchUp(short, member); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a member that is stopped has caught up: %v", err)
	}
	cancel()
	expect.NoError(t, behind.Resume())
	expect.NoError(t, d.CatchUp(expect.Patiently(t), member))
}

// testSilentMember: the lease is renewed while a member is stopped, although that takes more
// requests than members answer in turn.
func testSilentMember(t *testing.T, c *cluster.Cluster) {
	d := created(t, targetOf(c, ""), pairs())
	expect.AtEnd(t, func() error { return d.Drop(context.Background()) })
	holder := store.Holder{Token: "ours", Run: "run"}
	expect.NoError(t, d.TakeLease(expect.Patiently(t), holder, expect.Patience, ""))
	leader, err := c.Primary(expect.Patiently(t))
	expect.NoError(t, err)
	silent := c.Node((leader + 1) % 3)
	expect.NoError(t, silent.Pause())
	err = d.RenewLease(expect.Patiently(t), holder.Token, expect.Patience)
	expect.NoError(t, silent.Resume())
	expect.NoError(t, err)
	expect.NoError(t, d.ReleaseLease(expect.Patiently(t), holder.Token))
	expect.NoError(t, c.Settled(expect.Patiently(t)))
}
