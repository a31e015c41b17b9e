package fault

import (
	"context"

	"assay/cluster"
)

// kill ends servers as a power cut would.
func kill(nodes []*cluster.Node) injector {
	return newShutdown(nodes, func(_ context.Context, n *cluster.Node) error { return n.Kill() })
}
