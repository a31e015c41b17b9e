package etcd

import (
	"context"
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"assay/cluster/server"
	"assay/internal/expect"
)

func start(t *testing.T, o Options) *Cluster {
	t.Helper()
	c, err := Start(timeLimit(t), o)
	expect.NoError(t, err)
	expect.AtEnd(t, c.Close)
	return c
}

// timeLimit bounds what should take seconds.
func timeLimit(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	t.Cleanup(cancel)
	return ctx
}

func mustPrimary(t *testing.T, c *Cluster) int {
	t.Helper()
	leader, err := c.Primary(timeLimit(t))
	expect.NoError(t, err)
	return leader
}

// otherPrimary waits until the leader is another member than old.
func otherPrimary(t *testing.T, c *Cluster, old int) int {
	t.Helper()
	ctx := timeLimit(t)
	for ctx.Err() == nil {
		if leader := mustPrimary(t, c); leader != old {
			return leader
		}
		time.Sleep(20 * time.Millisecond)
	}
	t.Fatalf("member %d stayed leader", old)
	return 0
}

// put writes a key through a member: "a" = "1".
func put(t *testing.T, c *Cluster, member int) {
	t.Helper()
	ctx := timeLimit(t)
	err := server.Until(ctx, askPause, "a write", func(ctx context.Context) error {
		return send(ctx, http.MethodPost, "http://"+c.Node(member).Address()+"/v3/kv/put", `{"key": "YQ==", "value": "MQ=="}`, nil)
	})
	expect.NoError(t, err)
}

func TestClusterGoesThroughFaults(t *testing.T) {
	logs := t.TempDir()
	c := start(t, Options{Layout: server.Layout{LogDir: logs}})
	first := mustPrimary(t, c)
	put(t, c, first)

	expect.NoError(t, c.Node(first).Pause())
	second := otherPrimary(t, c, first)
	put(t, c, second)
	expect.NoError(t, c.Node(first).Resume())
	expect.NoError(t, c.Settled(timeLimit(t)))

	expect.NoError(t, c.Node(second).Kill())
	third := otherPrimary(t, c, second)
	put(t, c, third)
	before := c.Node(second).PID()
	expect.NoError(t, c.Restart(timeLimit(t), second))
	if c.Node(second).PID() == before {
		t.Error("Restart left the process as it was")
	}
	put(t, c, second)
	expect.NoError(t, c.Settled(timeLimit(t)))

	expect.NoError(t, c.Node(third).Stop(timeLimit(t)))
	otherPrimary(t, c, third)
	expect.NoError(t, c.Restart(timeLimit(t), third))

	for i := range 2 { // without them the third serves nobody, and is not waited for
		expect.NoError(t, c.Node(i).Pause())
	}
	expect.NoError(t, c.Restart(timeLimit(t), 2))
	for i := range 2 {
		expect.NoError(t, c.Node(i).Resume())
	}
	expect.NoError(t, c.Settled(timeLimit(t)))

	for i := range c.Nodes() { // nobody serves until there is a majority
		expect.NoError(t, c.Node(i).Kill())
	}
	for i := range c.Nodes() {
		expect.NoError(t, c.Restart(timeLimit(t), i))
	}
	put(t, c, mustPrimary(t, c))
	expect.NoError(t, c.Settled(timeLimit(t)))
	checkClose(t, c, logs)
}

// checkClose closes the cluster and fails the test unless only the logs are left.
func checkClose(t *testing.T, c *Cluster, logs string) {
	t.Helper()
	expect.NoError(t, c.Close())
	for i, n := range c.Nodes() {
		if err := syscall.Kill(n.PID(), 0); err != syscall.ESRCH {
			t.Errorf("member %d is still there: %v", i, err)
		}
		if info, err := os.Stat(n.Log); err != nil || info.Size() == 0 || filepath.Dir(n.Log) != logs {
			t.Errorf("log of member %d: %v, %v", i, n.Log, err)
		}
	}
	if server.Exists(c.options.Dir) {
		t.Errorf("folder %s is still there", c.options.Dir)
	}
	if err := c.Restart(timeLimit(t), 0); !errors.Is(err, os.ErrClosed) {
		t.Errorf("Restart after Close: %v", err)
	}
	if err := c.Close(); err != nil {
		t.Errorf("second Close: %v", err)
	}
}

