package cluster

import (
	"slices"
	"strings"
	"testing"

	"assay/internal/expect"
)

// TestPoolerInFrontOfAPrimary: clients use one address, also after the pooler and the server were
// down.
func TestPoolerInFrontOfAPrimary(t *testing.T) {
	t.Parallel()
	c := startCluster(t, "postgres:2,pooler=pgbouncer,pool_size=5")
	front := c.Node(RolePooler)
	if front == nil || slices.Contains(c.Nodes(), front) || len(c.Servers()) != 3 || !front.Member() || front.Name() != RolePooler {
		t.Fatalf("%+v among %v", front, c.Servers())
	}
	if p := c.Pooling(); p == nil || p.Address != front.Address() || p.Mode != "transaction" || p.Size != 5 || !strings.Contains(p.Program, "PgBouncer") {
		t.Errorf("%+v", p)
	}
	if !strings.Contains(c.Address(), "@"+front.Address()+"/") || front.Port() >= 32768 {
		t.Errorf("clients go to %s, and the pooler is at %s", c.Address(), front.Address())
	}
	awaitWrite(t, c)
	primary, err := c.Primary(expect.Patiently(t))
	expect.NoError(t, err)
	expect.NoError(t, front.Kill(), primary.Kill())
	expect.NoError(t, front.Start(expect.Patiently(t)), primary.Start(expect.Patiently(t)), c.Settled(expect.Patiently(t)))
	awaitWrite(t, c)
	r := recordOf(t, c.ID())
	if len(r.Nodes) != 3 || r.Nodes[2].Name != RolePooler || r.Nodes[2].Process.PID != front.PID() {
		t.Errorf("the record has %+v", r.Nodes)
	}
	closesAll(t, c, r)
}
