package cluster

import (
	"context"
	"testing"
	"time"

	"assay/internal/expect"
)

// TestAnEmptiedNodeIsForgottenLater: the others, without a majority, cannot take it for a new one
// when it is emptied. Its start has them do so.
func TestAnEmptiedNodeIsForgottenLater(t *testing.T) {
	t.Parallel()
	c := startCluster(t, "etcd:3")
	n2, n3 := c.Node("n2"), c.Node("n3")
	expect.NoError(t, n2.Kill(), n3.Kill())
	bounded, cancel := context.WithTimeout(t.Context(), 3*time.Second)
	defer cancel()
	text, err := n3.Empty(bounded)
	expect.NoError(t, err)
	expect.Text(t, "what was done", text, "were removed", "do not take it for a new node yet")
	ctx := expect.Patiently(t)
	expect.NoError(t, n2.Start(ctx), n3.Start(ctx), c.Settled(ctx))
	member := false
	for _, n := range c.Nodes() {
		member = member || n == n3 && n.Running()
	}
	if !member {
		t.Error("it does not run")
	}
}
