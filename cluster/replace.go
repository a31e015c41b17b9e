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
// returns when the node has copied everything from the others. If these do not take it for a new
// node yet, as without a majority, Start has them do so first.
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
	if err != nil {
		return "", fmt.Errorf("empty %s: %w", n.Name(), err)
	}
	text = fmt.Sprintf("%d files of %s were removed", files, quantity.Bytes(bytes))
	n.emptied = true
	if err := n.forget(ctx); err != nil {
		text += fmt.Sprintf(" (the others do not take it for a new node yet: %v)", err)
	}
	return text, nil
}

// forget has the others take an emptied node for a new one, if that is left to do. Changing must be
// held.
func (n *Node) forget(ctx context.Context) error {
	f, is := behind[forgetting](n.cluster.product)
	if !is || !n.emptied {
		return nil
	}
	if err := f.Forget(ctx, n.number); err != nil {
		return err
	}
	n.emptied = false
	return nil
}
