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

// leaveBound is how long a member may take to leave a group, which has nobody to agree with where
// there is no majority.
const leaveBound = 2 * time.Minute

// tend does until Close what an operator would, since no member does it by itself: it has those
// that are outside of a group that has a majority join it, and where there is no such group and
// cannot be, it begins it anew (MySQL manual, "Restarting a Group").
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

// together reports whether there is a group with a majority, as its members say themselves, and
// silent of whom it is not known. What one of them says of others is not enough: a member that was
// killed and tries to join looks to those that are left like the one that it was.
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

// joinLater has a node try to join that runs and is outside. A member that was there before, and
// has not been expelled yet, is in its own way for so long: it is tried again.
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

// beginAnew begins the group with a member that has all that any of them has (MySQL manual,
// "Restarting a Group"). All of them answer, and fewer than a majority are in a group, which
// therefore commits nothing, and cannot get one back by itself. A transaction that was
// acknowledged has been executed by the primary that did it, whose data are among them.
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
	// Those that are still in a group without a majority leave it first.
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

// announceOnce announces what the last call did not. It is for tend alone.
func (m *Cluster) announceOnce(format string, values ...any) {
	if text := fmt.Sprintf(format, values...); text != m.told {
		m.told = text
		m.announce(text)
	}
}

// furthest is the first node that has executed or received all that any has.
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

// leave has a node take part in no group. Its parts have nobody to agree with, and are waited for
// no longer than a few seconds each (five minutes by default).
func (m *Cluster) leave(ctx context.Context, node *member) error {
	return m.login.InSession(ctx, node.Node, leaveBound, func(ctx context.Context, c *sql.Conn) error {
		return binlog.Execute(ctx, c, "SET GLOBAL group_replication_components_stop_timeout = 5", "STOP GROUP_REPLICATION",
			"SET GLOBAL group_replication_components_stop_timeout = DEFAULT")
	})
}

// awaitPart returns when a node that was started again is a full member, or answers where there
// is no group with a majority that it could be a member of.
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
