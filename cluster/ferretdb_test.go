//go:build ferretdb

package cluster

import (
	"testing"

	"assay/internal/expect"
)

// TestFerretDB: one server that assay starts, as `make ferretdb` has built it.
func TestFerretDB(t *testing.T) { liveAlone(t, "ferretdb:1") }

// TestFerretDBBeforePostgreSQL: the node is the PostgreSQL server, and FerretDB the proxy, which can be ended
// and comes back as the node can.
func TestFerretDBBeforePostgreSQL(t *testing.T) {
	const spec = "ferretdb:1,backend=postgres"
	liveAlone(t, spec)
	c := startCluster(t, spec)
	proxy := c.Node(RoleProxy)
	if proxy == nil || c.Address() != "mongodb://"+proxy.Address()+"/" {
		t.Fatalf("clients reach %s, and the proxy is %+v", c.Address(), proxy)
	}
	expect.NoError(t, proxy.Kill(), c.Settled(timeLimit(t)), proxy.Start(timeLimit(t)), c.Settled(timeLimit(t)), proxy.Pause(), proxy.Resume(), c.Close())
}
