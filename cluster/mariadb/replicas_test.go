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
	"sync"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"

	"assay/cluster/binlog"
	"assay/cluster/server"
	"assay/cluster/servertest"
	"assay/internal/expect"
)

// led is a set of three.
type led struct {
	*binlog.Set
	t     *testing.T
	login url.Userinfo
}

func startReplicas(t *testing.T, o Options) *led {
	t.Helper()
	o.Nodes, o.CacheSize, o.LogDir = 3, 32<<20, t.TempDir()
	set, err := StartSet(timeLimit(t), o)
	expect.NoError(t, err)
	expect.AtEnd(t, set.Close)
	u, err := url.Parse(set.Address())
	expect.NoError(t, err)
	l := &led{set, t, *u.User}
	l.exec(0, "CREATE DATABASE probe")
	l.exec(0, "CREATE TABLE probe.t (id INT PRIMARY KEY)")
	return l
}

func (l *led) client(i int) *sql.DB {
	l.t.Helper()
	config := mysql.NewConfig()
	config.User, config.Net, config.Addr = l.login.Username(), "tcp", l.Node(i).Address()
	config.Passwd, _ = l.login.Password()
	config.Logger = &mysql.NopLogger{}
	connector, err := mysql.NewConnector(config)
	expect.NoError(l.t, err)
	db := sql.OpenDB(connector)
	l.t.Cleanup(func() { db.Close() })
	return db
}

func (l *led) exec(i int, text string) {
	l.t.Helper()
	mariaExec(l.t, l.client(i), text)
}

func (l *led) insert(id int) {
	l.t.Helper()
	l.exec(0, fmt.Sprintf("INSERT INTO probe.t VALUES (%d)", id))
}

// mustHold wants all nodes that run to be in step, and to have these rows.
func (l *led) mustHold(want string) {
	l.t.Helper()
	expect.NoError(l.t, l.Settled(timeLimit(l.t)))
	for i := range 3 {
		if !l.Node(i).Running() {
			continue
		}
		if got := mariaValue(l.t, l.client(i), "SELECT coalesce(group_concat(id ORDER BY id), '') FROM probe.t"); got != want {
			l.t.Errorf("node %d has the rows %s, want %s", i, got, want)
		}
	}
}

func (l *led) restart(i int) {
	l.t.Helper()
	expect.NoError(l.t, l.Restart(timeLimit(l.t), i))
}

func TestReplicasGoThroughFaults(t *testing.T) {
	t.Parallel()
	for name, how := range map[string]Replication{"semisync": Semisync, "async": Asynchronous} {
		t.Run(name, func(t *testing.T) {
			l := startReplicas(t, Options{Replication: how})
			if n := strings.Count(l.Address(), ","); n != 2 {
				t.Errorf("address %s", l.Address())
			}
			l.insert(1)
			l.mustHold("1")

			// A replica that is killed gets what it missed; one that is paused too.
			expect.NoError(t, l.Node(2).Kill())
			l.insert(2)
			l.mustHold("1,2")
			l.restart(2)
			l.mustHold("1,2")
			expect.NoError(t, l.Node(1).Pause())
			l.insert(3)
			expect.NoError(t, l.Node(1).Resume())
			l.mustHold("1,2,3")

			// A primary is lost until it is started again, and the replicas follow it then.
			expect.NoError(t, l.Node(0).Kill())
			l.restart(1)
			l.primaryIsLost()
			l.restart(0)
			l.insert(4)
			l.mustHold("1,2,3,4")
			expect.NoError(t, l.Node(0).Pause())
			time.Sleep(binlog.Silence + time.Second)
			expect.NoError(t, l.Node(0).Resume())
			l.insert(5)
			l.mustHold("1,2,3,4,5")

			// All are killed, and start again at the same time.
			for i := range 3 {
				expect.NoError(t, l.Node(i).Kill())
			}
			var all sync.WaitGroup
			for i := range 3 {
				all.Go(func() {
					if err := l.Restart(timeLimit(t), i); err != nil {
						t.Error(err)
					}
				})
			}
			all.Wait()
			l.insert(6)
			l.mustHold("1,2,3,4,5,6")
		})
	}
}

// primaryIsLost wants no replica to take writes, and says so.
func (l *led) primaryIsLost() {
	l.t.Helper()
	for i := 1; i < 3; i++ {
		if got := mariaValue(l.t, l.client(i), "SELECT @@global.read_only"); got != "1" {
			l.t.Errorf("node %d takes writes", i)
		}
	}
	for what, ask := range map[string]func(context.Context) error{
		"a primary": func(ctx context.Context) error { _, err := l.Primary(ctx); return err }, "all in step": l.Settled,
	} {
		short, cancel := context.WithTimeout(l.t.Context(), time.Second)
		if err := ask(short); err == nil {
			l.t.Errorf("%s without node 0", what)
		}
		cancel()
	}
}

func TestReplicasThatCannotStartSayWhy(t *testing.T) {
	dir := folderOfTest("replicas")
	servertest.SaysWhy(timeLimit(t), t, dir, StartSet, map[string]servertest.Wrong[Options]{
		"setting": {Options: Options{Layout: server.Layout{Dir: dir, Nodes: 2}, Replication: Asynchronous, Settings: []string{"nonsense=1"}}, Says: "unknown variable 'nonsense=1'"},
		"galera":  {Options: Options{Layout: server.Layout{Dir: dir, Nodes: 2}}, Says: "Galera"},
	})
	// Three databases are not made by then.
	servertest.GivenUp(t, dir, 100*time.Millisecond, StartSet, Options{Layout: server.Layout{Dir: dir, Nodes: 3}, Replication: Asynchronous})
}

func TestReplicasLeaveNothing(t *testing.T) {
	dir := filepath.Join(os.TempDir(), fmt.Sprintf("assay-test-%d-left", os.Getpid()))
	s, err := StartSet(timeLimit(t), Options{Layout: server.Layout{Dir: dir, Nodes: 2}, Replication: Semisync})
	expect.NoError(t, err)
	if err := errors.Join(s.Close(), s.Close()); err != nil || server.Exists(dir) {
		t.Errorf("%v, folder there: %v", err, server.Exists(dir))
	}
	for _, line := range commandLines(t) {
		if strings.Contains(line, dir) {
			t.Errorf("still there: %s", line)
		}
	}
	if err := s.Restart(timeLimit(t), 0); !errors.Is(err, os.ErrClosed) {
		t.Errorf("Restart after Close: %v", err)
	}
}
