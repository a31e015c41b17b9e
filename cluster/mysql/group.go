package mysql

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"
	"sync"
	"time"

	"assay/cluster/binlog"
	"assay/cluster/server"
)

// All clusters share groupName, since each has its own network or ports.
const groupName = "a55a7000-0000-4000-8000-000000000001"

// groupArguments prepare a node for a group (MySQL manual, "Configuring an Instance for Group
// Replication"). It joins on command. It needs an allowlist (group_replication_ip_allowlist),
// because the default does not admit addresses of our networks.
func (m *Cluster) groupArguments(node *member) []string {
	var seeds, hosts []string
	for _, n := range m.nodes {
		seeds = append(seeds, net.JoinHostPort(n.Host, strconv.Itoa(n.group)))
		hosts = append(hosts, n.Host)
	}
	args := []string{
		// A node that is no member must take no writes, which the others would lack.
		"--super-read-only=ON", "--skip-replica-start", "--plugin-load-add=group_replication.so", "--loose-group-replication-group-name=" + groupName,
		"--loose-group-replication-local-address=" + net.JoinHostPort(node.Host, strconv.Itoa(node.group)),
		"--loose-group-replication-group-seeds=" + strings.Join(seeds, ","),
		"--loose-group-replication-ip-allowlist=" + strings.Join(hosts, ","),
		"--loose-group-replication-start-on-boot=OFF", "--loose-group-replication-recovery-get-public-key=ON",
	}
	if m.options.Expel != nil {
		args = append(args, "--loose-group-replication-member-expel-timeout="+strconv.Itoa(int(m.options.Expel.Seconds())))
	}
	return args
}

const (
	// joinBound includes the transfer of missed transactions.
	joinBound = 5 * time.Minute
	tendEvery = 500 * time.Millisecond
	// retryAfter is the pause after a failed attempt to join.
	retryAfter = 2 * time.Second
)

func (m *Cluster) startGroup(ctx context.Context) error {
	failures := make([]error, len(m.nodes))
	var all sync.WaitGroup
	for i, node := range m.nodes {
		all.Go(func() { failures[i] = m.start(ctx, node, nil) })
	}
	all.Wait()
	for i, err := range failures {
		if err == nil {
			err = m.nodes[i].Adjusted(m.options.Settings)
		}
		if err != nil {
			return err
		}
	}
	if err := m.joinAll(ctx); err != nil {
		return err
	}
	if err := m.Settled(ctx); err != nil {
		return err
	}
	if m.options.Announce != nil {
		m.announce = m.options.Announce
	}
	m.routines.Go(m.tend)
	return nil
}

