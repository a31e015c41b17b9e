package mongodb

import (
	"context"
	"errors"
	"path/filepath"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"assay/cluster/server"
	"assay/cluster/servertest"
	"assay/internal/expect"
)

// insert writes one document that every running member confirms: a member that lags may be slow to
// replace the primary.
func insert(t *testing.T, m *ReplicaSet, id int) {
	t.Helper()
	var reply struct {
		N                 int      `bson:"n"`
		WriteErrors       bson.Raw `bson:"writeErrors"`
		WriteConcernError bson.Raw `bson:"writeConcernError"`
	}
	running := 0
	for _, node := range m.Nodes()[:m.options.Nodes] {
		if halted, err := node.Process().Halted(); err == nil && !halted {
			running++
		}
	}
	command := bson.D{{Key: "insert", Value: "probe"}, {Key: "documents", Value: bson.A{bson.D{{Key: "_id", Value: id}}}},
		{Key: "writeConcern", Value: bson.D{{Key: "w", Value: running}, {Key: "wtimeout", Value: expect.Patience.Milliseconds()}}}}
	err := run(expect.Patiently(t), m.Node(servertest.Leader(t, m)), expect.Patience, command, &reply)
	if err != nil || reply.N != 1 || reply.WriteErrors != nil || reply.WriteConcernError != nil {
		t.Fatalf("insert: %+v, %v", reply, err)
	}
}

func count(t *testing.T, m *ReplicaSet) int {
	t.Helper()
	var reply struct {
		N int `bson:"n"`
	}
	command := bson.D{{Key: "count", Value: "probe"}, {Key: "query", Value: bson.D{{Key: "_id", Value: bson.D{{Key: "$gte", Value: 0}}}}}}
	expect.NoError(t, run(expect.Patiently(t), m.Node(servertest.Leader(t, m)), time.Minute, command, &reply))
	return reply.N
}

func TestMongoDBSetGoesThroughFaults(t *testing.T) {
	t.Parallel()
	logs := t.TempDir()
	m := expect.Started(t, Start, Options{Layout: server.Layout{LogDir: logs}, ElectionTimeout: 2 * time.Second, Heartbeat: 500 * time.Millisecond})
	first := servertest.Leader(t, m)
	insert(t, m, 1)

	expect.NoError(t, m.Node(first).Pause())
	second := servertest.OtherLeader(t, m, first)
	insert(t, m, 2)
	expect.NoError(t, m.Node(first).Resume())
	if err := await(expect.Patiently(t), m.Node(first), func(r helloReply) bool { return r.Secondary }); err != nil {
		t.Errorf("the paused primary did not give way: %v", err)
	}
	insert(t, m, 3)

	expect.NoError(t, m.Node(second).Kill())
	third := servertest.OtherLeader(t, m, second)
	insert(t, m, 4)
	before := m.Node(second).PID()
	expect.NoError(t, m.Restart(expect.Patiently(t), second))
	if m.Node(second).PID() == before {
		t.Error("Restart left the process as it was")
	}
	insert(t, m, 5)

	expect.NoError(t, m.StepDown(expect.Patiently(t)))
	servertest.OtherLeader(t, m, third)
	insert(t, m, 6)
	if n := count(t, m); n != 6 {
		t.Errorf("%d documents of 6 after all faults", n)
	}
	servertest.Closed(t, m, m.Nodes(), m.options.Dir, logs)
}

// TestMembersOfANewSetCanFollowOneAnother: no member is behind the beginning of another's oplog,
// which could then not be its source after a loss of the first member.
func TestMembersOfANewSetCanFollowOneAnother(t *testing.T) {
	t.Parallel()
	m := expect.Started(t, Start, Options{})
	type oplog struct {
		Earliest bson.Timestamp `bson:"earliestOptime"`
		Latest   bson.Timestamp `bson:"latestOptime"`
	}
	var oplogs []oplog
	for _, node := range m.Nodes() {
		var status struct {
			Oplog oplog `bson:"oplog"`
		}
		expect.NoError(t, run(expect.Patiently(t), node, time.Minute, bson.D{{Key: "serverStatus", Value: 1}, {Key: "oplog", Value: 1}}, &status))
		oplogs = append(oplogs, status.Oplog)
	}
	for i, behind := range oplogs {
		for j, source := range oplogs {
			if source.Earliest.IsZero() || behind.Latest.Before(source.Earliest) {
				t.Errorf("member %d has all up to %v, and the oplog of member %d begins at %v", i, behind.Latest, j, source.Earliest)
			}
		}
	}
}

