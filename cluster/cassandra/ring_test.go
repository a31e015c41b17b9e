package cassandra

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	gocql "github.com/apache/cassandra-gocql-driver/v2"

	"assay/cluster/server"
	"assay/cluster/servertest"
	"assay/internal/expect"
)

func startCassandra(t *testing.T, o Options) *Ring {
	t.Helper()
	o.Java = []string{"-XX:TieredStopAtLevel=1"} // it lives for seconds
	return expect.Started(t, Start, o)
}

// cql repeats a statement on node i until it gets an answer.
func cql(t *testing.T, c *Ring, i int, consistency gocql.Consistency, statement string) []string {
	t.Helper()
	ctx := expect.Patiently(t)
	for {
		rows, err := queryWithin(ctx, c.nodes[i], time.Minute, consistency, statement)
		if err == nil {
			return rows
		}
		if ctx.Err() != nil {
			t.Fatalf("%s: %v", statement, err)
		}
		time.Sleep(50 * time.Millisecond)
	}
}

func makeProbeTable(t *testing.T, c *Ring) {
	t.Helper()
	cql(t, c, 0, gocql.One, fmt.Sprintf(
		"CREATE KEYSPACE IF NOT EXISTS probe WITH replication = {'class': 'SimpleStrategy', 'replication_factor': %d}", len(c.Nodes())))
	cql(t, c, 0, gocql.One, "CREATE TABLE IF NOT EXISTS probe.probe (id int PRIMARY KEY)")
}

func put(t *testing.T, c *Ring, i, id int) {
	t.Helper()
	cql(t, c, i, gocql.Quorum, fmt.Sprintf("INSERT INTO probe.probe (id) VALUES (%d)", id))
}

func mustFind(t *testing.T, c *Ring, i int, consistency gocql.Consistency, n int) {
	t.Helper()
	if rows := cql(t, c, i, consistency, "SELECT JSON id FROM probe.probe"); len(rows) != n {
		t.Errorf("node %d finds %v, want %d rows", i, rows, n)
	}
}

func TestCassandraNodeGoesThroughItsLife(t *testing.T) {
	t.Parallel()
	logs := t.TempDir()
	c := startCassandra(t, Options{Layout: server.Layout{Nodes: 1, LogDir: logs}, CommitLog: "batch",
		Settings: []string{"write_request_timeout: 777ms"}})
	if want := "cassandra://" + c.Node(0).Address() + "/"; c.Address() != want || !strings.HasPrefix(c.Node(0).Address(), "127.0.0.1:") {
		t.Errorf("address %s, want %s", c.Address(), want)
	}
	for name, want := range map[string]string{"write_request_timeout": "777ms", "commitlog_sync": "batch"} {
		rows := cql(t, c, 0, gocql.One, "SELECT JSON value FROM system_views.settings WHERE name = '"+name+"'")
		if len(rows) != 1 || !strings.Contains(rows[0], want) {
			t.Errorf("%s is %v, want %s", name, rows, want)
		}
	}
	makeProbeTable(t, c)
	put(t, c, 0, 1)

	expect.NoError(t, c.Node(0).Pause())
	if rows, err := queryWithin(t.Context(), c.nodes[0], 300*time.Millisecond, gocql.One, "SELECT JSON id FROM probe.probe"); err == nil {
		t.Errorf("a paused node answers %v", rows)
	}
	expect.NoError(t, c.Node(0).Resume())
	mustFind(t, c, 0, gocql.One, 1)
	put(t, c, 0, 2)

	before := c.Node(0).PID()
	expect.NoError(t, c.Node(0).Kill())
	if err := c.Settled(expect.Within(t, 300*time.Millisecond)); !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "no node runs") {
		t.Errorf("Settled without a node: %v", err)
	}
	expect.NoError(t, c.Restart(expect.Patiently(t), 0, "ASSAY_TESTED=yes"))
	if c.Node(0).PID() == before {
		t.Error("Restart left the process as it was")
	}
	if env, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", c.Node(0).PID())); err == nil && !strings.Contains(string(env), "ASSAY_TESTED=yes") {
		t.Error("the environment did not reach it")
	}
	mustFind(t, c, 0, gocql.One, 2)
	expect.NoError(t, c.Settled(expect.Patiently(t)), c.Node(0).Stop(expect.Patiently(t)))
	if c.Node(0).Process().Running() {
		t.Error("it runs after Stop")
	}
	servertest.Closed(t, c, c.Nodes(), c.options.Dir, logs)
}

func TestCassandraRingGoesOnWithoutANode(t *testing.T) {
	t.Parallel()
	logs := t.TempDir()
	c := startCassandra(t, Options{Layout: server.Layout{LogDir: logs}})
	if len(c.Nodes()) != 3 || c.Node(2).Address() != strings.Replace(c.Node(0).Address(), "127.0.0.1:", "127.0.0.3:", 1) {
		t.Errorf("%d nodes at %s", len(c.Nodes()), c.Address())
	}
	makeProbeTable(t, c)
	put(t, c, 0, 1)
	expect.NoError(t, c.Node(1).Kill())
	put(t, c, 0, 2)
	put(t, c, 2, 3)
	mustFind(t, c, 2, gocql.Quorum, 3)
	if err := c.Settled(expect.Patiently(t)); err != nil {
		t.Fatalf("two nodes of three: %v", err)
	}
	expect.NoError(t, c.Restart(expect.Patiently(t), 1))
	put(t, c, 1, 4)
	expect.NoError(t, c.Settled(expect.Patiently(t)))
	// Only the node itself can show that it got the writes it missed.
	mustFind(t, c, 1, gocql.One, 4)
	mustFind(t, c, 0, gocql.All, 4)

	expect.NoError(t, c.Node(2).Pause())
	if err := c.Settled(expect.Within(t, time.Second)); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("Settled with a paused node: %v", err)
	}
	put(t, c, 0, 5)
	expect.NoError(t, c.Node(2).Resume())
	expect.NoError(t, c.Settled(expect.Patiently(t)))
	mustFind(t, c, 2, gocql.All, 5)
	servertest.Closed(t, c, c.Nodes(), c.options.Dir, logs)
}

func TestCassandraThatCannotStartSaysWhy(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "ring")
	servertest.SaysWhy(expect.Patiently(t), t, dir, Start, map[string]servertest.Wrong[Options]{
		"setting":    {Options: Options{Layout: server.Layout{Nodes: 1, Dir: dir}, Settings: []string{"no_such_setting: 1"}}, Says: "no_such_setting"},
		"nodes":      {Options: Options{Layout: server.Layout{Nodes: -1, Dir: dir}}, Says: "-1 nodes"},
		"heap":       {Options: Options{Layout: server.Layout{Dir: dir}, Heap: 1 << 20}, Says: "1048576"},
		"commit log": {Options: Options{Layout: server.Layout{Dir: dir}, CommitLog: "never"}, Says: `"never"`},
	})
	servertest.GivenUp(t, dir, 2*time.Second, Start, Options{Layout: server.Layout{Dir: dir}})
}
