package fault

import (
	"context"
	"fmt"

	"assay/cluster"
)

// removing takes a node out of the cluster in order; healing makes it a member
// again, with the data that it left with.
type removing struct {
	cluster *cluster.Cluster
	node    *cluster.Node
}

func (r *removing) act(ctx context.Context) error { return r.cluster.Remove(ctx, r.node) }

// proof is that the others do not count the node as a member, and that its
// server is gone.
func (r *removing) proof(ctx context.Context, _ bool) (sight, error) {
	member, text, err := membership(ctx, r.cluster, r.node)
	if err != nil {
		return sight{}, err
	}
	if r.node.Running() {
		return sight{text: text + "; its server runs"}, nil
	}
	return sight{proven: !member, text: text + "; its server is gone"}, nil
}

func (r *removing) undo(context.Context) error { return nil }

func (r *removing) confirm(ctx context.Context) (string, error) {
	n := r.node
	tries, err := tried(ctx, func() error { return r.cluster.Rejoin(ctx, n) })
	if err != nil {
		return "", err
	}
	member, text, err := membership(ctx, r.cluster, n)
	if err == nil && !member {
		err = fmt.Errorf("%s is no member: %s", n.Name(), text)
	}
	return fmt.Sprintf("%s serves again as process %d%s: %s", n.Name(), n.PID(), attempt(tries), text), err
}