// TestUser: root has another user run a program that this user can get at. Whoever else runs
// the test runs the member.
func TestUser(t *testing.T) {
	programs, err := os.MkdirTemp("", "assay-test-") // unlike that of the test it can be opened
	expect.NoError(t, err)
	expect.AtEnd(t, func() error { return os.RemoveAll(programs) })
	expect.NoError(t, os.Chmod(programs, 0o755))
	found, err := Program().Find("")
	expect.NoError(t, err)
	content, err := os.ReadFile(found)
	expect.NoError(t, err)
	expect.NoError(t, os.WriteFile(filepath.Join(programs, "etcd"), content, 0o755))
	user, err := server.Unprivileged("etcd", "nobody")
	expect.NoError(t, err)
	if !user.MayRun(filepath.Join(programs, "etcd")) {
		t.Fatalf("temporary folders are closed to others; set TMPDIR to one that is not")
	}
	want := os.Geteuid()
	if user != nil {
		want = int(user.UID)
	}
	closed := t.TempDir() // is ours alone
	expect.NoError(t, os.WriteFile(filepath.Join(closed, "etcd"), content, 0o755))
	for of, expected := range map[string]int{programs: want, closed: os.Geteuid()} {
		c := start(t, Options{Layout: server.Layout{Programs: of, Nodes: 1}})
		put(t, c, 0)
		data, err := os.Stat(filepath.Join(c.Node(0).Dir, "data"))
		expect.NoError(t, err)
		if owner := data.Sys().(*syscall.Stat_t).Uid; int(owner) != expected {
			t.Errorf("a member from %s is run by user %d, want %d", of, owner, expected)
		}
	}
}

func TestThatCannotStartSaysWhy(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "cluster")
	for name, c := range map[string]struct {
		options Options
		want    string
	}{
		"flag":    {Options{Layout: server.Layout{Nodes: 1, Dir: dir}, Args: []string{"--nonsense=1"}}, "nonsense"},
		"value":   {Options{Layout: server.Layout{Nodes: 1, Dir: dir}, Args: []string{"--election-timeout=1"}}, "election-timeout"},
		"members": {Options{Layout: server.Layout{Nodes: 8, Dir: dir}}, "1 to 7"},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := Start(timeLimit(t), c.options); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v; want it to speak of %q", err, c.want)
			}
			if server.Exists(dir) {
				t.Error("the folder is still there")
			}
		})
	}
}

func TestStartEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	dir := filepath.Join(t.TempDir(), "cluster")
	if _, err := Start(ctx, Options{Layout: server.Layout{Dir: dir}}); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v", err)
	}
	if server.Exists(dir) {
		t.Error("the folder is still there")
	}
}

func TestMissingProgram(t *testing.T) {
	missing := Program()
	missing.Name = "etcd-of-nobody"
	var want *server.MissingError
	if _, err := missing.Find(t.TempDir()); !errors.As(err, &want) || !strings.Contains(err.Error(), "install-servers.sh etcd") {
		t.Errorf("got %v", err)
	}
}

func TestElected(t *testing.T) {
	of := func(i int, leader, term uint64) answer {
		a := answer{number: i}
		a.status.Header.Member, a.status.Leader, a.status.Term = number(i+1), number(leader), number(term)
		return a
	}
	silent := answer{number: 0, err: errors.New("silent")}
	for name, c := range map[string]struct {
		heard   []answer
		members int
		want    int // -1: nobody yet
	}{
		"nobody has answered":                {nil, 3, -1},
		"it alone":                           {[]answer{of(0, 1, 2)}, 1, 0},
		"the others are not heard yet":       {[]answer{of(0, 1, 2)}, 3, -1},
		"one agrees":                         {[]answer{of(1, 2, 2), of(2, 2, 2)}, 3, 1},
		"the others name one that is silent": {[]answer{silent, of(1, 1, 2), of(2, 1, 2)}, 3, -1},
		"they know none":                     {[]answer{of(1, 0, 3), of(2, 0, 3)}, 3, -1},
		"deposed, still claiming":            {[]answer{of(0, 1, 2), of(1, 2, 3), of(2, 2, 3)}, 3, 1},
		"another term":                       {[]answer{of(1, 2, 3), of(2, 2, 2)}, 3, -1},
	} {
		leader, found := elected(c.heard, c.members)
		if found != (c.want >= 0) || found && leader != c.want {
			t.Errorf("%s: %d, %v; want %d", name, leader, found, c.want)
		}
	}
}
