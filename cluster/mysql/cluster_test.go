// The tests that start servers are named TestOnMySQL; `make mysql` runs them.

package mysql

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"

	"assay/cluster/binlog"
	"assay/cluster/server"
	"assay/cluster/servertest"
	"assay/internal/expect"
)

// timeLimit bounds what should take seconds, and minutes where a member leaves a group without a
// majority.
func timeLimit(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), 4*time.Minute)
	t.Cleanup(cancel)
	return ctx
}

// running is what Start and StartSet return.
type running interface {
	Address() string
	Node(i int) *server.Node
	Primary(ctx context.Context) (int, error)
	Restart(ctx context.Context, i int, env ...string) error
	Settled(ctx context.Context) error
	Close() error
}

// probe is a table test on servers that run.
type probe struct {
	running
	t     *testing.T
	nodes int
}

func newProbe(t *testing.T, r running, err error, nodes int) *probe {
	t.Helper()
	expect.NoError(t, err)
	expect.AtEnd(t, r.Close)
	p := &probe{r, t, nodes}
	p.exec("CREATE DATABASE probe")
	p.exec("CREATE TABLE probe.t (id INT PRIMARY KEY)")
	return p
}

// client is a client of node i as this user; without a name, as ours.
func (p *probe) client(i int, user, password string) *sql.DB {
	p.t.Helper()
	config := mysql.NewConfig()
	config.User, config.Passwd, config.Net, config.Addr = user, password, "tcp", p.Node(i).Address()
	if user == "" {
		u, err := url.Parse(p.Address())
		expect.NoError(p.t, err)
		config.User = u.User.Username()
		config.Passwd, _ = u.User.Password()
	}
	config.Logger = &mysql.NopLogger{}
	connector, err := mysql.NewConnector(config)
	expect.NoError(p.t, err)
	db := sql.OpenDB(connector)
	p.t.Cleanup(func() { db.Close() })
	return db
}

func (p *probe) primary() int {
	p.t.Helper()
	i, err := p.Primary(timeLimit(p.t))
	expect.NoError(p.t, err)
	return i
}

// exec executes a statement as soon as there is somebody who does.
func (p *probe) exec(text string) {
	p.t.Helper()
	err := server.Until(timeLimit(p.t), 20*time.Millisecond, text, func(ctx context.Context) error {
		i, err := p.Primary(ctx)
		if err != nil {
			return err
		}
		bounded, cancel := context.WithTimeout(ctx, 15*time.Second)
		defer cancel()
		_, err = p.client(i, "", "").ExecContext(bounded, text)
		return err
	})
	expect.NoError(p.t, err)
}

func (p *probe) insert(id int) {
	p.t.Helper()
	p.exec(fmt.Sprintf("INSERT INTO probe.t VALUES (%d) ON DUPLICATE KEY UPDATE id = id", id))
}

func (p *probe) value(i int, text string) (value string) {
	p.t.Helper()
	if err := p.client(i, "", "").QueryRowContext(timeLimit(p.t), text).Scan(&value); err != nil {
		p.t.Fatalf("%s: %v", text, err)
	}
	return value
}

// mustHold wants all nodes that run to be in step, and to have these rows.
func (p *probe) mustHold(want string) {
	p.t.Helper()
	expect.NoError(p.t, p.Settled(timeLimit(p.t)))
	for i := range p.nodes {
		if !p.Node(i).Running() {
			continue
		}
		if got := p.value(i, "SELECT coalesce(group_concat(id ORDER BY id), '') FROM probe.t"); got != want {
			p.t.Errorf("node %d has the rows %s, want %s", i, got, want)
		}
	}
}

func (p *probe) restart(i int) {
	p.t.Helper()
	expect.NoError(p.t, p.Restart(timeLimit(p.t), i))
}

// commandLines are the arguments of all processes of this machine.
func commandLines(t *testing.T) []string {
	t.Helper()
	files, err := filepath.Glob("/proc/[0-9]*/cmdline")
	expect.NoError(t, err)
	var lines []string
	for _, file := range files {
		if text, err := os.ReadFile(file); err == nil { // one that has just ended is not an error
			lines = append(lines, strings.ReplaceAll(string(text), "\x00", " "))
		}
	}
	return lines
}

