package cluster

import (
	"context"
	"errors"
	"fmt"
	"time"

	"assay/cluster/server"
)

// switching is a product with a command for a planned change of its primary.
type switching interface {
	CheckSwitchOver() error
	// SwitchOver replaces node i as the primary by the product's command, perhaps with a delay.
	SwitchOver(ctx context.Context, i int) error
}

// behind finds in a product, or behind its companions, an optional interface.
func behind[T any](p product) (T, bool) {
	for {
		switch at := p.(type) {
		case interface{ behind() product }:
			p = at.behind()
		default:
			t, is := p.(T)
			return t, is
		}
	}
}

// CheckSwitchOver is nil if a command of the product can make another node the primary.
func (c *Cluster) CheckSwitchOver() error {
	s, is := behind[switching](c.product)
	switch {
	case !is:
		return fmt.Errorf("%s has no command for it", c.spec.Product)
	case c.spec.Nodes < 2:
		return errors.New("there is no other node with data")
	}
	return s.CheckSwitchOver()
}

// SwitchOver makes another node the primary in place of this one by the product's own command,
// waits for it, and returns the new primary.
func (n *Node) SwitchOver(ctx context.Context) (now *Node, err error) {
	c := n.cluster
	if err := c.CheckSwitchOver(); err != nil {
		return nil, err
	}
	s, _ := behind[switching](c.product)
	if err := s.SwitchOver(ctx, n.number); err != nil {
		return nil, fmt.Errorf("have another node take over from %s: %w", n.Name(), err)
	}
	err = server.Until(ctx, 50*time.Millisecond, "another primary than "+n.Name(), func(ctx context.Context) (err error) {
		if now, err = c.Primary(ctx); err == nil && now == n {
			err = errors.New("it is still the same")
		}
		return err
	})
	return now, err
}
