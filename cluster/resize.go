package cluster

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"

	"assay/cluster/machine"
	"assay/cluster/server"
)

// resizable is a product whose running clusters can gain and lose members. A node keeps its number
// for ever. One of these methods runs at a time; the product's other methods may run meanwhile.
type resizable interface {
	product
	// Fixed says why the members cannot change; nil if they can.
	Fixed() error
	// Grow starts a node and returns its number when it holds all data. After an error it is gone.
	Grow(ctx context.Context, at *machine.Machine) (int, error)
	// Shrink removes node i in order and stops it. After an error its membership is unknown.
	Shrink(ctx context.Context, i int) error
	// Rejoin makes node i a full member with all data, whatever Shrink has left.
	Rejoin(ctx context.Context, i int) error
	// Membership asks the servers whether node i is a member in step; text quotes them.
	Membership(ctx context.Context, i int) (member bool, text string, err error)
}

// MemberError means that a node is not a member of its cluster.
type MemberError struct{ Node string }

func (e *MemberError) Error() string { return e.Node + " is no member of its cluster" }

// Resizable is nil if nodes can be added and removed, and else a *server.FixedError.
func (c *Cluster) Resizable() error {
	r, is := c.product.(resizable)
	if !is {
		return &server.FixedError{Product: c.spec.Product, Reason: "assay knows no way to do it"}
	}
	return r.Fixed()
}

// resizing waits until no other change of the members runs. The caller must call done.
func (c *Cluster) resizing(ctx context.Context) (r resizable, done func(), err error) {
	if err := c.Resizable(); err != nil {
		return nil, nil, err
	}
	select {
	case c.changing <- struct{}{}:
		if c.ended {
			<-c.changing
			return nil, nil, fmt.Errorf("change the members: %w", os.ErrClosed)
		}
		return c.product.(resizable), func() { <-c.changing }, nil
	case <-ctx.Done():
		return nil, nil, fmt.Errorf("wait for another change of the members: %w", ctx.Err())
	}
}

// Grow adds a node on a machine of its own and returns it when it is a full member that holds all
// data. Its name was never used before, and the cluster's Address stays the same. Changes of the
// members run one at a time. A cluster that cannot change returns a *server.FixedError. After an
// error the members are as before, unless the error says otherwise.
func (c *Cluster) Grow(ctx context.Context) (*Node, error) {
	r, done, err := c.resizing(ctx)
	if err != nil {
		return nil, err
	}
	defer done()
	nodes, _ := c.machinesByRole()
	at, err := c.machines.Add("n" + strconv.Itoa(len(nodes)+1))
	if err != nil {
		return nil, fmt.Errorf("grow %s: %w", c.spec, err)
	}
	if err := c.addDisk(ctx, at); err != nil {
		return nil, fmt.Errorf("grow %s by %s: %w", c.spec, at.Name(), err)
	}
	number, err := r.Grow(ctx, at)
	if err != nil {
		return nil, fmt.Errorf("grow %s by %s: %w", c.spec, at.Name(), err)
	}
	n := &Node{cluster: c, server: r.Node(number), machine: at, number: number}
	c.enter(n)
	return n, errors.Join(c.syncDisks(), c.record(c.kept()))
}

// Remove takes a node out of the membership in order, then stops it. It keeps its data and can
// Rejoin; until then it is not among Nodes and cannot be started. After an error it stays among
// them, whatever the servers think.
func (c *Cluster) Remove(ctx context.Context, n *Node) error {
	r, done, err := c.resizing(ctx)
	if err != nil {
		return err
	}
	defer done()
	if !n.Member() {
		return &MemberError{Node: n.Name()}
	}
	if err := r.Shrink(ctx, n.number); err != nil {
		return fmt.Errorf("remove %s: %w", n.Name(), err)
	}
	c.leave(n)
	return c.record(c.kept())
}

// Rejoin makes a removed node a full member again, also after a Remove that failed halfway. A
// discarded node cannot rejoin.
func (c *Cluster) Rejoin(ctx context.Context, n *Node) error {
	r, done, err := c.resizing(ctx)
	if err != nil {
		return err
	}
	defer done()
	if err := r.Rejoin(ctx, n.number); err != nil {
		return fmt.Errorf("rejoin %s: %w", n.Name(), err)
	}
	c.enter(n)
	return c.record(c.kept())
}

// Discard removes the data of a removed node for good.
func (c *Cluster) Discard(n *Node) error {
	_, done, err := c.resizing(context.Background())
	if err != nil {
		return err
	}
	defer done()
	if n.Member() {
		return fmt.Errorf("discard %s: it is a member; remove it first", n.Name())
	}
	n.server.Changing.Lock()
	defer n.server.Changing.Unlock()
	if err := errors.Join(n.server.Discard(), ignoreMissing(os.Remove(n.Log()))); err != nil {
		return fmt.Errorf("discard %s: %w", n.Name(), err)
	}
	return nil
}

// Membership asks the servers whether the node is a member in step; text quotes them.
func (c *Cluster) Membership(ctx context.Context, n *Node) (member bool, text string, err error) {
	if err := c.Resizable(); err != nil {
		return false, "", err
	}
	return c.product.(resizable).Membership(ctx, n.number)
}

func ignoreMissing(err error) error {
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	return err
}