func TestMongoDBOptionsReachTheSet(t *testing.T) {
	t.Parallel()
	m := expect.Started(t, Start, Options{Layout: server.Layout{Nodes: 2}, Arbiters: 1, ReplicaSet: "tested", ElectionTimeout: 3 * time.Second,
		Heartbeat: 700 * time.Millisecond, CacheSize: 300 << 20, OplogSize: 200 << 20,
		Args: []string{"--setParameter", "transactionLifetimeLimitSeconds=17"}})
	if want := "mongodb://" + m.Node(0).Address() + "," + m.Node(1).Address() + "/?replicaSet=tested"; m.Address() != want {
		t.Errorf("address %s, want %s", m.Address(), want)
	}
	reply, err := hello(t.Context(), m.Node(2))
	if err != nil || !reply.Arbiter {
		t.Errorf("member 2 says %+v, %v; want an arbiter", reply, err)
	}
	ask := func(name string, into any) {
		t.Helper()
		expect.NoError(t, run(t.Context(), m.Node(0), answerBound, bson.D{{Key: name, Value: 1}}, into))
	}
	var config struct {
		Config struct {
			Settings struct {
				Election  int `bson:"electionTimeoutMillis"`
				Heartbeat int `bson:"heartbeatIntervalMillis"`
			}
		}
	}
	ask("replSetGetConfig", &config)
	if s := config.Config.Settings; s.Election != 3000 || s.Heartbeat != 700 {
		t.Errorf("settings %+v", s)
	}
	var status struct {
		WiredTiger struct {
			Cache struct {
				Size float64 `bson:"maximum bytes configured"`
			}
		} `bson:"wiredTiger"`
	}
	ask("serverStatus", &status)
	if status.WiredTiger.Cache.Size != 300<<20 {
		t.Errorf("cache of %v bytes", status.WiredTiger.Cache.Size)
	}
	var parameter struct {
		Limit int `bson:"transactionLifetimeLimitSeconds"`
	}
	command := bson.D{{Key: "getParameter", Value: 1}, {Key: "transactionLifetimeLimitSeconds", Value: 1}}
	if err := run(t.Context(), m.Node(0), answerBound, command, &parameter); err != nil || parameter.Limit != 17 {
		t.Errorf("parameter %+v, %v", parameter, err)
	}
	insert(t, m, 1)
}

func TestMongoDBThatCannotStartSaysWhy(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "set")
	servertest.SaysWhy(expect.Patiently(t), t, dir, Start, map[string]servertest.Wrong[Options]{
		"parameter": {Options: Options{Layout: server.Layout{Nodes: 1, Dir: dir}, Args: []string{"--setParameter", "nonsense=1"}}, Says: "nonsense"},
		"engine":    {Options: Options{Layout: server.Layout{Nodes: 1, Dir: dir}, Args: []string{"--storageEngine", "abacus"}}, Says: "abacus"},
		"members":   {Options: Options{Layout: server.Layout{Nodes: 6, Dir: dir}, Arbiters: 2}, Says: "at most 7"},
		"cache":     {Options: Options{Layout: server.Layout{Dir: dir}, CacheSize: 1 << 20}, Says: "1048576"},
	})
	servertest.GivenUp(t, dir, 100*time.Millisecond, Start, Options{Layout: server.Layout{Dir: dir}})
}

func TestMongoDBPrimaryEnds(t *testing.T) {
	m := expect.Started(t, Start, Options{Layout: server.Layout{Nodes: 1}})
	expect.NoError(t, m.Node(0).Kill())
	ctx := expect.Within(t, 200*time.Millisecond)
	if _, err := m.Primary(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v", err)
	}
	if err := m.StepDown(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("StepDown: %v", err)
	}
}
