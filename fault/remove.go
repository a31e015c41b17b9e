package fault

import (
	"context"
	"fmt"

	"assay/cluster"
)

// removal takes a node out of the cluster in order; healing makes it a member
// again, with the data that it left with.
type removal struct {
	cluster *cluster.Cluster
	node    *cluster.Node
}

func (r *removal) inject(ctx context.Context) error { return r.cluster.Remove(ctx, r.node) }

// verify is that the others do not count the node as a member, and that its
// server is gone.
func (r *removal) verify(ctx context.Context, _ bool) (observation, error) {
	member, text, err := membership(ctx, r.cluster, r.node)
	if err != nil {
		return observation{}, err
	}
	if r.node.Running() {
		return observation{text: text + "; its server runs"}, nil
	}
	return observation{proven: !member, text: text + "; its server is gone"}, nil
}

func (r *removal) undo(context.Context) error { return nil }

func (r *removal) restore(ctx context.Context) (string, error) {
	n := r.node
	tries, err := retry(ctx, func() error { return r.cluster.Rejoin(ctx, n) })
	if err != nil {
		return "", err
	}
	member, text, err := membership(ctx, r.cluster, n)
	if err == nil && !member {
		err = fmt.Errorf("%s is no member: %s", n.Name(), text)
	}
	return fmt.Sprintf("%s serves again as process %d%s: %s", n.Name(), n.PID(), tries, text), err
}
