package cluster

import (
	"context"
	"errors"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"assay/cluster/server"
	"assay/internal/expect"
)

// mustMember requires the servers' report about the node's membership.
func mustMember(t *testing.T, c *Cluster, n *Node, want bool, says string) {
	t.Helper()
	member, text, err := c.Membership(expect.Patiently(t), n)
	if err != nil || member != want || !strings.Contains(text, says) {
		t.Errorf("%s is a member: %v, %q, %v; want %v, %q", n.Name(), member, text, err, want, says)
	}
	if (c.Node(n.Name()) == n) != want || n.Member() != want {
		t.Errorf("%s among the nodes: %v", n.Name(), !want)
	}
	recorded := false
	for _, r := range recordOf(t, c.ID()).Nodes {
		recorded = recorded || r.Name == n.Name() && r.Process.PID == n.PID() && r.Address == n.Machine().Address().String()
	}
	if recorded != want {
		t.Errorf("%s in the record: %v", n.Name(), recorded)
	}
}

func TestMongoDBSetGrowsAndShrinks(t *testing.T) {
	t.Parallel()
	c := startCluster(t, "mongodb:3,election=2s,shutdown=200ms")
	address := c.Address()
	all := documents(t, address)
	insertDocument(t, all, 1)
	began := time.Now()
	added, err := c.Grow(expect.Patiently(t))
	expect.NoError(t, err)
	t.Logf("grew in %v", time.Since(began))
	if added.Name() != "n4" || added.Arbiter() || c.Address() != address || len(c.Nodes()) != 4 || !added.Running() {
		t.Errorf("%+v of %v, address %s", added, c.Nodes(), c.Address())
	}
	mustMember(t, c, added, true, "4 members")
	config := members(t, all)
	if n := config[len(config)-1]; len(config) != 4 || n.Votes != 1 || n.Priority != 1 {
		t.Errorf("the new member has no vote: %+v", config)
	}
	// The new node itself holds earlier writes.
	wantDocuments(t, documents(t, "mongodb://"+added.Address()+"/?directConnection=true&readPreference=nearest"), 1)

	// A primary steps down before its removal.
	primary, err := c.Primary(expect.Patiently(t))
	expect.NoError(t, err)
	expect.NoError(t, c.Remove(expect.Patiently(t), primary))
	if primary.Running() {
		t.Error("it runs after Remove")
	}
	mustMember(t, c, primary, false, "3 members, not "+primary.Machine().Address().String())
	var gone *MemberError
	if err := primary.Start(expect.Patiently(t)); !errors.As(err, &gone) {
		t.Errorf("a removed node is started: %v", err)
	}
	if err := c.Remove(expect.Patiently(t), primary); !errors.As(err, &gone) {
		t.Errorf("a removed node is removed: %v", err)
	}
	if second, err := c.Primary(expect.Patiently(t)); err != nil || second == primary {
		t.Errorf("the next primary is %v, %v", second, err)
	}
	insertDocument(t, all, 2)
	expect.NoError(t, c.Rejoin(expect.Patiently(t), primary))
	mustMember(t, c, primary, true, "4 members")
	expect.NoError(t, c.Settled(expect.Patiently(t)))

	if err := c.Discard(added); err == nil {
		t.Error("a member was discarded")
	}
	expect.NoError(t, c.Remove(expect.Patiently(t), added))
	expect.NoError(t, c.Discard(added))
	mustMember(t, c, added, false, "3 members")
	if err := c.Rejoin(expect.Patiently(t), added); !errors.Is(err, os.ErrClosed) {
		t.Errorf("a discarded node joins: %v", err)
	}
	if server.Exists(added.server.Dir) {
		t.Error("its data is still there")
	}
	insertDocument(t, all, 3)
	wantDocuments(t, all, 3)

	// Names are not used again, and an interrupted addition changes nothing.
	ctx, cancel := context.WithCancel(expect.Patiently(t))
	var watch sync.WaitGroup
	watch.Go(func() {
		defer cancel()
		for ctx.Err() == nil && len(members(t, all)) == 3 {
			time.Sleep(time.Millisecond)
		}
	})
	n, err := c.Grow(ctx)
	cancel()
	watch.Wait()
	if !errors.Is(err, context.Canceled) {
		t.Errorf("grown after its context's end: %v, %v", n, err)
	}
	if config := members(t, all); len(config) != 3 || len(c.Nodes()) != 3 {
		t.Errorf("%+v, nodes %v", config, c.Nodes())
	}
	again, err := c.Grow(expect.Patiently(t))
	if err != nil || again.Name() != "n6" {
		t.Errorf("%v, %v", again, err)
	}
}

func TestTheLastNodeIsNotRemoved(t *testing.T) {
	t.Parallel()
	c := startCluster(t, "mongodb:1,network=loopback,shutdown=200ms")
	if err := c.Remove(expect.Patiently(t), c.Node("n1")); !errors.Is(err, server.ErrLastNode) {
		t.Errorf("%v", err)
	}
	mustMember(t, c, c.Node("n1"), true, "1 members")
	n, err := c.Grow(expect.Patiently(t))
	expect.NoError(t, err)
	mustMember(t, c, n, true, "2 members")
	if n.Port() == c.Node("n1").Port() {
		t.Error("two servers on one port")
	}
	expect.NoError(t, c.Close())
	if _, err := c.Grow(expect.Patiently(t)); !errors.Is(err, os.ErrClosed) {
		t.Errorf("grown after Close: %v", err)
	}
}

func TestGaleraGrowsAndShrinks(t *testing.T) {
	t.Parallel()
	c := startCluster(t, "mariadb:3,failover=2s,cache=32MiB")
	address, first := c.Address(), c.Node("n1")
	executeSQL(t, first, "CREATE DATABASE probe")
	executeSQL(t, first, "CREATE TABLE probe.t (id INT PRIMARY KEY)")
	insertRow(t, first, 1)
	began := time.Now()
	added, err := c.Grow(expect.Patiently(t))
	expect.NoError(t, err)
	t.Logf("grew in %v", time.Since(began))
	if added.Name() != "n4" || c.Address() != address {
		t.Errorf("%s, address %s", added.Name(), c.Address())
	}
	mustMember(t, c, added, true, "n1 counts 4 members")
	insertRow(t, added, 2)
	wantRows(t, c, "1,2")

	second := c.Node("n2")
	expect.NoError(t, c.Remove(expect.Patiently(t), second))
	mustMember(t, c, second, false, "n4 counts 3 members")
	insertRow(t, added, 3)
	wantRows(t, c, "1,2,3")
	expect.NoError(t, c.Rejoin(expect.Patiently(t), second))
	mustMember(t, c, second, true, "n2 counts 4 members")
	wantRows(t, c, "1,2,3")
	expect.NoError(t, c.Remove(expect.Patiently(t), added))
	if err := c.Discard(added); err != nil || server.Exists(added.server.Dir) {
		t.Errorf("discarded: %v", err)
	}
	mustMember(t, c, added, false, "n1 counts 3 members")

	// All start at the same time: one begins the cluster anew, and none asks the removed node.
	for _, n := range c.Nodes() {
		expect.NoError(t, n.Kill())
	}
	var all sync.WaitGroup
	for _, n := range c.Nodes() {
		all.Go(func() {
			if err := n.Start(expect.Patiently(t)); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	wantRows(t, c, "1,2,3")
}
