package fault

import (
	"context"
	"time"

	"assay/cluster"
)

// replace is the loss of a node's machine for good: a new one of its name comes without data.
func replace() Action {
	return Action{Name: "replace", Targets: []string{TargetPrimary, TargetSecondary, TargetAny, aNode}, Lasts: true, Kills: true, Empties: true, part: partProcess, state: "being replaced", silences: true, restarts: true,
		Effect: "ends the server as a power cut would and removes all its data; healing starts it empty, and it is healed once it is a full member that has got everything from the others",
		fits:   twoWithData,
		check:  needs((*cluster.Cluster).CheckReplace, "take mongodb, mariadb with Galera, mysql in a group, patroni, pg-auto-failover, repmgr, etcd or redis with Sentinel, of two nodes or more"),
		on: func(t task) (injector, error) {
			return onEach(t.nodes, func(n *cluster.Node) oneNode { return &emptiedNode{endedNode: endedNode{Node: n}} }), nil
		}}
}

// replaceBound multiplies the time to heal, since the data to copy may be large.
const replaceBound = 10

type emptiedNode struct {
	endedNode
	removed string // what was removed; empty before
}

func (n *emptiedNode) inject(ctx context.Context) (err error) {
	n.end = func(_ context.Context, node *cluster.Node) error { return node.Kill() }
	if err := n.endedNode.inject(ctx); err != nil {
		return err
	}
	n.removed, err = n.Empty(ctx)
	return err
}

func (n *emptiedNode) verify(ctx context.Context, last bool) (observation, error) {
	seen, err := n.endedNode.verify(ctx, last)
	if seen.proven = seen.proven && n.removed != ""; seen.proven {
		seen.text += "; " + n.removed
	}
	return seen, err
}

// restore starts the server, which takes as long as copying the data.
func (n *emptiedNode) restore(ctx context.Context) (string, error) {
	began := time.Now()
	text, err := n.endedNode.restore(ctx)
	if err == nil && n.removed != "" {
		text += ", with all data again after " + time.Since(began).Round(100*time.Millisecond).String()
	}
	return text, err
}
