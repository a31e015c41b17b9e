package mariadb

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"assay/cluster/server"
	"assay/internal/expect"
)

// insertUntil writes a row to one of the nodes as soon as it takes writes: a
// cluster that has lost a node does not, until it has noticed.
func insertUntil(t *testing.T, m *Cluster, i, id int) {
	t.Helper()
	ctx := timeLimit(t)
	db := mariaClient(t, m, i)
	for {
		bounded, cancel := context.WithTimeout(ctx, 10*time.Second)
		_, err := db.ExecContext(bounded, "INSERT INTO probe.t VALUES (?) ON DUPLICATE KEY UPDATE id = id", id)
		cancel()
		if err == nil {
			return
		}
		if ctx.Err() != nil {
			t.Fatalf("node %d takes no writes: %v", i, err)
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// mustHold wants all nodes to be in step, and to have the same rows.
func mustHold(t *testing.T, m *Cluster, want string) {
	t.Helper()
	expect.NoError(t, m.Settled(timeLimit(t)))
	for i := range m.Nodes() {
		if !m.Node(i).Process().Running() {
			continue
		}
		if got := mariaValue(t, mariaClient(t, m, i), "SELECT group_concat(id ORDER BY id) FROM probe.t"); got != want {
			t.Errorf("node %d has the rows %s, want %s", i, got, want)
		}
	}
}

func mustRestart(t *testing.T, m *Cluster, i int) {
	t.Helper()
	expect.NoError(t, m.Restart(timeLimit(t), i))
}

func TestGaleraGoesThroughFaults(t *testing.T) {
	t.Parallel()
	m := startMariaDB(t, shortly(Options{Layout: server.Layout{Nodes: 3}}))
	if n := strings.Count(m.Address(), ","); n != 2 {
		t.Errorf("address %s", m.Address())
	}
	if _, err := m.Primary(timeLimit(t)); !errors.As(err, new(*server.NoPrimaryError)) {
		t.Errorf("Primary: %v", err)
	}
	first := mariaClient(t, m, 0)
	mariaExec(t, first, "CREATE DATABASE probe")
	mariaExec(t, first, "CREATE TABLE probe.t (id INT PRIMARY KEY)")
	for i := range m.Nodes() {
		insertUntil(t, m, i, 1+i)
	}
	mustHold(t, m, "1,2,3")
	for _, name := range []string{"evs.suspect_timeout = PT2S", "evs.inactive_timeout = PT4S", "evs.install_timeout = PT4S"} {
		expect.Text(t, "the options", mariaValue(t, first, "SELECT @@wsrep_provider_options"), name)
	}

	// A killed node: the others go on, and it gets what it missed.
	expect.NoError(t, m.Node(0).Kill())
	insertUntil(t, m, 1, 4)
	mustHold(t, m, "1,2,3,4")
	mustRestart(t, m, 0)
	insertUntil(t, m, 0, 5)
	mustHold(t, m, "1,2,3,4,5")

	// A paused node is left out, and comes back by itself.
	expect.NoError(t, m.Node(2).Pause())
	insertUntil(t, m, 0, 6)
	expect.NoError(t, m.Node(2).Resume())
	mustHold(t, m, "1,2,3,4,5,6")

	// A node that leaves in order.
	expect.NoError(t, m.Node(1).Stop(timeLimit(t)))
	insertUntil(t, m, 2, 7)
	mustHold(t, m, "1,2,3,4,5,6,7")
	mustRestart(t, m, 1)
	mustHold(t, m, "1,2,3,4,5,6,7")

	// All of them are dead, and the last one has what the others have not.
	for i := range 2 {
		expect.NoError(t, m.Node(i).Kill())
		if i == 0 {
			insertUntil(t, m, 2, 8)
			insertUntil(t, m, 1, 9)
		}
	}
	expect.NoError(t, m.Node(2).Kill())
	for i := range m.Nodes() {
		mustRestart(t, m, i)
	}
	mustHold(t, m, "1,2,3,4,5,6,7,8,9")
	mustLeaveNothing(t, m)
}

// TestGaleraStartsAllAtOnce kills all nodes, of which one has not what the
// others have, and starts them again at the same time.
func TestGaleraStartsAllAtOnce(t *testing.T) {
	t.Parallel()
	m := startMariaDB(t, shortly(Options{Layout: server.Layout{Nodes: 3}, CacheSize: 32 << 20}))
	first := mariaClient(t, m, 0)
	mariaExec(t, first, "CREATE DATABASE probe")
	mariaExec(t, first, "CREATE TABLE probe.t (id INT PRIMARY KEY)")
	expect.NoError(t, m.Node(0).Kill())
	insertUntil(t, m, 2, 1)
	expect.NoError(t, errors.Join(m.Node(1).Kill(), m.Node(2).Kill()))
	var all sync.WaitGroup
	for i := range m.Nodes() {
		all.Go(func() {
			if err := m.Restart(timeLimit(t), i); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	mustHold(t, m, "1")
	mustLeaveNothing(t, m)
}

// TestGaleraCloseDuringACopy closes while a node gets its copy of everything,
// which scripts and rsync do.
func TestGaleraCloseDuringACopy(t *testing.T) {
	m := startMariaDB(t, shortly(Options{Layout: server.Layout{Nodes: 2}}))
	expect.NoError(t, m.Node(1).Stop(timeLimit(t)))
	expect.NoError(t, m.nodes.At(1).forget())
	ended := make(chan error, 1)
	go func() { ended <- m.Restart(context.Background(), 1) }()
	copying := func(context.Context) error {
		for _, line := range commandLines(t) {
			if strings.Contains(line, "rsync") && strings.Contains(line, m.options.Dir) {
				return nil
			}
		}
		return errors.New("there is no rsync")
	}
	expect.NoError(t, server.Until(timeLimit(t), 5*time.Millisecond, "a copy", copying))
	mustLeaveNothing(t, m)
	if err := <-ended; err == nil {
		t.Error("the node was started all the same")
	}
}
