package etcd

import (
	"context"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"google.golang.org/grpc"

	"assay/cluster/server"
	"assay/cluster/servertest"
	"assay/internal/expect"
)

func put(t *testing.T, c *Cluster, member int) {
	t.Helper()
	ctx := expect.Patiently(t)
	err := server.Until(ctx, askPause, "a write", func(ctx context.Context) error {
		return speak(ctx, c.Node(member), answerBound, func(ctx context.Context, to *grpc.ClientConn) error {
			_, err := pb.NewKVClient(to).Put(ctx, &pb.PutRequest{Key: []byte("a"), Value: []byte("1")})
			return err
		})
	})
	expect.NoError(t, err)
}

func TestClusterGoesThroughFaults(t *testing.T) {
	logs := t.TempDir()
	c := expect.Started(t, Start, Options{Layout: server.Layout{LogDir: logs}})
	first := servertest.Leader(t, c)
	put(t, c, first)

	expect.NoError(t, c.Node(first).Pause())
	second := servertest.OtherLeader(t, c, first)
	put(t, c, second)
	expect.NoError(t, c.Node(first).Resume())
	expect.NoError(t, c.Settled(expect.Patiently(t)))

	expect.NoError(t, c.Node(second).Kill())
	third := servertest.OtherLeader(t, c, second)
	put(t, c, third)
	before := c.Node(second).PID()
	expect.NoError(t, c.Restart(expect.Patiently(t), second))
	if c.Node(second).PID() == before {
		t.Error("Restart left the process as it was")
	}
	put(t, c, second)
	expect.NoError(t, c.Settled(expect.Patiently(t)))

	expect.NoError(t, c.Node(third).Stop(expect.Patiently(t)))
	servertest.OtherLeader(t, c, third)
	expect.NoError(t, c.Restart(expect.Patiently(t), third))

	for i := range 2 { // without them the third serves nobody, and is not waited for
		expect.NoError(t, c.Node(i).Pause())
	}
	expect.NoError(t, c.Restart(expect.Patiently(t), 2))
	for i := range 2 {
		expect.NoError(t, c.Node(i).Resume())
	}
	expect.NoError(t, c.Settled(expect.Patiently(t)))

	for i := range c.Nodes() { // nobody serves until there is a majority
		expect.NoError(t, c.Node(i).Kill())
	}
	for i := range c.Nodes() {
		expect.NoError(t, c.Restart(expect.Patiently(t), i))
	}
	put(t, c, servertest.Leader(t, c))
	expect.NoError(t, c.Settled(expect.Patiently(t)))
	servertest.Closed(t, c, c.Nodes(), c.options.Dir, logs)
}

// TestUser: root has another user run the program if that user can reach it.
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
		c := expect.Started(t, Start, Options{Layout: server.Layout{Programs: of, Nodes: 1}})
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
	servertest.SaysWhy(expect.Patiently(t), t, dir, Start, map[string]servertest.Wrong[Options]{
		"flag":    {Options: Options{Layout: server.Layout{Nodes: 1, Dir: dir}, Args: []string{"--nonsense=1"}}, Says: "nonsense"},
		"value":   {Options: Options{Layout: server.Layout{Nodes: 1, Dir: dir}, Args: []string{"--election-timeout=1"}}, Says: "election-timeout"},
		"members": {Options: Options{Layout: server.Layout{Nodes: 8, Dir: dir}}, Says: "1 to 7"},
	})
	servertest.GivenUp(t, dir, 50*time.Millisecond, Start, Options{Layout: server.Layout{Dir: dir}})
}

func TestElected(t *testing.T) {
	of := func(leader, term uint64) *pb.StatusResponse {
		return &pb.StatusResponse{Leader: leader, RaftTerm: term}
	}
	type answers = map[int]*pb.StatusResponse
	for name, c := range map[string]struct {
		heard   answers
		members int
		want    int // -1: nobody yet
	}{
		"nobody has answered":                {nil, 3, -1},
		"it alone":                           {answers{0: of(1, 2)}, 1, 0},
		"the others are not heard yet":       {answers{0: of(1, 2)}, 3, -1},
		"one agrees":                         {answers{1: of(2, 2), 2: of(2, 2)}, 3, 1},
		"the others name one that is silent": {answers{1: of(1, 2), 2: of(1, 2)}, 3, -1},
		"they know none":                     {answers{1: of(0, 3), 2: of(0, 3)}, 3, -1},
		"deposed, still claiming":            {answers{0: of(1, 2), 1: of(2, 3), 2: of(2, 3)}, 3, 1},
		"another term":                       {answers{1: of(2, 3), 2: of(2, 2)}, 3, -1},
	} {
		for i, a := range c.heard {
			a.Header = &pb.ResponseHeader{MemberId: uint64(i + 1)}
		}
		leader, found := elected(c.heard, c.members)
		if found != (c.want >= 0) || found && leader != c.want {
			t.Errorf("%s: %d, %v; want %d", name, leader, found, c.want)
		}
	}
}