func TestOnMySQLANodeGoesThroughFaults(t *testing.T) {
	const password = `p'w \"x"/@%`
	dir := filepath.Join(os.TempDir(), fmt.Sprintf("assay-test-%d-mysql", os.Getpid()))
	m, err := Start(timeLimit(t), Options{Layout: server.Layout{Dir: dir, LogDir: t.TempDir()}, Password: password, CacheSize: 64 << 20, Settings: []string{"max-connections=17"}})
	p := newProbe(t, m, err, 1)
	for name, want := range map[string]string{
		"innodb_flush_log_at_trx_commit": "1", "sync_binlog": "1", "bind_address": "127.0.0.1", "max_connections": "17",
		"innodb_buffer_pool_size": "67108864", "innodb_doublewrite": "ON", "log_bin": "1", "socket": "mysql.sock",
	} {
		if got := p.value(0, "SELECT @@global."+name); got != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
	if version := p.value(0, "SELECT version()"); strings.Contains(version, "MariaDB") {
		t.Errorf("version %s", version)
	}
	if users := p.value(0, "SELECT group_concat(User ORDER BY User) FROM mysql.user WHERE account_locked = 'N'"); users != "assay" {
		t.Errorf("users %s", users)
	}
	for user, password := range map[string]string{"root": "", binlog.UserName: "wrong", "mysql": ""} {
		var refused *mysql.MySQLError
		if err := p.client(0, user, password).PingContext(timeLimit(t)); !errors.As(err, &refused) || refused.Number != 1045 {
			t.Errorf("user %q: %v, want access denied", user, err)
		}
	}
	for _, line := range commandLines(t) {
		if strings.Contains(line, `p'w`) {
			t.Errorf("the password is in the process list: %s", line)
		}
	}
	p.insert(1)
	expect.NoError(t, m.Node(0).Kill())
	p.restart(0)
	p.mustHold("1")
	expect.NoError(t, m.Node(0).Pause())
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	if err := m.Ready(ctx, 0); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a paused node is ready: %v", err)
	}
	expect.NoError(t, m.Node(0).Resume())
	p.mustHold("1")
	expect.NoError(t, m.Node(0).Stop(timeLimit(t)))
	if err := m.Settled(timeLimit(t)); err == nil {
		t.Error("settled without a node")
	}
	p.restart(0)
	p.mustHold("1")
	if err := errors.Join(m.Close(), m.Close()); err != nil || server.Exists(dir) {
		t.Errorf("%v, folder there: %v", err, server.Exists(dir))
	}
	if err := m.Restart(timeLimit(t), 0); !errors.Is(err, os.ErrClosed) {
		t.Errorf("Restart after Close: %v", err)
	}
}

func TestOnMySQLWhatCannotStartSaysWhy(t *testing.T) {
	dir := filepath.Join(os.TempDir(), fmt.Sprintf("assay-test-%d-mysql", os.Getpid()))
	servertest.SaysWhy(timeLimit(t), t, dir, Start, map[string]servertest.Wrong[Options]{
		"setting":  {Options: Options{Layout: server.Layout{Dir: dir}, Settings: []string{"nonsense=1"}}, Says: "unknown variable 'nonsense=1'"},
		"value":    {Options: Options{Layout: server.Layout{Dir: dir}, Settings: []string{"innodb-flush-log-at-trx-commit=7"}}, Says: "adjusted to"},
		"nodes":    {Options: Options{Layout: server.Layout{Dir: dir, Nodes: 10}}, Says: "1 to 9"},
		"cache":    {Options: Options{Layout: server.Layout{Dir: dir}, CacheSize: 1 << 20}, Says: "1048576"},
		"password": {Options: Options{Layout: server.Layout{Dir: dir}, Password: "a\nb"}, Says: "more than one line"},
	})
	for _, after := range []time.Duration{0, time.Second} { // before anything, and in the middle
		servertest.GivenUp(t, dir, after, Start, Options{Layout: server.Layout{Dir: dir, Nodes: 3}})
	}
}

// TestMariaDBIsNotMySQL: MariaDB has a link of the name mysqld.
func TestMariaDBIsNotMySQL(t *testing.T) {
	folder := t.TempDir()
	expect.NoError(t, os.WriteFile(filepath.Join(folder, "mariadbd"), []byte("#!/bin/sh\n"), 0o700))
	expect.NoError(t, os.Symlink("mariadbd", filepath.Join(folder, "mysqld")))
	program := mysqld()
	program.Folders = nil
	t.Setenv("PATH", folder)
	t.Setenv("ASSAY_SERVERS", t.TempDir())
	_, err := program.Find(folder)
	if missing := (*server.MissingError)(nil); !errors.As(err, &missing) || !strings.Contains(err.Error(), "install-servers.sh mysql") {
		t.Errorf("got %v", err)
	}
}
