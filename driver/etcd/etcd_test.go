package etcd

import (
	"bytes"
	"context"
	"fmt"
	"testing"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"

	cluster "assay/cluster/etcd"
	"assay/cluster/server"
	"assay/driver/drivertest"
	"assay/driver/ordered"
	"assay/internal/expect"
	"assay/store"
	"assay/workload/availability"
	"assay/workload/definition"
	"assay/workload/entity"
	"assay/workload/ycsb"
)

const connectTimeout = 20 * time.Second

func startCluster(t *testing.T, nodes int, args ...string) *cluster.Cluster {
	t.Helper()
	ctx := expect.Patiently(t)
	c, err := cluster.Start(ctx, cluster.Options{Layout: server.Layout{Nodes: nodes}, Args: args})
	expect.NoError(t, err)
	expect.AtEnd(t, c.Close)
	return c
}

func targetOf(c *cluster.Cluster, query string) store.Target {
	return store.Target{Address: c.Address() + query, ConnectTimeout: connectTimeout}
}

func opened(t *testing.T, target store.Target, of store.Schema) *database {
	t.Helper()
	db, err := Open(t.Context(), target, of)
	expect.NoError(t, err)
	expect.AtEnd(t, db.Close)
	return db.(*database)
}

func created(t *testing.T, target store.Target, of store.Schema) *database {
	t.Helper()
	d := opened(t, target, of)
	expect.NoError(t, d.Create(t.Context(), store.Marker{Run: "run", Workload: of.Workload, Created: time.Now().UTC(), Loaded: true}))
	return d
}

// raw changes keys behind the driver's back.
func raw(t *testing.T, c *cluster.Cluster) *connection {
	t.Helper()
	o, err := parse(targetOf(c, ""))
	expect.NoError(t, err)
	conn, err := dial(t.Context(), o, o.hosts)
	expect.NoError(t, err)
	expect.AtEnd(t, conn.close)
	return conn
}

func put(t *testing.T, c *connection, key, value string) {
	t.Helper()
	_, err := c.kv.Put(context.Background(), &pb.PutRequest{Key: []byte(key), Value: []byte(value)}) // also while the test ends
	expect.NoError(t, err)
}

func take(t *testing.T, c *connection, key string) {
	t.Helper()
	_, err := c.kv.DeleteRange(context.Background(), &pb.DeleteRangeRequest{Key: []byte(key)})
	expect.NoError(t, err)
}

func wantValue(t *testing.T, c *connection, key, value string) {
	t.Helper()
	answer, err := c.kv.Range(t.Context(), &pb.RangeRequest{Key: []byte(key)})
	if err != nil || len(answer.Kvs) != 1 || !bytes.Equal(answer.Kvs[0].Value, []byte(value)) {
		t.Errorf("key %q is %v, %v; want %q", key, answer.GetKvs(), err, value)
	}
}

// TestOneMember: subtests share one server and leave it healthy and empty.
func TestOneMember(t *testing.T) {
	t.Parallel()
	c := startCluster(t, 1)
	t.Run("Store", func(t *testing.T) { testStore(t, c) })
	t.Run("Workloads", func(t *testing.T) { testWorkloads(t, c) })
	t.Run("Interleaving", func(t *testing.T) { testInterleaving(t, c) })
	t.Run("Statistics", func(t *testing.T) { testStatistics(t, c) })
	t.Run("Transactions", func(t *testing.T) { testTransactions(t, c) })
	t.Run("Proven", func(t *testing.T) { testProven(t, c) })
}

func testStore(t *testing.T, c *cluster.Cluster) {
	others := raw(t, c)
	keyOf := func(workload, table string) string {
		return string(ordered.NewLayout(defaultRoot, workload).Key(table, 7))
	}
	restart := func(t *testing.T) {
		expect.NoError(t, c.Node(0).Kill())
		ctx := expect.Patiently(t)
		expect.NoError(t, c.Restart(ctx, 0))
	}
	s := drivertest.Store{
		Open: Open, Lacks: Lacks(), Target: targetOf(c, ""), Server: c.Node(0).Address(), Restart: restart,
		Via: func(addr string) store.Target {
			return store.Target{Address: "etcd://" + addr, ConnectTimeout: 30 * time.Second}
		},
		// The mark's key, which a commit compares first.
		CommitMarker: []byte("\x02mark\x00"), HTTP2: true, Confirms: true,
		MakeForeign: func(t *testing.T, workload string) (intact func(t *testing.T)) {
			key := keyOf(workload, "theirs")
			put(t, others, key, "theirs")
			t.Cleanup(func() { take(t, others, key) })
			return func(t *testing.T) { wantValue(t, others, key, "theirs") }
		},
		Others: func(workload string) []drivertest.Other {
			key := keyOf(workload, "theirs")
			return []drivertest.Other{{
				Name: fmt.Sprintf("key %q", key),
				Make: func(t *testing.T) { put(t, others, key, "theirs") }, Intact: func(t *testing.T) { wantValue(t, others, key, "theirs") },
				Remove: func(t *testing.T) { take(t, others, key) },
			}}
		},
	}
	drivertest.RunStore(t, s)
	t.Run(serializable, func(t *testing.T) {
		s.Target = targetOf(c, "?reads=serializable")
		s.Via = func(addr string) store.Target {
			return store.Target{Address: "etcd://" + addr + "/?reads=serializable", ConnectTimeout: 30 * time.Second}
		}
		drivertest.RunOutcomes(t, s)
	})
}

func testWorkloads(t *testing.T, c *cluster.Cluster) {
	drivertest.ShortRuns(t, targetOf(c, ""), drivertest.Supports(Open, Lacks())...)
	t.Run(serializable, func(t *testing.T) {
		var supports []definition.Support
		for _, w := range []definition.Workload{availability.Definition(), entity.Definition(), ycsb.Definition()} {
			supports = append(supports, definition.SupportOf(w, Open, Lacks()))
		}
		drivertest.ShortRuns(t, targetOf(c, "?reads=serializable"), supports...)
	})
}

// testInterleaving: with one member a serializable read is never old.
func testInterleaving(t *testing.T, c *cluster.Cluster) {
	drivertest.RunInterleaving(t, Open, func(level store.Level) store.Target {
		target := targetOf(c, "")
		target.Isolation = level.Isolation
		return target
	}, []drivertest.Shown{{Level: serializable}, {Level: strict}})
}

func testStatistics(t *testing.T, c *cluster.Cluster) {
	others := raw(t, c)
	drivertest.RunStatistics(t, drivertest.Statistics{
		Open: OpenStatistics, Target: targetOf(c, ""), Pause: c.Node(0).Pause, Resume: c.Node(0).Resume,
		Counter: "proposals committed", Means: []store.Meaning{store.DiskWaits},
		Work: func(t *testing.T) { put(t, others, "work", "done"); take(t, others, "work") },
	})
}
