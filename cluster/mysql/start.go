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

func (m *Cluster) startAll(ctx context.Context) error {
	if m.grouped() {
		return m.startGroup(ctx)
	}
	if err := m.start(ctx, m.nodes[0], nil); err != nil {
		return err
	}
	return m.nodes[0].Adjusted(m.options.Settings)
}

// start also makes a missing database. It returns when the node answers.
func (m *Cluster) start(ctx context.Context, node *member, env []string) error {
	if !server.IsEmpty(node.data()) {
		return m.spawn(ctx, node, m.arguments(node), env)
	}
	err := m.startNew(ctx, node, env)
	if err != nil { // else the next start would take what is there for a database
		if p := node.Process(); p != nil {
			err = errors.Join(err, p.Kill())
		}
		err = errors.Join(err, os.RemoveAll(node.data()))
	}
	return err
}

// startNew makes a database. Its first start replaces all users who can log in by ours (init_file),
// because there is no account management before. The binary log has none of this.
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

// writeUsers makes one of several servers take no writes afterwards, as after every other start.
func (m *Cluster) writeUsers(node *member) (path string, err error) {
	after := "DROP USER root@localhost;\n"
	if m.grouped() || node.Number > 0 {
		after += "SET GLOBAL super_read_only = ON;\n"
	}
	return m.login.WriteUsers(node.Node, "SET SESSION sql_log_bin = 0;\n", after)
}

func (m *Cluster) spawn(ctx context.Context, node *member, args, env []string) error {
	err := node.Spawn(server.ProcessOptions{Program: m.program, Args: args, Env: env, StopBound: stopBound})
	if err != nil {
		return err
	}
	return node.Await(ctx, func(ctx context.Context) error { return m.ping(ctx, node) })
}

func (m *Cluster) ping(ctx context.Context, node *member) error {
	return m.login.InSession(ctx, node.Node, askBound, func(ctx context.Context, c *sql.Conn) error { return c.PingContext(ctx) })
}

// place keeps a root process root: other users may be unable to enter the program's folder.
func (m *Cluster) place(node *member) []string {
	args := []string{"--no-defaults", "--datadir=" + node.data(), "--tmpdir=" + node.temporary()}
	if os.Geteuid() == 0 {
		args = append(args, "--user=root")
	}
	return args
}

func (m *Cluster) arguments(node *member) []string {
	args := append(m.place(node),
		// Relative to the data folder, because a socket's path must be short.
		"--socket=mysql.sock", "--pid-file=mysql.pid", "--mysqlx=OFF", "--secure-file-priv=NULL",
		"--bind-address="+node.Host, "--port="+strconv.Itoa(node.Port),
		"--skip-name-resolve", "--character-set-server=utf8mb4", "--max-connections=2000",
		"--innodb-flush-log-at-trx-commit=1", "--sync-binlog=1",
		"--innodb-buffer-pool-size="+strconv.FormatInt(m.options.CacheSize, 10),
	)
	if len(m.nodes) > 1 {
		args = append(args, "--server-id="+strconv.Itoa(node.Number+1), "--gtid-mode=ON", "--enforce-gtid-consistency=ON",
			"--binlog-expire-logs-seconds=0",
			// The relay log is not synced (sync_relay_log=10000). Without this a server would read
			// torn files for ever after a power cut (MySQL manual, "Making Replication Resilient to
			// Unexpected Halts").
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

// Ready returns when node i answers and, in a group, is a full member of the majority.
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

// Restart starts node i again with env (NAME=value), and returns when it has its part. If the
// group can have no majority yet (tend), it returns when the node answers.
func (m *Cluster) Restart(ctx context.Context, i int, env ...string) error {
	node := m.nodes[i]
	err := node.Restart(ctx, func(ctx context.Context) error { return m.start(ctx, node, env) })
	if err != nil || !m.grouped() {
		return err
	}
	return m.awaitPart(ctx, node)
}

// Primary waits for the node that takes writes.
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

// Settled returns when all running nodes are ready, are one group, and have applied all that any
// had at the first answer of all.
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
