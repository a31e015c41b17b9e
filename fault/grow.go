package fault

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"assay/cluster"
)

// growing adds a node to the cluster; healing removes it for good.
type growing struct {
	cluster *cluster.Cluster
	take    taker

	mu   sync.Mutex
	node *cluster.Node // the one that was added, nil before
	took time.Duration
}

// adder is a deed that adds nodes.
type adder interface {
	// added are the names of those that it has added so far.
	added() []string
}

func (g *growing) act(ctx context.Context) error {
	began := time.Now()
	n, err := g.cluster.Grow(ctx)
	g.mu.Lock()
	defer g.mu.Unlock()
	g.node, g.took = n, time.Since(began)
	return err
}

func (g *growing) added() []string {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.node == nil {
		return nil
	}
	return []string{g.node.Name()}
}

// proof is that the servers count the node as a member in step.
func (g *growing) proof(ctx context.Context, _ bool) (sight, error) {
	if g.node == nil {
		return sight{text: "no node was added"}, nil
	}
	member, text, err := membership(ctx, g.cluster, g.node)
	if err != nil {
		return sight{}, err
	}
	return sight{proven: member, text: fmt.Sprintf("%s was added in %.1f s: %s", g.node.Name(), g.took.Seconds(), text)}, nil
}

func (g *growing) undo(context.Context) error { return nil }

func (g *growing) confirm(ctx context.Context) (string, error) {
	n := g.node
	if n == nil {
		return "there is no node to remove", nil
	}
	release, err := seize(ctx, g.take, n.Name())
	if err != nil {
		return "", err
	}
	defer release()
	if err := g.cluster.Remove(ctx, n); err != nil {
		return "", err
	}
	member, text, err := membership(ctx, g.cluster, n)
	if err == nil && member {
		err = fmt.Errorf("%s is still a member: %s", n.Name(), text)
	}
	return n.Name() + " was removed: " + text, errors.Join(err, g.cluster.Discard(n))
}

// seize waits until no other fault has the node's server, which ends when that
// is healed.
func seize(ctx context.Context, take taker, node string) (release func(), err error) {
	for {
		if release, free := take(node); free {
			return release, nil
		}
		if !sleepUntil(ctx, time.Now().Add(50*time.Millisecond)) {
			return nil, fmt.Errorf("%s is under another fault: %w", node, ctx.Err())
		}
	}
}

// membershipBound is how long the servers may take to agree on their members.
const membershipBound = 30 * time.Second

// membership asks the servers until they agree.
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
