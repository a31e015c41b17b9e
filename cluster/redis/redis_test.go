package redis

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"assay/cluster/server"
	"assay/cluster/servertest"
	"assay/internal/expect"
)

func start(t *testing.T, o Options) *Cluster {
	t.Helper()
	c, err := Start(timeLimit(t), o)
	expect.NoError(t, err)
	expect.AtEnd(t, c.Close)
	return c
}

// timeLimit bounds what should take seconds.
func timeLimit(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	t.Cleanup(cancel)
	return ctx
}

func otherPrimary(t *testing.T, c *Cluster, old int) int {
	t.Helper()
	return servertest.OtherLeader(timeLimit(t), t, c.Primary, old)
}

func TestServersGoThroughFaults(t *testing.T) {
	t.Parallel()
	logs := t.TempDir()
	c := start(t, Options{Layout: server.Layout{Nodes: 3, LogDir: logs}, DownAfter: time.Second, Settings: []string{"appendonly yes"}})
	expect.Text(t, "the address", c.Address(), "redis+sentinel://", c.Sentinel(0).Address(), c.Sentinel(2).Address(), "/assay")
	first, err := c.Primary(timeLimit(t))
	expect.NoError(t, err, c.Settled(timeLimit(t)))

	expect.NoError(t, c.Node(first).Pause())
	second := otherPrimary(t, c, first)
	expect.NoError(t, c.Node(first).Resume(), c.Settled(timeLimit(t)))

	expect.NoError(t, c.Node(second).Kill())
	third := otherPrimary(t, c, second)
	before := c.Node(second).PID()
	expect.NoError(t, c.Restart(timeLimit(t), second), c.Settled(timeLimit(t)))
	if c.Node(second).PID() == before {
		t.Error("Restart left the process as it was")
	}

	expect.NoError(t, c.Node(third).Stop(timeLimit(t)))
	otherPrimary(t, c, third)
	expect.NoError(t, c.Restart(timeLimit(t), third), c.Settled(timeLimit(t)))
	servertest.Closed(t, c, append(c.nodes[:len(c.nodes):len(c.nodes)], c.sentinels...), c.options.Dir, logs)
}

func TestOneServer(t *testing.T) {
	c := start(t, Options{Settings: []string{"maxmemory 77mb"}})
	if want := "redis://" + c.Node(0).Address() + "/"; c.Address() != want {
		t.Errorf("address %s, want %s", c.Address(), want)
	}
	told, err := c.info(timeLimit(t), c.Node(0), "memory")
	if err != nil || told["maxmemory"] != "80740352" {
		t.Errorf("maxmemory is %s, %v", told["maxmemory"], err)
	}
	expect.NoError(t, c.Node(0).Kill())
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	if _, err := c.Primary(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a primary that was killed: %v", err)
	}
	expect.NoError(t, c.Restart(timeLimit(t), 0), c.Settled(timeLimit(t)))
}

func TestServerThatCannotStartSaysWhy(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "servers")
	servertest.SaysWhy(timeLimit(t), t, dir, Start, map[string]servertest.Wrong[Options]{
		"the line": {Options: Options{Layout: server.Layout{Dir: dir}, Settings: []string{"nonsense 1"}}, Says: "nonsense"},
	})
}

func TestStartEndsWithItsContext(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "servers")
	servertest.GivenUp(t, dir, 50*time.Millisecond, Start, Options{Layout: server.Layout{Nodes: 3, Dir: dir}})
}

func TestMissing(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	t.Setenv("ASSAY_SERVERS", t.TempDir())
	var missing *server.MissingError
	if _, err := Start(timeLimit(t), Options{}); !errors.As(err, &missing) || missing.Program != "redis-server" {
		t.Errorf("got %v", err)
	}
}

// TestRedisClusterGoesThroughFaults has the server with the slot of assay's keys paused, killed
// and stopped: each time its replica takes over, and it comes back as that one's replica.
func TestRedisClusterGoesThroughFaults(t *testing.T) {
	t.Parallel()
	logs := t.TempDir()
	c := start(t, Options{Layout: server.Layout{Nodes: 6, LogDir: logs}, Sharded: true, DownAfter: 2 * time.Second, Settings: []string{"appendonly yes"}})
	expect.Text(t, "the address", c.Address(), "redis+cluster://", c.Node(0).Address(), c.Node(5).Address())
	first, err := c.Primary(timeLimit(t))
	expect.NoError(t, err, c.Settled(timeLimit(t)))

	expect.NoError(t, c.Node(first).Pause())
	second := otherPrimary(t, c, first)
	expect.NoError(t, c.Node(first).Resume(), c.Settled(timeLimit(t)))

	expect.NoError(t, c.Node(second).Kill())
	third := otherPrimary(t, c, second)
	expect.NoError(t, c.Restart(timeLimit(t), second), c.Settled(timeLimit(t)))
	if third != first {
		t.Errorf("server %d has the slot, whose primary was %d with the replica %d", third, first, second)
	}
	all, err := c.Primaries(timeLimit(t))
	expect.NoError(t, err)
	if len(all) != 3 || all[0] != third {
		t.Fatalf("servers %v have slots, and %d that of assay's keys", all, third)
	}
	// One that has other slots is lost, and its replica takes them.
	expect.NoError(t, c.Node(all[1]).Pause())
	expect.NoError(t, server.Until(timeLimit(t), lookEvery, "another one with these slots", func(ctx context.Context) error {
		now, err := c.Primaries(ctx)
		if err == nil && (len(now) != 3 || now[0] != third || slices.Contains(now, all[1]) || !slices.Contains(now, all[2])) {
			err = fmt.Errorf("servers %v have slots", now)
		}
		return err
	}))
	expect.NoError(t, c.Node(all[1]).Resume(), c.Settled(timeLimit(t)))
	expect.NoError(t, c.Node(all[1]).Kill())
	expect.NoError(t, c.Restart(timeLimit(t), all[1]), c.Settled(timeLimit(t)))
	servertest.Closed(t, c, append(c.nodes[:len(c.nodes):len(c.nodes)], c.sentinels...), c.options.Dir, logs)
}
