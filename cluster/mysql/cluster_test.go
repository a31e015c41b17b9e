// Tests that start servers are named TestOnMySQL; `make mysql` runs them.

package mysql

import (
	"context"
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

func TestOnMySQLANodeGoesThroughFaults(t *testing.T) {
	const password = `p'w \"x"/@%`
	dir := filepath.Join(os.TempDir(), fmt.Sprintf("assay-test-%d-mysql", os.Getpid()))
	m := expect.Started(t, Start, Options{Layout: server.Layout{Dir: dir, LogDir: t.TempDir()}, Password: password, CacheSize: 64 << 20, Settings: []string{"max-connections=17"}})
	p := servertest.NewProbe(t, m, 1)
	for name, want := range map[string]string{
		"innodb_flush_log_at_trx_commit": "1", "sync_binlog": "1", "bind_address": "127.0.0.1", "max_connections": "17",
		"innodb_buffer_pool_size": "67108864", "innodb_doublewrite": "ON", "log_bin": "1", "socket": "mysql.sock",
	} {
		if got := p.Value(0, "SELECT @@global."+name); got != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
	if version := p.Value(0, "SELECT version()"); strings.Contains(version, "MariaDB") {
		t.Errorf("version %s", version)
	}
	if users := p.Value(0, "SELECT group_concat(User ORDER BY User) FROM mysql.user WHERE account_locked = 'N'"); users != "assay" {
		t.Errorf("users %s", users)
	}
	for user, password := range map[string]string{"root": "", binlog.UserName: "wrong", "mysql": ""} {
		var refused *mysql.MySQLError
		if err := servertest.SQL(t, m.Node(0).Address(), url.UserPassword(user, password)).PingContext(expect.Patiently(t)); !errors.As(err, &refused) || refused.Number != 1045 {
			t.Errorf("user %q: %v, want access denied", user, err)
		}
	}
	for _, line := range servertest.CommandLines(t) {
		if strings.Contains(line, `p'w`) {
			t.Errorf("the password is in the process list: %s", line)
		}
	}
	p.Write(1)
	expect.NoError(t, m.Node(0).Kill())
	p.MustRestart(0)
	p.MustHold("1")
	expect.NoError(t, m.Node(0).Pause())
	if err := m.Ready(expect.Within(t, 300*time.Millisecond), 0); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a paused node is ready: %v", err)
	}
	expect.NoError(t, m.Node(0).Resume())
	p.MustHold("1")
	expect.NoError(t, m.Node(0).Stop(expect.Patiently(t)))
	if err := m.Settled(expect.Within(t, time.Second)); err == nil {
		t.Error("settled without a node")
	}
	p.MustRestart(0)
	p.MustHold("1")
	if err := errors.Join(m.Close(), m.Close()); err != nil || server.Exists(dir) {
		t.Errorf("%v, folder there: %v", err, server.Exists(dir))
	}
	if err := m.Restart(expect.Patiently(t), 0); !errors.Is(err, os.ErrClosed) {
		t.Errorf("Restart after Close: %v", err)
	}
}

func TestOnMySQLWhatCannotStartSaysWhy(t *testing.T) {
	dir := filepath.Join(os.TempDir(), fmt.Sprintf("assay-test-%d-mysql", os.Getpid()))
	servertest.SaysWhy(expect.Patiently(t), t, dir, Start, map[string]servertest.Wrong[Options]{
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
