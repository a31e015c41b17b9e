package redis

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"assay/cluster/server"
	"assay/cluster/servertest"
	"assay/internal/expect"
)

// TestServersGoThroughFaults: a failover can begin twelve times DownAfter after the last.
func TestServersGoThroughFaults(t *testing.T) {
	t.Parallel()
	logs := t.TempDir()
	c := expect.Started(t, Start, Options{Layout: server.Layout{Nodes: 3, LogDir: logs}, DownAfter: 500 * time.Millisecond, Settings: []string{"appendonly yes"}})
	expect.Text(t, "the address", c.Address(), "redis+sentinel://", c.Sentinel(0).Address(), c.Sentinel(2).Address(), "/assay")
	first, err := c.Primary(expect.Patiently(t))
	expect.NoError(t, err, c.Settled(expect.Patiently(t)))

	expect.NoError(t, c.Node(first).Pause())
	second := servertest.OtherLeader(t, c, first)
	expect.NoError(t, c.Node(first).Resume(), c.Settled(expect.Patiently(t)))

	expect.NoError(t, c.Node(second).Kill())
	third := servertest.OtherLeader(t, c, second)
	before := c.Node(second).PID()
	expect.NoError(t, c.Restart(expect.Patiently(t), second), c.Settled(expect.Patiently(t)))
	if c.Node(second).PID() == before {
		t.Error("Restart left the process as it was")
	}

	expect.NoError(t, c.Node(third).Stop(expect.Patiently(t)))
	servertest.OtherLeader(t, c, third)
	expect.NoError(t, c.Restart(expect.Patiently(t), third), c.Settled(expect.Patiently(t)))
	servertest.Closed(t, c, append(c.nodes[:len(c.nodes):len(c.nodes)], c.sentinels...), c.options.Dir, logs)
}

func TestOneServer(t *testing.T) {
	c := expect.Started(t, Start, Options{Settings: []string{"maxmemory 77mb"}})
	if want := "redis://" + c.Node(0).Address() + "/"; c.Address() != want {
		t.Errorf("address %s, want %s", c.Address(), want)
	}
	told, err := c.info(expect.Patiently(t), c.Node(0), "memory")
	if err != nil || told["maxmemory"] != "80740352" {
		t.Errorf("maxmemory is %s, %v", told["maxmemory"], err)
	}
	expect.NoError(t, c.Node(0).Kill())
	if _, err := c.Primary(expect.Within(t, 200*time.Millisecond)); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a primary that was killed: %v", err)
	}
	expect.NoError(t, c.Restart(expect.Patiently(t), 0), c.Settled(expect.Patiently(t)))
}

// TestStopOfAServerThatRefusesTheFirstSignal writes its first append-only file at two seconds a
// key.
func TestStopOfAServerThatRefusesTheFirstSignal(t *testing.T) {
	t.Parallel()
	c := expect.Started(t, Start, Options{})
	for _, command := range []string{"SET key value", "CONFIG SET rdb-key-save-delay 2000000", "CONFIG SET appendonly yes"} {
		_, err := c.ask(expect.Patiently(t), c.Node(0), command)
		expect.NoError(t, err)
	}
	expect.NoError(t, c.Node(0).Stop(expect.Patiently(t)))
	if log := c.Node(0).Tail(100); !strings.Contains(log, "Writing initial AOF, can't exit") {
		t.Errorf("the server refused no signal:\n%s", log)
	}
}

func TestServerThatCannotStartSaysWhy(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "servers")
	servertest.SaysWhy(expect.Patiently(t), t, dir, Start, map[string]servertest.Wrong[Options]{
		"the line": {Options: Options{Layout: server.Layout{Dir: dir}, Settings: []string{"nonsense 1"}}, Says: "nonsense"},
	})
	servertest.GivenUp(t, dir, 50*time.Millisecond, Start, Options{Layout: server.Layout{Nodes: 3, Dir: dir}})
}

