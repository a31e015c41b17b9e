package fault

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"assay/cluster"
)

func grow() Action {
	return Action{Name: "grow", Targets: []string{"cluster"}, Lasts: true, Resizes: true, part: partProcess, state: "being added", restarts: true,
		Effect: "adds a node that is new; healing removes it in order, and its data",
		choose: func(string, []member, string, *rand.Rand) (choice, error) { return choice{}, nil },
		check:  checkResizable,
		on:     func(t task) (injector, error) { return &addition{cluster: t.cluster, acquire: t.acquire}, nil }}
}

// addition adds a node to the cluster. Healing removes it for good.
type addition struct {
	cluster *cluster.Cluster
	acquire acquirer
	node    *cluster.Node // nil before it is added
	took    time.Duration
}

func (a *addition) inject(ctx context.Context) (err error) {
	began := time.Now()
	a.node, err = a.cluster.Grow(ctx)
	a.took = time.Since(began)
	return err
}

func (a *addition) tell(i *Injection) {
	if a.node != nil {
		i.Nodes = []string{a.node.Name()}
	}
}

// verify checks that the servers count the node as a member in step.
func (a *addition) verify(ctx context.Context, _ bool) (observation, error) {
	if a.node == nil {
		return observation{text: "no node was added"}, nil
	}
	member, text, err := membership(ctx, a.cluster, a.node)
	return observation{proven: member, text: fmt.Sprintf("%s was added in %.1f s: %s", a.node.Name(), a.took.Seconds(), text)}, err
}

func (a *addition) undo(context.Context) error { return nil }

func (a *addition) restore(ctx context.Context) (string, error) {
	n := a.node
	if n == nil {
		return "there is no node to remove", nil
	}
	release, err := awaitAcquired(ctx, a.acquire, n.Name())
	if err != nil {
		return "", err
	}
	defer release()
	if _, err := retry(ctx, func() error { return a.cluster.Remove(ctx, n) }); err != nil {
		return "", err
	}
	member, text, err := membership(ctx, a.cluster, n)
	if err == nil && member {
		err = fmt.Errorf("%s is still a member: %s", n.Name(), text)
	}
	return n.Name() + " was removed: " + text, errors.Join(err, a.cluster.Discard(n))
}

func remove() Action {
	return Action{Name: "remove", Targets: []string{TargetPrimary, TargetSecondary, TargetAny, aNode}, Lasts: true, Resizes: true, part: partProcess, state: "removed", silences: true, restarts: true,
		Effect: "takes the node out of the cluster in order and ends its server; healing makes it a member again, with its data",
		fits:   twoWithData,
		check:  checkResizable,
		on:     func(t task) (injector, error) { return &removal{cluster: t.cluster, node: t.nodes[0]}, nil }}
}

func twoWithData(f Fault, members []member) error {
	if len(holders(ofRole("", members))) < 2 {
		return &TargetError{Fault: f, Problem: "there is only one node with data, and it cannot leave", Want: "more nodes"}
	}
	return nil
}

// removal removes a node in order. Healing makes it a member again, with the data it left with.
type removal struct {
	cluster *cluster.Cluster
	node    *cluster.Node
}

func (r *removal) inject(ctx context.Context) error { return r.cluster.Remove(ctx, r.node) }

// verify checks that the others do not count the node as a member, and that its server is gone.
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

func checkResizable(f Fault, c *cluster.Cluster) error {
	return needs((*cluster.Cluster).Resizable, "take a replica set of MongoDB or a Galera cluster of MariaDB, or stop and kill instead")(f, c)
}

// awaitAcquired waits until no other fault has the node's server.
func awaitAcquired(ctx context.Context, acquire acquirer, node string) (release func(), err error) {
	for {
		if release, free := acquire(node); free {
			return release, nil
		}
		if !sleepUntil(ctx, time.Now().Add(50*time.Millisecond)) {
			return nil, fmt.Errorf("%s is under another fault: %w", node, ctx.Err())
		}
	}
}

const membershipBound = 30 * time.Second

func membership(ctx context.Context, c *cluster.Cluster, n *cluster.Node) (member bool, text string, err error) {
	ctx, cancel := context.WithTimeout(ctx, membershipBound)
	defer cancel()
	for {
		member, text, err = c.Membership(ctx, n)
		if err == nil || !sleepUntil(ctx, time.Now().Add(100*time.Millisecond)) {
			return member, text, err
		}
	}
}
