package mariadb

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strconv"

	"assay/cluster/server"
)

// startAll makes the first node's database. The other nodes of a Galera cluster begin empty and
// copy everything, one after the other, since a node gives one copy at a time.
func (m *Cluster) startAll(ctx context.Context) error {
	first := m.nodes.At(0)
	if err := m.install(ctx, first); err != nil {
		return err
	}
	users, err := m.writeUsers(first)
	if err != nil {
		return err
	}
	err = m.start(ctx, first, startOptions{begin: true, args: []string{"--init-file=" + users}})
	if err := errors.Join(err, os.Remove(users)); err != nil {
		return err
	}
	if err := first.Adjusted(m.options.Settings); err != nil {
		return err
	}
	for _, node := range m.nodes.All()[1:] {
		if err := m.start(ctx, node, startOptions{}); err != nil {
			return err
		}
	}
	return m.Settled(ctx)
}

func (m *Cluster) install(ctx context.Context, node *member) error {
	script, err := server.Program{Name: "mariadb-install-db", Folders: []string{filepath.Dir(m.program),
		"/usr/local/mysql/scripts"}, Get: mariadbd().Get}.Find(m.options.Programs)
	if err != nil {
		return err
	}
	args := []string{"--no-defaults", "--datadir=" + node.data(), "--tmpdir=" + node.temporary(),
		"--auth-root-authentication-method=normal", "--skip-test-db", "--skip-name-resolve"}
	if m.user != nil {
		args = append(args, "--user="+m.user.Name)
	}
	_, err = server.Run(ctx, server.ProcessOptions{
		Name: "mariadb-install-db", Program: script, Args: args, Dir: node.Dir, Log: node.Log, User: m.user,
		Env: m.environment(nil),
	})
	return err
}

// environment adds the administrator's folders to PATH for the server's scripts.
func (m *Cluster) environment(further []string) []string {
	return append([]string{"PATH=" + os.Getenv("PATH") + ":/usr/sbin:/usr/bin:/sbin:/bin"}, further...)
}

// writeUsers keeps mariadb.sys, who cannot log in and owns views.
func (m *Cluster) writeUsers(node *member) (path string, err error) {
	before := ""
	if m.options.Replication != Galera { // each node of a set makes its own
		before = "SET SESSION sql_log_bin = 0;\n"
	}
	return m.login.WriteUsers(node.Node, before, "DELETE FROM mysql.global_priv WHERE User NOT IN ('"+m.login.User+"', 'mariadb.sys');\nFLUSH PRIVILEGES;\n")
}

func (m *Cluster) arguments(node *member) []string {
	o := m.options
	args := []string{
		"--no-defaults", "--datadir=" + node.data(), "--tmpdir=" + node.temporary(),
		// Relative to the data folder, because a socket's path must be short.
		"--socket=mariadb.sock", "--pid-file=mariadb.pid",
		"--bind-address=" + node.Host, "--port=" + strconv.Itoa(node.Port),
		"--skip-name-resolve", "--character-set-server=utf8mb4", "--max-connections=2000",
		"--innodb-flush-log-at-trx-commit=1", "--sync-binlog=1",
		"--innodb-buffer-pool-size=" + strconv.FormatInt(o.CacheSize, 10),
	}
	if o.MyRocks {
		args = append(args, "--plugin-load-add=ha_rocksdb", "--rocksdb-flush-log-at-trx-commit=1",
			"--rocksdb-block-cache-size="+strconv.FormatInt(o.CacheSize, 10))
	}
	if m.provider != "" {
		args = append(args, m.galeraArguments(node)...)
	}
	if o.Replication == Semisync { // MariaDB's own AFTER_COMMIT shows others what no replica has
		args = append(args, "--rpl-semi-sync-master-wait-point=AFTER_SYNC")
	}
	for _, setting := range node.Settings(o.Settings) {
		args = append(args, "--"+setting)
	}
	return args
}

type startOptions struct {
	// begin makes the node the first of a cluster, or the only one.
	begin bool
	args  []string
	env   []string
}

func (m *Cluster) start(ctx context.Context, node *member, o startOptions) error {
	if err := m.spawn(node, o); err != nil {
		return err
	}
	return m.await(ctx, node)
}

func (m *Cluster) spawn(node *member, o startOptions) error {
	args := m.arguments(node)
	if o.begin && m.provider != "" {
		args = append(args, "--wsrep-new-cluster")
	}
	return node.Spawn(server.ProcessOptions{
		Program: m.program, Args: append(args, o.args...), Env: m.environment(o.env), StopBound: stopBound,
	})
}

// tookAdjusted kills a started node that took other values than its adjusted settings.
func (n *member) tookAdjusted() error {
	err := n.Adjusted(n.Settings(nil))
	if err != nil {
		err = errors.Join(err, n.Kill())
	}
	return err
}

// Restart starts node i again with env (NAME=value), and returns when it is ready. That includes
// recovery, and in a cluster the transfer of what it missed.
//
// If no node of a cluster runs, Restart first starts the node with the most recent data, to lose
// no transaction. A node that joins others without a quorum waits with them.
func (m *Cluster) Restart(ctx context.Context, i int, env ...string) error {
	node := m.nodes.At(i)
	return node.Restart(ctx, func(ctx context.Context) (err error) {
		if m.provider == "" {
			err = m.start(ctx, node, startOptions{env: env})
		} else if err = m.rejoin(ctx, node, env); err == nil {
			err = m.await(ctx, node)
		}
		if err == nil {
			err = node.tookAdjusted()
		}
		return err
	})
}
