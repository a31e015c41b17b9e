package fault

import (
	"context"

	"assay/cluster"
)

// stop has servers end in order, as an administrator would.
func stop(nodes []*cluster.Node) injector {
	return newShutdown(nodes, func(ctx context.Context, n *cluster.Node) error { return n.Stop(ctx) })
}
