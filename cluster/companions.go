package cluster

import (
	"context"
	"errors"
	"slices"

	"assay/cluster/server"
)

// companion runs servers beside the nodes of a product. Its methods are safe for concurrent use.
type companion interface {
	Nodes() []*server.Node
	Restart(ctx context.Context, i int, env ...string) error
	// Settled returns when the running servers do their work.
	Settled(ctx context.Context) error
	Close() error
}

// joined is a product with servers beside its nodes that a companion runs.
type joined struct {
	product
	with  companion
	first int // the number of the first of its servers
	// needed is true if the product needs the companion; else the companion needs the product.
	needed bool
}

func (j joined) behind() product { return j.product }

func (j joined) Beside() (all []*server.Node) {
	if behind, is := j.product.(accompanied); is {
		all = behind.Beside()
	}
	return append(slices.Clone(all), j.with.Nodes()...)
}

func (j joined) Restart(ctx context.Context, i int, env ...string) error {
	if own := i - j.first; own >= 0 && own < len(j.with.Nodes()) {
		return j.with.Restart(ctx, own, env...)
	}
	return j.product.Restart(ctx, i, env...)
}

func (j joined) Parameter(ctx context.Context, i int, name string) (string, error) {
	return parameterOf(ctx, j.product, i, name)
}

func (j joined) HandOver(ctx context.Context, i int) error { return handOver(ctx, j.product, i) }

// Settled first waits for the side that the other needs.
func (j joined) Settled(ctx context.Context) error {
	settled := []func(context.Context) error{j.product.Settled, j.with.Settled}
	if j.needed {
		slices.Reverse(settled)
	}
	for _, wait := range settled {
		if err := wait(ctx); err != nil {
			return err
		}
	}
	return nil
}

func (j joined) Close() error {
	if j.needed {
		return errors.Join(j.product.Close(), j.with.Close())
	}
	return errors.Join(j.with.Close(), j.product.Close())
}

func (j joined) hosts(s Spec) string {
	var nodes []*server.Node
	for i := range s.Nodes {
		nodes = append(nodes, j.Node(i))
	}
	return server.Hosts(nodes)
}

type program interface {
	// Ready returns when a client of the program gets an answer from a server that takes writes.
	Ready(ctx context.Context) error
	Restart(ctx context.Context, env ...string) error
	Close() error
}

type front struct {
	program
	node *server.Node
}

func (f front) Nodes() []*server.Node { return []*server.Node{f.node} }

func (f front) Restart(ctx context.Context, _ int, env ...string) error {
	return f.program.Restart(ctx, env...)
}

// Settled returns at once if the program does not run.
func (f front) Settled(ctx context.Context) error {
	if !f.node.Running() {
		return nil
	}
	return f.Ready(ctx)
}
