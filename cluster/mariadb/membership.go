package mariadb

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"assay/cluster/machine"
	"assay/cluster/server"
)

// Fixed returns a *server.FixedError unless this is a Galera cluster.
func (m *Cluster) Fixed() error {
	if m.provider == "" {
		return &server.FixedError{Product: "mariadb:1", Reason: "a single server is no Galera cluster; take mariadb:3"}
	}
	return nil
}

// CheckReplace is nil for a Galera cluster, where an empty node gets a state snapshot transfer.
func (m *Cluster) CheckReplace() error { return m.Fixed() }

// Data is the folder of node i's data.
func (m *Cluster) Data(i int) string { return m.nodes.At(i).data() }

// Grow starts a node, which copies everything from another (a state snapshot transfer), and returns
// its number when it is in step. After an error it is gone.
func (m *Cluster) Grow(ctx context.Context, at *machine.Machine) (int, error) {
	node, err := m.makeNode(at)
	if err != nil {
		return 0, err
	}
	node.Changing.Lock()
	defer node.Changing.Unlock()
	if err := m.start(ctx, node, startOptions{}); err != nil {
		node.Left.Store(true)
		return 0, errors.Join(fmt.Errorf("add %s: %w", node.Name, err), node.Discard())
	}
	return node.Number, nil
}

// Shrink stops node i in order, so that it announces its leaving, and waits until the others count
// one member less. It refuses the last running node, since others' data may be older.
func (m *Cluster) Shrink(ctx context.Context, i int) error {
	node := m.nodes.At(i)
	node.Changing.Lock()
	defer node.Changing.Unlock()
	if node.Running() && !m.othersRun(node) {
		return fmt.Errorf("take %s out: %w", node.Name, server.ErrLastNode)
	}
	if err := node.Halt(ctx); err != nil {
		return err
	}
	node.Left.Store(true)
	return m.agree(ctx, i)
}

func (m *Cluster) agree(ctx context.Context, i int) error {
	return server.Until(ctx, 50*time.Millisecond, "the others to agree on their members", func(ctx context.Context) error {
		_, _, err := m.Membership(ctx, i)
		return err
	})
}

// Rejoin starts node i with its old data; it gets what it missed.
func (m *Cluster) Rejoin(ctx context.Context, i int) error {
	node := m.nodes.At(i)
	node.Left.Store(false)
	if node.Running() {
		return m.await(ctx, node)
	}
	if err := m.Restart(ctx, i); err != nil {
		node.Left.Store(true)
		return err
	}
	return nil
}

// Membership reports whether node i is a member in step. All running nodes must report their own
// number as the cluster's size (wsrep_cluster_size), and node i must be running.
func (m *Cluster) Membership(ctx context.Context, i int) (bool, string, error) {
	node := m.nodes.At(i)
	running := 0
	for _, n := range m.nodes.All() {
		if n.Running() {
			running++
		}
	}
	member := node.Running()
	var counts []string
	var differ error
	for _, n := range m.nodes.All() {
		if !n.Running() {
			continue
		}
		state, err := m.ask(ctx, n)
		if err != nil {
			return false, "", fmt.Errorf("%s: %w", n.Name, err)
		}
		counts = append(counts, fmt.Sprintf("n%d counts %d members", n.Number+1, state.size))
		if state.size != running {
			differ = fmt.Errorf("%d nodes run, but %s", running, strings.Join(counts, ", "))
		}
		if n == node {
			member = state.ready() == nil
		}
	}
	if differ != nil {
		return false, "", differ
	}
	text := strings.Join(counts, ", ")
	if member {
		return true, text + fmt.Sprintf("; %s is one of them and in step", node.Address()), nil
	}
	return false, text + fmt.Sprintf("; %s is not one of them", node.Address()), nil
}
