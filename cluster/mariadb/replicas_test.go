package mariadb

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"

	"assay/cluster/binlog"
	"assay/cluster/server"
	"assay/internal/expect"
)

// led is a set of three with what it has announced.
type led struct {
	*binlog.Set
	t     *testing.T
	login url.Userinfo

	mu    sync.Mutex
	lines []string
}

func startReplicas(t *testing.T, o Options) *led {
	t.Helper()
	l := &led{t: t}
	o.Nodes, o.CacheSize, o.FailoverAfter, o.LogDir = 3, 32<<20, 1500*time.Millisecond, t.TempDir()
	o.Announce = func(text string) {
		t.Log(text)
		l.mu.Lock()
		defer l.mu.Unlock()
		l.lines = append(l.lines, text)
	}
	var err error
	l.Set, err = StartSet(timeLimit(t), o)
	expect.NoError(t, err)
	expect.AtEnd(t, l.Close)
	u, err := url.Parse(l.Address())
	expect.NoError(t, err)
	l.login = *u.User
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

// primary is who takes writes, as soon as somebody does.
func (l *led) primary() int {
	l.t.Helper()
	i, err := l.Primary(timeLimit(l.t))
	expect.NoError(l.t, err)
	return i
}

// insert writes a row as soon as there is somebody who takes it.
func (l *led) insert(id int) {
	l.t.Helper()
	err := server.Until(timeLimit(l.t), 20*time.Millisecond, "a write", func(ctx context.Context) error {
		i, err := l.Primary(ctx)
		if err != nil {
			return err
		}
		bounded, cancel := context.WithTimeout(ctx, 15*time.Second)
		defer cancel()
		_, err = l.client(i).ExecContext(bounded, "INSERT INTO probe.t VALUES (?) ON DUPLICATE KEY UPDATE id = id", id)
		return err
	})
	expect.NoError(l.t, err)
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

// announced waits for a line with these parts.
func (l *led) announced(parts ...string) {
	l.t.Helper()
	err := server.Until(timeLimit(l.t), 20*time.Millisecond, fmt.Sprintf("%q", parts), func(context.Context) error {
		l.mu.Lock()
		defer l.mu.Unlock()
		for _, line := range l.lines {
			if !slices.ContainsFunc(parts, func(part string) bool { return !strings.Contains(line, part) }) {
				return nil
			}
		}
		return errors.New("it is not announced")
	})
	expect.NoError(l.t, err)
}

func TestReplicasGoThroughFaults(t *testing.T) {
	for name, how := range map[string]Replication{"semisync": Semisync, "async": Asynchronous} {
		t.Run(name, func(t *testing.T) {
			l := startReplicas(t, Options{Replication: how})
			if n := strings.Count(l.Address(), ","); n != 2 || l.primary() != 0 {
				t.Errorf("address %s, primary %d", l.Address(), l.primary())
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

			// A primary that is started again at once remains it.
			l.restart(0)
			if l.primary() != 0 {
				t.Error("another was promoted")
			}
			l.insert(4)
			l.mustHold("1,2,3,4")

			// One that is killed is replaced, and comes back as a replica.
			expect.NoError(t, l.Node(0).Kill())
			l.insert(5)
			second := l.primary()
			if second == 0 {
				t.Error("the killed node takes writes")
			}
			l.announced(fmt.Sprintf("n%d is promoted", second+1))
			l.restart(0)
			l.mustHold("1,2,3,4,5")

			// One that is paused is fenced.
			expect.NoError(t, l.Node(second).Pause())
			l.insert(6)
			if err := l.Node(second).Resume(); !errors.Is(err, os.ErrProcessDone) {
				t.Errorf("Resume of a fenced node: %v", err)
			}
			l.restart(second)
			l.mustHold("1,2,3,4,5,6")

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
			l.insert(7)
			l.mustHold("1,2,3,4,5,6,7")
		})
	}
}

// TestWhatAFailoverLoses has the primary write while no replica is there, and be lost before one
// is: with asynchronous replication the rows are gone, and whoever has them is made anew; with
// semi-synchronous replication nobody is promoted.
func TestWhatAFailoverLoses(t *testing.T) {
	away := func(l *led, seen ...string) {
		l.insert(1)
		l.mustHold("1")
		expect.NoError(t, errors.Join(l.Node(1).Kill(), l.Node(2).Kill()))
		l.insert(2)
		if len(seen) > 0 {
			l.announced(seen...)
		}
		expect.NoError(t, l.Node(0).Kill())
		l.restart(1)
		l.restart(2)
	}
	t.Run("async", func(t *testing.T) {
		l := startReplicas(t, Options{Replication: Asynchronous})
		away(l)
		l.insert(3)
		if l.primary() == 0 {
			t.Fatal("the killed node takes writes")
		}
		l.restart(0)
		l.announced("n1 has 1 transactions beyond", "they are lost")
		l.announced("n1", "made anew")
		l.mustHold("1,3")
		if !l.Node(0).Running() {
			t.Error("who was made anew does not run")
		}
		l.mu.Lock()
		defer l.mu.Unlock()
		for _, line := range l.lines {
			if strings.Contains(line, "stopped at an error") {
				t.Error(line)
			}
		}
	})
	t.Run("semisync", func(t *testing.T) {
		l := startReplicas(t, Options{Replication: Semisync, Settings: []string{"rpl-semi-sync-master-timeout=500"}})
		away(l, "goes on without its replicas")
		l.announced("nobody is promoted", "only it is certain")
		log, err := os.ReadFile(l.Node(0).Log)
		if expect.NoError(t, err); !strings.Contains(string(log), binlog.WaitedInVain) {
			t.Errorf("the log of n1 does not say %q", binlog.WaitedInVain)
		}
		l.restart(0)
		if l.primary() != 0 {
			t.Error("another was promoted")
		}
		l.announced("commits wait for any one of", "again")
		l.mustHold("1,2")
	})
}

func TestReplicasThatCannotStartSayWhy(t *testing.T) {
	dir := filepath.Join(os.TempDir(), fmt.Sprintf("assay-test-%d-replicas", os.Getpid()))
	for name, c := range map[string]struct {
		options Options
		want    string
	}{
		"setting":  {Options{Replication: Asynchronous, Settings: []string{"nonsense=1"}}, "unknown variable 'nonsense=1'"},
		"galera":   {Options{}, "Galera"},
		"failover": {Options{Replication: Semisync, FailoverAfter: time.Millisecond}, "at least 100ms"},
	} {
		t.Run(name, func(t *testing.T) {
			c.options.Dir, c.options.Nodes = dir, 2
			_, err := StartSet(timeLimit(t), c.options)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v; want it to speak of %q", err, c.want)
			}
			if server.Exists(dir) {
				t.Error("the folder is still there")
			}
		})
	}
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond) // three databases are not made by then
	defer cancel()
	if _, err := StartSet(ctx, Options{Dir: dir, Nodes: 3, Replication: Asynchronous}); !errors.Is(err, context.DeadlineExceeded) || server.Exists(dir) {
		t.Errorf("got %v, folder there: %v", err, server.Exists(dir))
	}
}

func TestReplicasLeaveNothing(t *testing.T) {
	dir := filepath.Join(os.TempDir(), fmt.Sprintf("assay-test-%d-left", os.Getpid()))
	s, err := StartSet(timeLimit(t), Options{Dir: dir, Nodes: 2, Replication: Semisync})
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
