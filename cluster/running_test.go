package cluster

import (
	"errors"
	"os"
	"slices"
	"strings"
	"testing"

	"assay/cluster/server"
	"assay/internal/expect"
)

func startCluster(t *testing.T, text string) *Cluster {
	t.Helper()
	spec, err := ParseSpec(text)
	expect.NoError(t, err)
	c, err := Start(expect.Patiently(t), spec, Options{})
	expect.NoError(t, err)
	expect.AtEnd(t, c.Close)
	return c
}

// closesAll requires that no process of the record outlives the cluster.
func closesAll(t *testing.T, c *Cluster, r Record) {
	t.Helper()
	expect.NoError(t, c.Close())
	for _, n := range r.Nodes {
		if n.Process.Alive() {
			t.Errorf("%s is still there", n.Name)
		}
	}
}

func TestClusterGoesThroughItsLife(t *testing.T) {
	t.Parallel()
	c := startCluster(t, "mongodb:3,election=2s")
	if len(c.Nodes()) != 3 || c.Node("n2") == nil || c.Node("n4") != nil || c.Nodes()[2].Name() != "n3" {
		t.Fatalf("nodes %v", c.Nodes())
	}
	primary, err := c.Primary(expect.Patiently(t))
	expect.NoError(t, err)
	expect.NoError(t, primary.Kill())
	if primary.Running() {
		t.Error("it runs after Kill")
	}
	second, err := c.Primary(expect.Patiently(t))
	if err != nil || second.Name() == primary.Name() {
		t.Fatalf("primary %v, %v", second, err)
	}
	before := primary.PID()
	expect.NoError(t, primary.Start(expect.Patiently(t)))
	expect.NoError(t, c.Settled(expect.Patiently(t)))
	r := recordOf(t, c.ID())
	at := slices.IndexFunc(r.Nodes, func(n NodeRecord) bool { return n.Name == primary.Name() })
	if at < 0 || r.Nodes[at].Process.PID == before || r.Nodes[at].Process.PID != primary.PID() || !r.Nodes[at].Process.Alive() {
		t.Errorf("the record does not know that %s is another process now: %+v", primary.Name(), r.Nodes)
	}
	if r.Spec != "mongodb:3,election=2s" || r.Kept || !r.Owner.Alive() || r.Address != c.Address() {
		t.Errorf("record %+v", r)
	}
	var owned *OwnedError
	if err := r.Remove(t.Context()); !errors.As(err, &owned) {
		t.Errorf("the remains of a living cluster were removed: %v", err)
	}
	closesAll(t, c, r)
	if _, err := os.Stat(r.Folder); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("folder %s: %v", r.Folder, err)
	}
}

func recordOf(t *testing.T, id string) Record {
	t.Helper()
	records, err := Records()
	expect.NoError(t, err)
	for _, r := range records {
		if r.ID == id {
			return r
		}
	}
	t.Fatalf("no record of cluster %s", id)
	return Record{}
}

// TestRemainsOfAnotherFolderAreLeftAlone: while all servers are killed, an assay with another
// folder of records must not take the cluster's network for leftovers.
func TestRemainsOfAnotherFolderAreLeftAlone(t *testing.T) {
	t.Parallel()
	c := startCluster(t, "postgres:1")
	expect.NoError(t, c.Node("n1").Kill())
	if err := RemoveOrphan(c.ID()); !errors.As(err, new(*InUseError)) {
		t.Errorf("the network of a living cluster whose server is killed: %v", err)
	}
	expect.NoError(t, c.Node("n1").Start(expect.Patiently(t)))
}

func TestTwoClustersAtOnce(t *testing.T) {
	t.Parallel()
	first, second := startCluster(t, "mongodb:1"), startCluster(t, "mongodb:1")
	if first.ID() == second.ID() || first.Address() == second.Address() {
		t.Errorf("both are %s at %s", first.ID(), first.Address())
	}
	expect.NoError(t, first.Close())
	if _, err := second.Primary(expect.Patiently(t)); err != nil {
		t.Errorf("the end of one was the end of the other: %v", err)
	}
}

func TestMissingProgramLeavesNothing(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	t.Setenv("ASSAY_SERVERS", t.TempDir())
	spec, err := ParseSpec("mongodb:3")
	expect.NoError(t, err)
	c, err := Start(t.Context(), spec, Options{})
	var missing *server.MissingError
	if !errors.As(err, &missing) || !strings.Contains(err.Error(), "install-servers.sh") {
		t.Errorf("%v, %v", c, err)
	}
	records, err := Records()
	expect.NoError(t, err)
	for _, r := range records {
		if r.Owner.PID == os.Getpid() {
			t.Errorf("left: %+v", r)
		}
	}
}