// TestRedisClusterGoesThroughFaults pauses, kills and stops the server with assay's slot. Each time
// its replica takes over, and it comes back as that one's replica.
func TestRedisClusterGoesThroughFaults(t *testing.T) {
	t.Parallel()
	logs := t.TempDir()
	c := expect.Started(t, Start, Options{Layout: server.Layout{Nodes: 6, LogDir: logs}, Sharded: true, DownAfter: 2 * time.Second, Settings: []string{"appendonly yes"}})
	expect.Text(t, "the address", c.Address(), "redis+cluster://", c.Node(0).Address(), c.Node(5).Address())
	first, err := c.Primary(expect.Patiently(t))
	expect.NoError(t, err, c.Settled(expect.Patiently(t)))

	expect.NoError(t, c.Node(first).Pause())
	second := servertest.OtherLeader(t, c, first)
	expect.NoError(t, c.Node(first).Resume(), c.Settled(expect.Patiently(t)))

	expect.NoError(t, c.Node(second).Kill())
	third := servertest.OtherLeader(t, c, second)
	expect.NoError(t, c.Restart(expect.Patiently(t), second), c.Settled(expect.Patiently(t)))
	if third != first {
		t.Errorf("server %d has the slot, whose primary was %d with the replica %d", third, first, second)
	}
	all, err := c.Primaries(expect.Patiently(t))
	expect.NoError(t, err)
	if len(all) != 3 || all[0] != third {
		t.Fatalf("servers %v have slots, and %d that of assay's keys", all, third)
	}
	behindTheirOwnPrimaries(t, c, all)
	// Another primary is lost, and its replica takes its slots.
	expect.NoError(t, c.Node(all[1]).Pause())
	expect.NoError(t, server.Until(expect.Patiently(t), lookEvery, "another one with these slots", func(ctx context.Context) error {
		now, err := c.Primaries(ctx)
		if err == nil && (len(now) != 3 || now[0] != third || slices.Contains(now, all[1]) || !slices.Contains(now, all[2])) {
			err = fmt.Errorf("servers %v have slots", now)
		}
		return err
	}))
	expect.NoError(t, c.Node(all[1]).Resume(), c.Settled(expect.Patiently(t)))
	expect.NoError(t, c.Node(all[1]).Kill())
	expect.NoError(t, c.Restart(expect.Patiently(t), all[1]), c.Settled(expect.Patiently(t)))
	servertest.Closed(t, c, append(c.nodes[:len(c.nodes):len(c.nodes)], c.sentinels...), c.options.Dir, logs)
}

// behindTheirOwnPrimaries wants each shard's replica named, and no other server, that has not what its
// own primary has.
func behindTheirOwnPrimaries(t *testing.T, c *Cluster, primaries []int) {
	t.Helper()
	ctx := expect.Patiently(t)
	goals := map[int]int64{}
	if err := c.apart(ctx, goals); err != nil || len(goals) != len(primaries) {
		t.Errorf("all in step: %v, goals %v", err, goals)
	}
	for _, i := range primaries {
		far := maps.Clone(goals)
		far[i] += 1 << 40
		err := c.apart(ctx, far)
		if text := fmt.Sprint(err); strings.Count(text, "it lags behind") != 1 || strings.Contains(text, "\n") {
			t.Errorf("behind server %d: %v", i, err)
		}
	}
}

// TestAnEmptiedPrimaryCopiesTheOthers: it comes back at once, before the Sentinels take it for down,
// and must not have its replicas copy that it has nothing.
func TestAnEmptiedPrimaryCopiesTheOthers(t *testing.T) {
	t.Parallel()
	c := expect.Started(t, Start, Options{Layout: server.Layout{Nodes: 3}, DownAfter: 2 * time.Second})
	first, err := c.Primary(expect.Patiently(t))
	expect.NoError(t, err)
	_, err = c.ask(expect.Patiently(t), c.Node(first), "SET key value")
	expect.NoError(t, err, c.Settled(expect.Patiently(t)))
	expect.NoError(t, c.Node(first).Kill())
	_, _, err = server.Clear(c.Data(first))
	expect.NoError(t, err, c.Forget(t.Context(), first), c.Restart(expect.Patiently(t), first), c.Settled(expect.Patiently(t)))
	now, err := c.Primary(expect.Patiently(t))
	if err != nil || now == first {
		t.Errorf("server %d is the primary, as before: %v", now, err)
	}
	for i, node := range c.nodes {
		if got, err := c.ask(expect.Patiently(t), node, "GET key"); err != nil || !slices.Equal(got, []string{"value"}) {
			t.Errorf("server %d has %q, %v", i, got, err)
		}
	}
	// It is a replica like the others from then on.
	expect.NoError(t, c.Node(first).Kill(), c.Restart(expect.Patiently(t), first), c.Settled(expect.Patiently(t)))
}