func (m *Cluster) joinAll(ctx context.Context) error {
	for i, node := range m.nodes {
		err := server.Until(ctx, retryAfter, node.Name+" to join the group", func(ctx context.Context) error {
			err := m.join(ctx, node, i == 0)
			if err != nil && !node.Running() {
				return server.Permanent(fmt.Errorf("%s ended; its log ends with:\n%s", node.Name, node.Tail(10)))
			}
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// join makes a node join the group, or begin it (MySQL manual, "Bootstrapping the Group"). An
// expelled member has ended its sessions and admits only administrators until it leaves the offline
// mode (group_replication_exit_state_action).
func (m *Cluster) join(ctx context.Context, node *member, begin bool) error {
	first := map[bool]string{false: "OFF", true: "ON"}[begin]
	err := m.login.InSession(ctx, node.Node, joinBound, func(ctx context.Context, c *sql.Conn) error {
		err := binlog.Execute(ctx, c, "STOP GROUP_REPLICATION",
			fmt.Sprintf("CHANGE REPLICATION SOURCE TO SOURCE_USER = %s, SOURCE_PASSWORD = %s FOR CHANNEL 'group_replication_recovery'",
				binlog.Literal(m.login.User), binlog.Literal(m.login.Password)),
			"SET GLOBAL group_replication_bootstrap_group = "+first, "START GROUP_REPLICATION", "SET GLOBAL offline_mode = OFF")
		if begin { // whatever came of it, the next start must not begin another group
			err = errors.Join(err, binlog.Execute(ctx, c, "SET GLOBAL group_replication_bootstrap_group = OFF"))
		}
		return err
	})
	if err != nil { // a statement that the server does not understand is quoted in its answer
		return errors.New(strings.ReplaceAll(err.Error(), binlog.Literal(m.login.Password), "..."))
	}
	return nil
}

// view is a node's view of the group (performance_schema.replication_group_members).
type view struct {
	state   string // of the node itself; empty if it says nothing
	primary string // host:port, empty if it knows none
	size    int    // members
	reached int    // of these, those that it does not take for unreachable
}

// took reports whether the node is in a group, with or without a majority.
func (v view) took() bool { return v.state == "ONLINE" || v.state == "RECOVERING" }

func (v view) majority() bool { return v.took() && 2*v.reached > v.size }

func (v view) ready() error {
	switch {
	case v.state != "ONLINE":
		return fmt.Errorf("its state in the group is %q", v.state)
	case !v.majority():
		return fmt.Errorf("it reaches %d of %d members", v.reached, v.size)
	}
	return nil
}

func (m *Cluster) view(ctx context.Context, node *member) (v view, err error) {
	err = m.login.InSession(ctx, node.Node, askBound, func(ctx context.Context, c *sql.Conn) (err error) {
		v, err = viewOf(ctx, c)
		return err
	})
	return v, err
}

func viewOf(ctx context.Context, c *sql.Conn) (v view, err error) {
	rows, err := c.QueryContext(ctx, `SELECT MEMBER_ID = @@global.server_uuid, MEMBER_HOST, MEMBER_PORT, MEMBER_STATE, MEMBER_ROLE
		FROM performance_schema.replication_group_members WHERE MEMBER_ID <> ''`)
	if err != nil {
		return v, err
	}
	defer rows.Close()
	for rows.Next() {
		var own bool
		var host, state, role string
		var port sql.NullInt64
		if err := rows.Scan(&own, &host, &port, &state, &role); err != nil {
			return v, err
		}
		v.size++
		if state != "UNREACHABLE" {
			v.reached++
		}
		if own {
			v.state = state
		}
		if role == "PRIMARY" && state == "ONLINE" {
			v.primary = net.JoinHostPort(host, strconv.FormatInt(port.Int64, 10))
		}
	}
	return v, rows.Err()
}

// elected is the primary according to members with a majority, if it is a full member itself.
// It does not wait for silent members if the others know it.
func (m *Cluster) elected(ctx context.Context) (int, error) {
	views, failures := server.AskMost(ctx, m.Nodes(), func(ctx context.Context, i int) (view, error) { return m.view(ctx, m.nodes[i]) },
		func(views map[int]view, failures map[int]error) bool {
			_, known := m.known(views, len(failures), true)
			return known
		})
	if primary, known := m.known(views, len(failures), false); known {
		return primary, nil
	}
	return 0, errors.New("the members know none")
}

// known is the primary that most full members name and that is one itself, where this many nodes are
// silent; with early, they may still name another. A member that stood still goes on naming whom it
// named before, such as itself, until it hears of the others' choice.
func (m *Cluster) known(views map[int]view, silent int, early bool) (primary int, is bool) {
	if !together(views, silent) {
		return 0, false
	}
	named, voices := map[string]int{}, 0
	if early {
		voices = silent
	}
	for _, v := range views {
		if v.ready() == nil {
			named[v.primary]++
			voices++
		}
	}
	for i, node := range m.nodes {
		if own, asked := views[i]; asked && own.ready() == nil && 2*named[node.Address()] > voices {
			return i, true
		}
	}
	return 0, false
}

func (m *Cluster) views(ctx context.Context) (views map[int]view, failures map[int]error) {
	return server.AskAll(m.Nodes(), func(i int) (view, error) { return m.view(ctx, m.nodes[i]) })
}

func (m *Cluster) inStep(ctx context.Context, goal *int64) error {
	views, failures := m.views(ctx)
	for i, err := range failures {
		return fmt.Errorf("%s: %w", m.nodes[i].Name, err)
	}
	if len(views) == 0 {
		return server.NoneRuns(m.Nodes())
	}
	most := make(map[int]int64)
	for i, v := range views {
		if err := v.ready(); err != nil {
			return fmt.Errorf("%s: %w", m.nodes[i].Name, err)
		}
		if v.size != len(views) {
			return fmt.Errorf("%s sees a group of %d members, and %d run", m.nodes[i].Name, v.size, len(views))
		}
		n, err := m.executed(ctx, m.nodes[i])
		if err != nil {
			return fmt.Errorf("%s: %w", m.nodes[i].Name, err)
		}
		most[i] = n
	}
	if *goal < 0 {
		for _, n := range most {
			*goal = max(*goal, n)
		}
	}
	for i, n := range most {
		if n < *goal {
			return fmt.Errorf("%s has applied %d transactions of %d", m.nodes[i].Name, n, *goal)
		}
	}
	return nil
}

func (m *Cluster) executed(ctx context.Context, node *member) (n int64, err error) {
	err = m.login.InSession(ctx, node.Node, askBound, func(ctx context.Context, c *sql.Conn) error {
		row, err := binlog.Row(ctx, c, "SELECT @@global.gtid_executed AS executed")
		if err == nil {
			n, err = binlog.CountGTIDs(row["executed"])
		}
		return err
	})
	return n, err
}

// CheckReplace is nil in a group: an empty member gets everything by distributed recovery from the
// others' binary logs, which are all kept (MySQL manual, "Distributed Recovery").
func (m *Cluster) CheckReplace() error { return m.CheckSwitchOver() }

// Data is the folder of node i's data.
func (m *Cluster) Data(i int) string { return m.nodes[i].data() }

// CheckSwitchOver is nil in a group.
func (m *Cluster) CheckSwitchOver() error {
	if !m.grouped() {
		return errors.New("these servers are no group")
	}
	return nil
}

// SwitchOver makes another member the primary (MySQL manual, "Changing the Primary").
func (m *Cluster) SwitchOver(ctx context.Context, i int) error {
	return m.login.InSession(ctx, m.nodes[i].Node, joinBound, func(ctx context.Context, c *sql.Conn) error {
		var another string
		err := c.QueryRowContext(ctx, `SELECT MEMBER_ID FROM performance_schema.replication_group_members
			WHERE MEMBER_ROLE = 'SECONDARY' AND MEMBER_STATE = 'ONLINE' ORDER BY MEMBER_PORT, MEMBER_HOST LIMIT 1`).Scan(&another)
		if err != nil {
			return fmt.Errorf("no other member is online: %w", err)
		}
		var said string
		return c.QueryRowContext(ctx, "SELECT group_replication_set_as_primary("+binlog.Literal(another)+")").Scan(&said)
	})
}
