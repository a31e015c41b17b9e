package mariadb

import (
	"cmp"
	"context"
	"database/sql"
	"fmt"
	"strconv"
	"strings"
	"time"

	"assay/cluster/server"
)

const answerBound = time.Second

// status is explained in MariaDB's documentation, "Galera Cluster Status Variables". A single node
// has the zero state.
type status struct {
	galera    bool
	state     string // wsrep_local_state_comment
	component string // wsrep_cluster_status
	accepting bool   // wsrep_ready
	size      int    // wsrep_cluster_size
	committed int64  // wsrep_last_committed
}

func (s status) ready() error {
	if !s.galera || s.state == "Synced" && s.component == "Primary" && s.accepting {
		return nil
	}
	return fmt.Errorf("it is %s in a component that is %s", cmp.Or(s.state, "nothing yet"), cmp.Or(s.component, "none"))
}

// Parameter asks node i for the value of a system variable.
func (m *Cluster) Parameter(ctx context.Context, i int, name string) (value string, err error) {
	return m.login.Variable(ctx, m.Node(i), name)
}

func (m *Cluster) ask(ctx context.Context, node *member) (status, error) {
	told := map[string]string{}
	err := m.login.InSession(ctx, node.Node, answerBound, func(ctx context.Context, c *sql.Conn) error {
		rows, err := c.QueryContext(ctx, `SHOW GLOBAL STATUS WHERE Variable_name IN ('wsrep_local_state_comment',
			'wsrep_cluster_status', 'wsrep_ready', 'wsrep_cluster_size', 'wsrep_last_committed')`)
		if err != nil {
			return err
		}
		defer rows.Close()
		for rows.Next() {
			var name, value string
			if err := rows.Scan(&name, &value); err != nil {
				return err
			}
			told[strings.ToLower(name)] = value
		}
		return rows.Err()
	})
	state := status{galera: m.provider != "", state: told["wsrep_local_state_comment"], component: told["wsrep_cluster_status"], accepting: told["wsrep_ready"] == "ON"}
	state.size, _ = strconv.Atoi(told["wsrep_cluster_size"])
	state.committed, _ = strconv.ParseInt(told["wsrep_last_committed"], 10, 64)
	return state, err
}

// Ready returns when node i takes writes. In a Galera cluster it is then Synced
// (wsrep_local_state_comment) in the component with the quorum (wsrep_cluster_status Primary).
func (m *Cluster) Ready(ctx context.Context, i int) error { return m.await(ctx, m.nodes.At(i)) }

func (m *Cluster) await(ctx context.Context, node *member) error {
	return node.Await(ctx, func(ctx context.Context) error {
		state, err := m.ask(ctx, node)
		if err == nil {
			err = state.ready()
		}
		return err
	})
}

// Settled returns when all running nodes are ready, are one cluster, and have applied all that any
// had at the first answer of all.
func (m *Cluster) Settled(ctx context.Context) error {
	goal := int64(-1)
	return server.Until(ctx, 50*time.Millisecond, "the nodes of MariaDB", func(ctx context.Context) error {
		return m.inStep(ctx, &goal)
	})
}

func (m *Cluster) inStep(ctx context.Context, goal *int64) error {
	states, failures := server.AskAll(m.Nodes(), func(i int) (status, error) {
		state, err := m.ask(ctx, m.nodes.At(i))
		return state, cmp.Or(err, state.ready())
	})
	for i, err := range failures {
		return fmt.Errorf("%s: %w", m.nodes.At(i).Name, err)
	}
	if len(states) == 0 {
		return server.NoneRuns(m.Nodes())
	}
	if m.provider == "" {
		return nil
	}
	if *goal < 0 {
		for _, s := range states {
			*goal = max(*goal, s.committed)
		}
	}
	for i, s := range states {
		switch {
		case s.size != len(states):
			return fmt.Errorf("%s sees a cluster of %d nodes, and %d run", m.nodes.At(i).Name, s.size, len(states))
		case s.committed < *goal:
			return fmt.Errorf("%s has applied %d transactions of %d", m.nodes.At(i).Name, s.committed, *goal)
		}
	}
	return nil
}
