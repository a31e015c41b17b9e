package cluster

import (
	"context"
	"errors"
	"fmt"

	"assay/cluster/server"
	"assay/internal/quantity"
)

// replacing is a product in which an empty node's Restart copies everything from the others.
type replacing interface {
	CheckReplace() error
	Data(i int) string
}

// forgetting is a product whose nodes take a node that comes back empty for a new one.
type forgetting interface {
	// Forget removes node i, which has ended and is empty, from the others' membership.
	Forget(ctx context.Context, i int) error
}

// CheckReplace is nil if a node can come back without its data.
func (c *Cluster) CheckReplace() error {
	r, is := behind[replacing](c.product)
	switch {
	case !is:
		return fmt.Errorf("an empty node of %s gets no data from the others by itself", c.spec.Product)
	case c.spec.Nodes < 2:
		return errors.New("there is no other node with data")
	}
	return r.CheckReplace()
}

// Empty removes all data of a node whose server has ended; text says how much. The next Start
// returns when the node has copied everything from the others.
func (n *Node) Empty(ctx context.Context) (text string, err error) {
	c := n.cluster
	if err := c.CheckReplace(); err != nil {
		return "", err
	}
	n.server.Changing.Lock()
	defer n.server.Changing.Unlock()
	if n.Running() {
		return "", fmt.Errorf("empty %s: it runs", n.Name())
	}
	r, _ := behind[replacing](c.product)
	files, bytes, err := server.Clear(r.Data(n.number))
	if f, is := behind[forgetting](c.product); is && err == nil {
		err = f.Forget(ctx, n.number)
	}
	if err != nil {
		return "", fmt.Errorf("empty %s: %w", n.Name(), err)
	}
	return fmt.Sprintf("%d files of %s were removed", files, quantity.Bytes(bytes)), nil
}
