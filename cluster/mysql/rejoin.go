package mysql

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"assay/cluster/binlog"
	"assay/internal/wait"
)

// leaveBound is long because a member without a majority has no peer to agree with.
const leaveBound = 2 * time.Minute

// tend does an operator's work until Close, because no member does it by itself. Nodes outside a
// group with a majority join it again. If no such group can exist, tend begins it anew (MySQL
// manual, "Restarting a Group").
func (m *Cluster) tend() {
	for wait.Pause(m.alive, tendEvery) == nil {
		views, failures := m.views(m.alive)
		var outside []int
		for i, v := range views {
			if !v.took() {
				outside = append(outside, i)
			}
		}
		switch {
		case together(views, len(failures)):
			for _, i := range outside {
				m.joinLater(i)
			}
		case len(views) == len(m.nodes) && 2*len(outside) >= len(m.nodes):
			m.beginAnew()
		}
	}
}

// together reports whether a group has a majority, by its members' own reports; silent nodes count
// as members. A member's report about others is no proof: a killed member that tries to join still
// looks like a member to them.
func together(views map[int]view, silent int) bool {
	members := silent
	for _, v := range views {
		if v.took() {
			members++
		}
	}
	for _, v := range views {
		if v.majority() && 2*members > v.size {
			return true
		}
	}
	return false
}

// joinLater works in the background. It fails until the group has expelled the node's former self.
func (m *Cluster) joinLater(i int) {
	node := m.nodes[i]
	if !node.joining.TryLock() {
		return
	}
	m.routines.Go(func() {
		defer node.joining.Unlock()
		if m.join(m.alive, node, false) == nil {
			m.announce(fmt.Sprintf("n%d has joined the group again", i+1))
			return
		}
		_ = wait.Pause(m.alive, retryAfter) // until the end at most
	})
}

// beginAnew begins the group with a member that has every transaction of any member (MySQL manual,
// "Restarting a Group"). All members answer, and less than a majority is in a group, which
// therefore commits nothing and cannot recover by itself. Acknowledged transactions are safe: their
// primary has executed them, and its data are among the members'.
func (m *Cluster) beginAnew() {
	for _, node := range m.nodes {
		if !node.joining.TryLock() {
			return
		}
		defer node.joining.Unlock()
	}
	best, err := m.furthest(m.alive)
	if err != nil {
		m.announceOnce("the group cannot be begun anew: %v", err)
		return // it is tried again soon
	}
	// Members that are still in a group without a majority must leave it first.
	for i, node := range m.nodes {
		if i == best {
			continue
		}
		if err := m.leave(m.alive, node); err != nil {
			m.announceOnce("the group cannot be begun anew, since n%d does not leave it: %v", i+1, err)
			return
		}
	}
	ctx, cancel := context.WithTimeout(m.alive, time.Minute)
	defer cancel()
	if err := m.join(ctx, m.nodes[best], true); err != nil {
		m.announceOnce("the group cannot be begun anew by n%d: %v", best+1, err)
		return
	}
	m.told = ""
	m.announce(fmt.Sprintf("no majority was left of the group: n%d, which has all that any member has, begins it anew", best+1))
}

// announceOnce does not repeat the last announcement. Only tend may call it.
func (m *Cluster) announceOnce(format string, values ...any) {
	if text := fmt.Sprintf(format, values...); text != m.told {
		m.told = text
		m.announce(text)
	}
}

// furthest is the first node that has executed or received all that any node has.
func (m *Cluster) furthest(ctx context.Context) (int, error) {
	sets := make([]string, len(m.nodes))
	for i, node := range m.nodes {
		err := m.login.InSession(ctx, node.Node, askBound, func(ctx context.Context, c *sql.Conn) error {
			row, err := binlog.Row(ctx, c, `SELECT @@global.gtid_executed AS executed, (SELECT RECEIVED_TRANSACTION_SET
				FROM performance_schema.replication_connection_status WHERE CHANNEL_NAME = 'group_replication_applier') AS received`)
			sets[i] = row["executed"] + "," + row["received"]
			return err
		})
		if err != nil {
			return 0, fmt.Errorf("n%d does not tell what it has: %w", i+1, err)
		}
	}
	for i, node := range m.nodes {
		all := true
		err := m.login.InSession(ctx, node.Node, askBound, func(ctx context.Context, c *sql.Conn) error {
			for _, other := range sets {
				row, err := binlog.Row(ctx, c, "SELECT GTID_SUBSET("+binlog.Literal(other)+", "+binlog.Literal(sets[i])+") AS has")
				if err != nil {
					return err
				}
				all = all && row["has"] == "1"
			}
			return nil
		})
		if err != nil {
			return 0, fmt.Errorf("n%d does not tell what it has: %w", i+1, err)
		}
		if all {
			return i, nil
		}
	}
	return 0, errors.New("no member has all that the others have, so that something would be lost")
}

// leave waits a few seconds for each component, which may have no peer to agree with, not 5
// minutes.
func (m *Cluster) leave(ctx context.Context, node *member) error {
	return m.login.InSession(ctx, node.Node, leaveBound, func(ctx context.Context, c *sql.Conn) error {
		return binlog.Execute(ctx, c, "SET GLOBAL group_replication_components_stop_timeout = 5", "STOP GROUP_REPLICATION",
			"SET GLOBAL group_replication_components_stop_timeout = DEFAULT")
	})
}

// awaitPart returns when a restarted node is a full member, or answers if no group can have a
// majority.
func (m *Cluster) awaitPart(ctx context.Context, node *member) error {
	return node.Await(ctx, func(ctx context.Context) error {
		views, failures := m.views(ctx)
		own, answers := views[node.Number]
		if !answers {
			return errors.New("it does not answer")
		}
		err := own.ready()
		if !together(views, len(failures)) {
			if len(views)+len(failures) < len(m.nodes) {
				return nil // there can be none before another node is started
			}
			return errors.New("the group has no majority yet")
		}
		return err
	})
}
