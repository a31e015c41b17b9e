package mysql

import (
	"context"
	"database/sql"
	"errors"
	"os"
	"strconv"
	"time"

	"assay/cluster/binlog"
	"assay/cluster/server"
)

// startAll starts a single server, or a group.
func (m *Cluster) startAll(ctx context.Context) error {
	if m.grouped() {
		return m.startGroup(ctx)
	}
	if err := m.start(ctx, m.nodes[0], nil); err != nil {
		return err
	}
	return m.nodes[0].Adjusted(m.options.Settings)
}

// start starts a node, with a new database if it has none, and waits until it answers.
func (m *Cluster) start(ctx context.Context, node *member, env []string) error {
	if !server.IsEmpty(node.data()) {
		return m.spawn(ctx, node, m.arguments(node), env)
	}
	err := m.startNew(ctx, node, env)
	if err != nil { // else the next start would take what is there for a database
		if p := node.Process(); p != nil {
			err = errors.Join(err, p.Kill())
		}
		err = errors.Join(err, node.empty())
	}
	return err
}

// startNew makes a database, and has the first start make our user in place of all others who
// can log in (init_file; while a database is made there is no account management). Nothing of it
// is in the binary log.
func (m *Cluster) startNew(ctx context.Context, node *member, env []string) error {
	_, err := node.Run(ctx, server.ProcessOptions{Name: "mysqld --initialize-insecure", Program: m.program,
		Args: append(m.place(node), "--initialize-insecure")})
	if err != nil {
		return err
	}
	users, err := m.writeUsers(node)
	if err != nil {
		return err
	}
	err = m.spawn(ctx, node, append(m.arguments(node), "--super-read-only=OFF", "--init-file="+users), env)
	return errors.Join(err, os.Remove(users))
}

// writeUsers writes the statements that replace all users who can log in by ours. One of several
// servers takes no writes after that, as at every other start.
func (m *Cluster) writeUsers(node *member) (path string, err error) {
	after := "DROP USER root@localhost;\n"
	if m.grouped() || node.Number > 0 {
		after += "SET GLOBAL super_read_only = ON;\n"
	}
	return m.login.WriteUsers(node.Node, "SET SESSION sql_log_bin = 0;\n", after)
}

// spawn starts a node's server and returns when it answers.
func (m *Cluster) spawn(ctx context.Context, node *member, args, env []string) error {
	err := node.Spawn(server.ProcessOptions{Program: m.program, Args: args, Env: env, StopBound: stopBound})
	if err != nil {
		return err
	}
	return node.Await(ctx, func(ctx context.Context) error { return m.ping(ctx, node) })
}

// ping is nil if a node answers.
func (m *Cluster) ping(ctx context.Context, node *member) error {
	return m.login.InSession(ctx, node.Node, askBound, func(ctx context.Context, c *sql.Conn) error { return c.PingContext(ctx) })
}

// place are the arguments that say where a node's files are. Run by root it stays root, which
// mysqld wants to be told: the program may be in a folder of root's that nobody else can enter.
func (m *Cluster) place(node *member) []string {
	args := []string{"--no-defaults", "--datadir=" + node.data(), "--tmpdir=" + node.temporary()}
	if os.Geteuid() == 0 {
		args = append(args, "--user=root")
	}
	return args
}

// arguments are the arguments of every start of a node.
func (m *Cluster) arguments(node *member) []string {
	args := append(m.place(node),
		// Relative to the data folder: the path of a socket may not be long.
		"--socket=mysql.sock", "--pid-file=mysql.pid", "--mysqlx=OFF", "--secure-file-priv=NULL",
		"--bind-address="+node.Host, "--port="+strconv.Itoa(node.Port),
		"--skip-name-resolve", "--character-set-server=utf8mb4", "--max-connections=2000",
		"--innodb-flush-log-at-trx-commit=1", "--sync-binlog=1",
		"--innodb-buffer-pool-size="+strconv.FormatInt(m.options.CacheSize, 10),
	)
	if len(m.nodes) > 1 {
		args = append(args, "--server-id="+strconv.Itoa(node.Number+1), "--gtid-mode=ON", "--enforce-gtid-consistency=ON",
			"--binlog-expire-logs-seconds=0",
			// What was received and not applied is not forced to the disk (sync_relay_log=10000): after a
			// cut of the power a server would read on in torn files for ever (MySQL manual, "Making
			// Replication Resilient to Unexpected Halts").
			"--relay-log-recovery=ON",
			"--report-host="+node.Host, "--report-port="+strconv.Itoa(node.Port))
	}
	switch {
	case m.grouped():
		args = append(args, m.groupArguments(node)...)
	case len(m.nodes) > 1:
		args = append(args, m.replicaArguments(node)...)
	}
	for _, setting := range m.options.Settings {
		args = append(args, "--"+setting)
	}
	return args
}

// replicaArguments are the arguments of a primary, which is the first node, or of a replica.
func (m *Cluster) replicaArguments(node *member) []string {
	args, part := []string{"--replica-net-timeout=" + strconv.Itoa(int(binlog.Silence.Seconds()))}, "source"
	if node.Number > 0 {
		args, part = append(args, "--super-read-only=ON"), "replica"
	}
	if m.options.Replication == Semisync {
		args = append(args, "--plugin-load-add=semisync_source.so", "--plugin-load-add=semisync_replica.so",
			"--loose-rpl-semi-sync-"+part+"-enabled=ON", "--loose-rpl-semi-sync-source-wait-point=AFTER_SYNC")
	}
	return args
}

// Ready returns when node i takes its part: it answers, and in a group it is a member with the
// majority.
func (m *Cluster) Ready(ctx context.Context, i int) error {
	node := m.nodes[i]
	return node.Await(ctx, func(ctx context.Context) error {
		if !m.grouped() {
			return m.ping(ctx, node)
		}
		v, err := m.view(ctx, node)
		if err == nil {
			err = v.ready()
		}
		return err
	})
}

// Restart stops node i if it runs, starts it again with the same data and ports and with env
// (NAME=value) added to its environment, and returns when it takes its part; in a group that has
// no majority and cannot be begun anew yet (see tend), when it answers.
func (m *Cluster) Restart(ctx context.Context, i int, env ...string) error {
	node := m.nodes[i]
	err := node.Restart(ctx, func(ctx context.Context) error { return m.start(ctx, node, env) })
	if err != nil || !m.grouped() {
		return err
	}
	return m.awaitPart(ctx, node)
}

// Primary is the node that takes writes, as soon as there is one.
func (m *Cluster) Primary(ctx context.Context) (primary int, err error) {
	if !m.grouped() {
		return 0, m.Ready(ctx, 0)
	}
	err = server.Until(ctx, 50*time.Millisecond, "a primary of the group", func(ctx context.Context) (err error) {
		primary, err = m.elected(ctx)
		return err
	})
	return primary, err
}

// Settled returns when all nodes that run are ready, are one group, and have applied what any of
// them had when it was called.
func (m *Cluster) Settled(ctx context.Context) error {
	if !m.grouped() {
		if !m.nodes[0].Running() {
			return errors.New("the only server is down")
		}
		return m.Ready(ctx, 0)
	}
	goal := int64(-1)
	return server.Until(ctx, 50*time.Millisecond, "the members of the group", func(ctx context.Context) error { return m.inStep(ctx, &goal) })
}
