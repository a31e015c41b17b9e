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

// Fixed says why the members cannot change, by a *server.FixedError. The members
// of a Galera cluster can.
func (m *Cluster) Fixed() error {
	if m.provider == "" {
		return &server.FixedError{Product: "mariadb:1", Reason: "a single server is no Galera cluster; take mariadb:3"}
	}
	return nil
}

// CheckReplace implements cluster's replacing: a node of a Galera cluster without data gets a state
// snapshot transfer.
func (m *Cluster) CheckReplace() error { return m.Fixed() }

// Data implements it.
func (m *Cluster) Data(i int) string { return m.nodes.At(i).data() }

// Grow starts one more node, which copies everything from another one (a state
// snapshot transfer), and returns its number when it is a member in step. After
// an error it is gone.
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

// Shrink stops node i in order: it tells the others that it leaves, and they
// count one member less, for which it waits. The last node that runs is refused, since the data of
// others may be older.
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

// agree waits until the nodes that run count one another and nobody else.
func (m *Cluster) agree(ctx context.Context, i int) error {
	return server.Until(ctx, 50*time.Millisecond, "the others to agree on their members", func(ctx context.Context) error {
		_, _, err := m.Membership(ctx, i)
		return err
	})
}

// Rejoin starts node i again with the data that it left with; it gets what it
// has missed.
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

// Membership reports whether node i is a member in step, by the sizes of the cluster (wsrep_cluster_size)
// that the nodes report: all of them have to count those that run, and the node
// has to be one of these or not.
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
