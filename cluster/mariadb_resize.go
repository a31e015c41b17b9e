package cluster

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"assay/cluster/machine"
)

var _ resizable = (*MariaDB)(nil)

// Fixed implements resizable: a Galera cluster can change.
func (m *MariaDB) Fixed() error {
	if m.provider == "" {
		return &FixedError{Product: "mariadb:1", Reason: "a single server is no Galera cluster; take mariadb:3"}
	}
	return nil
}

// Grow starts one more node, which copies everything from another one (a state
// snapshot transfer), and returns its number when it is a member in step. After
// an error it is gone.
func (m *MariaDB) Grow(ctx context.Context, at *machine.Machine) (int, error) {
	node, err := m.makeNode(at)
	if err != nil {
		return 0, err
	}
	node.mu.Lock()
	defer node.mu.Unlock()
	if err := m.start(ctx, node, startOptions{}); err != nil {
		node.removed.Store(true)
		return 0, errors.Join(fmt.Errorf("add %s: %w", node.name(), err), node.discard())
	}
	return node.number, nil
}

// Shrink stops node i in order: it tells the others that it leaves, and they
// count one member less, for which it waits. The last node that runs is refused, since the data of
// others may be older.
func (m *MariaDB) Shrink(ctx context.Context, i int) error {
	node := m.node(i)
	node.mu.Lock()
	defer node.mu.Unlock()
	if node.running() && !m.othersRun(node) {
		return fmt.Errorf("take %s out: %w", node.name(), errLastNode)
	}
	if err := m.stop(ctx, node); err != nil {
		return err
	}
	node.removed.Store(true)
	return m.agree(ctx, i)
}

// agree waits until the nodes that run count one another and nobody else.
func (m *MariaDB) agree(ctx context.Context, i int) error {
	return until(ctx, 50*time.Millisecond, "the others to agree on their members", func(ctx context.Context) error {
		_, _, err := m.Membership(ctx, i)
		return err
	})
}

// Rejoin starts node i again with the data that it left with; it gets what it
// has missed.
func (m *MariaDB) Rejoin(ctx context.Context, i int) error {
	node := m.node(i)
	node.removed.Store(false)
	if node.running() {
		return m.await(ctx, node)
	}
	if err := m.Restart(ctx, i); err != nil {
		node.removed.Store(true)
		return err
	}
	return nil
}

// Discard ends a node that has left and removes its data.
func (m *MariaDB) Discard(i int) error {
	node := m.node(i)
	node.mu.Lock()
	defer node.mu.Unlock()
	return node.discard()
}

func (n *mariaNode) discard() error {
	if err := n.end(); err != nil {
		return err
	}
	return os.RemoveAll(n.dir)
}

// Membership implements resizable by the sizes of the cluster (wsrep_cluster_size)
// that the nodes tell: all of them have to count those that run, and the node
// has to be one of these or not.
func (m *MariaDB) Membership(ctx context.Context, i int) (bool, string, error) {
	node := m.node(i)
	running := 0
	for _, n := range m.all() {
		if n.running() {
			running++
		}
	}
	member := node.running()
	var told []string
	var differ error
	for _, n := range m.all() {
		if !n.running() {
			continue
		}
		state, err := m.ask(ctx, n)
		if err != nil {
			return false, "", fmt.Errorf("%s: %w", n.name(), err)
		}
		told = append(told, fmt.Sprintf("n%d counts %d members", n.number+1, state.size))
		if state.size != running {
			differ = fmt.Errorf("%d nodes run, but %s", running, strings.Join(told, ", "))
		}
		if n == node {
			member = state.ready() == nil
		}
	}
	if differ != nil {
		return false, "", differ
	}
	text := strings.Join(told, ", ")
	if member {
		return true, text + fmt.Sprintf("; %s is one of them and in step", node.hostPort()), nil
	}
	return false, text + fmt.Sprintf("; %s is not one of them", node.hostPort()), nil
}
