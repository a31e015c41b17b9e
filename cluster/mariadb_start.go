package cluster

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// startAll makes the first node's database and starts all nodes. The others of
// a Galera cluster begin empty and copy everything from a node that is there,
// one after the other, since a node that gives a copy gives only one.
func (m *MariaDB) startAll(ctx context.Context) error {
	first := m.node(0)
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
	for _, node := range m.all()[1:] {
		if err := m.start(ctx, node, startOptions{}); err != nil {
			return err
		}
	}
	return m.Settled(ctx)
}

// install makes the database of a node.
func (m *MariaDB) install(ctx context.Context, node *mariaNode) error {
	script, err := Program{Name: "mariadb-install-db", Folders: []string{filepath.Dir(m.program),
		"/usr/local/mysql/scripts"}, Get: mariadbProgram().Get}.Find(m.options.Programs)
	if err != nil {
		return err
	}
	args := []string{"--no-defaults", "--datadir=" + node.data(), "--tmpdir=" + node.temporary(),
		"--auth-root-authentication-method=normal", "--skip-test-db", "--skip-name-resolve"}
	if m.user != nil {
		args = append(args, "--user="+m.user.Name)
	}
	process, err := StartProcess(ProcessOptions{
		Name: "mariadb-install-db", Program: script, Args: args, Dir: node.dir, Log: node.log, User: m.user,
		Env: m.environment(nil),
	})
	if err != nil {
		return err
	}
	if err := process.Wait(ctx); err != nil {
		return errors.Join(err, process.Kill())
	}
	return nil
}

// environment lets the server's scripts find what an administrator has.
func (m *MariaDB) environment(further []string) []string {
	return append([]string{"PATH=" + os.Getenv("PATH") + ":/usr/sbin:/usr/bin:/sbin:/bin"}, further...)
}

// writeUsers writes the statements that replace all users by ours, which the
// first start reads (init_file); a password in an argument could be seen by
// everybody. The user mariadb.sys, who cannot log in, is the owner of views.
func (m *MariaDB) writeUsers(node *mariaNode) (path string, err error) {
	quoted := "'" + strings.NewReplacer(`\`, `\\`, `'`, `\'`).Replace(m.options.Password) + "'"
	text := "CREATE USER " + mariadbUser + "@'%' IDENTIFIED BY " + quoted + ";\n" +
		"GRANT ALL PRIVILEGES ON *.* TO " + mariadbUser + "@'%' WITH GRANT OPTION;\n" +
		"DELETE FROM mysql.global_priv WHERE User NOT IN ('" + mariadbUser + "', 'mariadb.sys');\n" +
		"FLUSH PRIVILEGES;\n"
	path = filepath.Join(node.dir, "users.sql")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		return "", err
	}
	if err := m.user.chown(path); err != nil {
		return "", errors.Join(err, os.Remove(path))
	}
	return path, nil
}

// arguments are those of every start of a node, without Galera's.
func (m *MariaDB) arguments(node *mariaNode) []string {
	o := m.options
	args := []string{
		"--no-defaults", "--datadir=" + node.data(), "--tmpdir=" + node.temporary(),
		// Relative to the data folder: the path of a socket may not be long.
		"--socket=mariadb.sock", "--pid-file=mariadb.pid",
		"--bind-address=" + node.host, "--port=" + strconv.Itoa(node.port),
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
	for _, setting := range o.Settings {
		args = append(args, "--"+setting)
	}
	return args
}

// startOptions are those of one start.
type startOptions struct {
	// begin makes the node the first of a cluster, or the only one.
	begin bool
	args  []string
	env   []string
}

// start starts a node and waits until it is ready.
func (m *MariaDB) start(ctx context.Context, node *mariaNode, o startOptions) error {
	if err := m.spawn(node, o); err != nil {
		return err
	}
	return m.await(ctx, node)
}

// spawn starts a node's server.
func (m *MariaDB) spawn(node *mariaNode, o startOptions) error {
	node.spawning.Lock()
	defer node.spawning.Unlock()
	if node.closed {
		return os.ErrClosed
	}
	args := m.arguments(node)
	if o.begin && m.provider != "" {
		args = append(args, "--wsrep-new-cluster")
	}
	process, err := StartProcess(ProcessOptions{
		Name: node.name(), Program: m.program, Args: append(args, o.args...), Env: m.environment(o.env),
		Dir: node.dir, Log: node.log, User: m.user, Machine: node.machine, StopBound: mariadbStopBound,
	})
	if err != nil {
		return err
	}
	node.process.Store(process)
	return nil
}

// await asks a node for its state until it is ready.
func (m *MariaDB) await(ctx context.Context, node *mariaNode) error {
	process := node.process.Load()
	ticker := time.NewTicker(50 * time.Millisecond)
	defer ticker.Stop()
	var last error
	for {
		state, err := m.ask(ctx, node)
		if err == nil {
			err = state.ready()
		}
		if err == nil {
			return nil
		}
		if last == nil || ctx.Err() == nil { // the last one that is more than the end of ctx
			last = err
		}
		select {
		case <-process.Exited():
			return mariadbEnded(process)
		case <-ctx.Done():
			return fmt.Errorf("wait for %s: %w (%w); its log ends with:\n%s", node.name(), ctx.Err(), last, process.Tail(10))
		case <-ticker.C:
		}
	}
}

// mariadbEnded describes an end that nobody asked for, with the errors in the
// log: a server that gives up says why and then how it shuts down.
func mariadbEnded(process *Process) error {
	var reasons []string
	for line := range strings.Lines(process.Tail(300)) {
		if strings.Contains(line, "[ERROR]") {
			reasons = append(reasons, strings.TrimSpace(line))
		}
	}
	if len(reasons) == 0 {
		return process.Ended()
	}
	const most = 5
	return fmt.Errorf("%w\nerrors in it:\n%s", process.Ended(), strings.Join(reasons[max(len(reasons)-most, 0):], "\n"))
}

// Restart stops node i if it runs, starts it again with the same data and ports
// and with env (NAME=value) added to its environment, and returns when it is
// ready, which after Kill takes as long as recovery and, in a cluster, as long
// as it takes to get what was missed.
//
// Where no node of a cluster runs, the one with the most recent data has to
// begin it anew, and is started first if it is not node i itself; the others
// would lose what only it has. A node that joins others that have no quorum
// waits with them until there is one.
func (m *MariaDB) Restart(ctx context.Context, i int, env ...string) error {
	node := m.node(i)
	err := m.restart(ctx, node, env)
	if err != nil {
		return fmt.Errorf("restart %s: %w", node.name(), err)
	}
	return nil
}

func (m *MariaDB) restart(ctx context.Context, node *mariaNode, env []string) error {
	node.mu.Lock()
	defer node.mu.Unlock()
	if node.ended() {
		return os.ErrClosed
	}
	if err := m.stop(ctx, node); err != nil {
		return err
	}
	if m.provider == "" {
		return m.start(ctx, node, startOptions{env: env})
	}
	if err := m.rejoin(ctx, node, env); err != nil {
		return err
	}
	return m.await(ctx, node)
}

func (m *MariaDB) stop(ctx context.Context, node *mariaNode) error {
	process := node.process.Load()
	if process == nil {
		return nil
	}
	if err := process.Stop(ctx); err != nil && process.Running() {
		return err // one that had to be killed recovers when it starts
	}
	return nil
}
