package fault

import (
	"context"

	"assay/cluster"
)

// kill ends servers as a power cut would.
func kill(nodes []*cluster.Node) deed {
	return &downing{nodes: nodes, end: func(_ context.Context, n *cluster.Node) error { return n.Kill() }}
}
