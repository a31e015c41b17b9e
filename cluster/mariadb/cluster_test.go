package mariadb

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

func shortly(o Options) Options {
	o.Suspect, o.Inactive, o.Install = 2*time.Second, 4*time.Second, 4*time.Second
	return o
}

func client(t *testing.T, m *Cluster, i int) *sql.DB {
	t.Helper()
	return servertest.SQL(t, m.Node(i).Address(), url.UserPassword(binlog.UserName, m.login.Password))
}

func mustLeaveNothing(t *testing.T, m *Cluster) {
	t.Helper()
	dir := m.options.Dir
	servertest.Closed(t, m, m.Nodes(), dir, "")
	for _, line := range servertest.CommandLines(t) {
		if strings.Contains(line, dir) { // the scripts and rsync that copy a node's data name its folder
			t.Errorf("still there: %s", line)
		}
	}
}

func TestMariaDBStartsDurableAndPrivate(t *testing.T) {
	const password = `p'w \"x"/@%`
	m := expect.Started(t, Start, Options{Password: password, CacheSize: 64 << 20, Settings: []string{"max-connections=17"}})
	db := client(t, m, 0)
	for name, want := range map[string]string{
		"innodb_flush_log_at_trx_commit": "1", "sync_binlog": "1", "bind_address": "127.0.0.1", "max_connections": "17",
		"innodb_buffer_pool_size": "67108864", "innodb_doublewrite": "1", "wsrep_on": "0", "socket": "mariadb.sock",
	} {
		if got := servertest.Value(t, db, "SELECT @@global."+name); got != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
	if users := servertest.Value(t, db, "SELECT group_concat(User, '@', Host ORDER BY User) FROM mysql.global_priv"); users != "assay@%,mariadb.sys@localhost" {
		t.Errorf("users %s", users)
	}
	for user, password := range map[string]string{"root": "", binlog.UserName: "wrong", "mysql": "", "": ""} {
		var refused *mysql.MySQLError
		if err := servertest.SQL(t, m.Node(0).Address(), url.UserPassword(user, password)).PingContext(expect.Patiently(t)); !errors.As(err, &refused) || refused.Number != 1045 {
			t.Errorf("user %q: %v, want access denied", user, err)
		}
	}
	u, err := url.Parse(m.Address())
	if secret, _ := u.User.Password(); err != nil || secret != password || u.Host != m.Node(0).Address() || u.Scheme != "mysql" {
		t.Errorf("address %s, %v", m.Address(), err)
	}
	files, err := os.ReadDir(m.Node(0).Dir)
	if err != nil || len(files) != 2 {
		t.Errorf("the node's folder has %v (%v), want data and tmp", files, err)
	}
	for _, line := range servertest.CommandLines(t) {
		if strings.Contains(line, `p'w`) {
			t.Errorf("the password is in the process list: %s", line)
		}
	}
}

func TestMariaDBNodeGoesThroughFaults(t *testing.T) {
	t.Parallel()
	logs := t.TempDir()
	m := expect.Started(t, Start, Options{Layout: server.Layout{LogDir: logs}, MyRocks: true})
	db := client(t, m, 0)
	servertest.Execute(t, db, "CREATE DATABASE probe")
	for _, engine := range []string{"InnoDB", "ROCKSDB"} {
		servertest.Execute(t, db, "CREATE TABLE probe."+engine+" (id INT PRIMARY KEY) ENGINE="+engine)
		servertest.Execute(t, db, "INSERT INTO probe."+engine+" VALUES (1)")
	}
	rows := func() string {
		return servertest.Value(t, db, "SELECT concat((SELECT count(*) FROM probe.InnoDB), ' ', (SELECT count(*) FROM probe.ROCKSDB))")
	}
	expect.NoError(t, m.Node(0).Kill())
	if err := db.PingContext(expect.Within(t, 10*time.Second)); err == nil {
		t.Error("the killed node still answers")
	}
	for range 2 { // the second time it runs and is stopped first
		before := m.Node(0).PID()
		expect.NoError(t, m.Restart(expect.Patiently(t), 0, "ASSAY_PROBE=yes"))
		env, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", m.Node(0).PID()))
		if err != nil || !strings.Contains(string(env), "ASSAY_PROBE=yes") || m.Node(0).PID() == before {
			t.Errorf("process %d after %d, environment %q, %v", m.Node(0).PID(), before, env, err)
		}
		if got := rows(); got != "1 1" {
			t.Errorf("%s rows, want 1 1", got)
		}
	}
	expect.NoError(t, m.Node(0).Pause())
	if err := m.Ready(expect.Within(t, 300*time.Millisecond), 0); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a paused node is ready: %v", err)
	}
	expect.NoError(t, m.Node(0).Resume())
	expect.NoError(t, m.Ready(expect.Patiently(t), 0), m.Settled(expect.Patiently(t)))
	if primary, err := m.Primary(expect.Patiently(t)); primary != 0 || err != nil {
		t.Errorf("primary %d, %v", primary, err)
	}
	expect.NoError(t, m.Node(0).Stop(expect.Patiently(t)))
	if text := m.Node(0).Tail(3); !strings.Contains(text, "Shutdown complete") || filepath.Dir(m.Node(0).Log) != logs {
		t.Errorf("the log %s ends with %q", m.Node(0).Log, text)
	}
	if err := m.Settled(expect.Within(t, time.Second)); err == nil {
		t.Error("settled without a node")
	}
	if err := m.Restart(expect.Patiently(t), 0); err != nil || rows() != "1 1" {
		t.Errorf("after Stop: %v, %s rows", err, rows())
	}
	mustLeaveNothing(t, m)
}

func TestMariaDBThatCannotStartSaysWhy(t *testing.T) {
	dir := folderOfTest("mariadb")
	servertest.SaysWhy(expect.Patiently(t), t, dir, Start, map[string]servertest.Wrong[Options]{
		"setting":      {Options: Options{Layout: server.Layout{Dir: dir}, Settings: []string{"nonsense=1"}}, Says: "unknown variable 'nonsense=1'"},
		"engine":       {Options: Options{Layout: server.Layout{Dir: dir}, Settings: []string{"default-storage-engine=abacus"}}, Says: "abacus"},
		"provider":     {Options: Options{Layout: server.Layout{Dir: dir, Nodes: 2}, Settings: []string{"wsrep-provider-options=evs.nonsense=1"}}, Says: "evs.nonsense"},
		"nodes":        {Options: Options{Layout: server.Layout{Dir: dir, Nodes: 10}}, Says: "1 to 9"},
		"cache":        {Options: Options{Layout: server.Layout{Dir: dir}, CacheSize: 1 << 20}, Says: "1048576"},
		"password":     {Options: Options{Layout: server.Layout{Dir: dir}, Password: "a\nb"}, Says: "more than one line"},
		"galera rocks": {Options: Options{Layout: server.Layout{Dir: dir, Nodes: 3}, MyRocks: true}, Says: "InnoDB only"},
	})
}

// folderOfTest can be entered by servers' users.
func folderOfTest(name string) string {
	return filepath.Join(os.TempDir(), fmt.Sprintf("assay-test-%d-%s", os.Getpid(), name))
}

func TestMariaDBStartEndsWithItsContext(t *testing.T) {
	dir := folderOfTest("mariadb")
	for _, after := range []time.Duration{0, time.Second} { // before anything, and in the middle
		servertest.GivenUp(t, dir, after, Start, Options{Layout: server.Layout{Dir: dir, Nodes: 3}})
	}
}
