package mongodb

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"assay/cluster/server"
	"assay/internal/expect"
)

func startMongoDB(t *testing.T, o Options) *ReplicaSet {
	t.Helper()
	m, err := Start(t.Context(), o)
	expect.NoError(t, err)
	expect.AtEnd(t, m.Close)
	return m
}

// timeLimit bounds what should take seconds.
func timeLimit(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	t.Cleanup(cancel)
	return ctx
}

func mustPrimary(t *testing.T, m *ReplicaSet) int {
	t.Helper()
	primary, err := m.Primary(timeLimit(t))
	expect.NoError(t, err)
	return primary
}

// otherPrimary waits until the primary is another member than old.
func otherPrimary(t *testing.T, m *ReplicaSet, old int) int {
	t.Helper()
	ctx := timeLimit(t)
	for ctx.Err() == nil {
		if primary := mustPrimary(t, m); primary != old {
			return primary
		}
		time.Sleep(20 * time.Millisecond)
	}
	t.Fatalf("member %d stayed primary", old)
	return 0
}

// insert writes one document that every running member has to confirm: one
// that lags behind may take its time to replace the primary.
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
		{Key: "writeConcern", Value: bson.D{{Key: "w", Value: running}, {Key: "wtimeout", Value: 30_000}}}}
	err := run(timeLimit(t), m.Node(mustPrimary(t, m)), time.Minute, command, &reply)
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
	expect.NoError(t, run(timeLimit(t), m.Node(mustPrimary(t, m)), time.Minute, command, &reply))
	return reply.N
}

func TestMongoDBSetGoesThroughFaults(t *testing.T) {
	logs := t.TempDir()
	m := startMongoDB(t, Options{Layout: server.Layout{LogDir: logs}, ElectionTimeout: 2 * time.Second, Heartbeat: 500 * time.Millisecond})
	first := mustPrimary(t, m)
	insert(t, m, 1)

	expect.NoError(t, m.Node(first).Pause())
	second := otherPrimary(t, m, first)
	insert(t, m, 2)
	expect.NoError(t, m.Node(first).Resume())
	if err := await(timeLimit(t), m.Node(first), func(r helloReply) bool { return r.Secondary }); err != nil {
		t.Errorf("the paused primary did not give way: %v", err)
	}
	insert(t, m, 3)

	expect.NoError(t, m.Node(second).Kill())
	third := otherPrimary(t, m, second)
	insert(t, m, 4)
	before := m.Node(second).PID()
	expect.NoError(t, m.Restart(timeLimit(t), second))
	if m.Node(second).PID() == before {
		t.Error("Restart left the process as it was")
	}
	insert(t, m, 5)

	expect.NoError(t, m.StepDown(timeLimit(t)))
	otherPrimary(t, m, third)
	insert(t, m, 6)
	if n := count(t, m); n != 6 {
		t.Errorf("%d documents of 6 after all faults", n)
	}
	checkClose(t, m, logs)
}

// checkClose closes the set and fails the test unless only the logs are left.
func checkClose(t *testing.T, m *ReplicaSet, logs string) {
	t.Helper()
	expect.NoError(t, m.Close())
	for i := range m.Nodes() {
		if err := syscall.Kill(m.Node(i).PID(), 0); err != syscall.ESRCH {
			t.Errorf("member %d is still there: %v", i, err)
		}
		if info, err := os.Stat(m.Node(i).Log); err != nil || info.Size() == 0 || filepath.Dir(m.Node(i).Log) != logs {
			t.Errorf("log of member %d: %v, %v", i, m.Node(i).Log, err)
		}
	}
	if server.Exists(m.options.Dir) {
		t.Errorf("folder %s is still there", m.options.Dir)
	}
	if err := m.Restart(timeLimit(t), 0); !errors.Is(err, os.ErrClosed) {
		t.Errorf("Restart after Close: %v", err)
	}
	if err := m.Close(); err != nil {
		t.Errorf("second Close: %v", err)
	}
}

func TestMongoDBOptionsReachTheSet(t *testing.T) {
	m := startMongoDB(t, Options{Layout: server.Layout{Nodes: 2}, Arbiters: 1, ReplicaSet: "tested", ElectionTimeout: 3 * time.Second,
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
	for _, c := range []struct {
		name    string
		options Options
		want    string
	}{
		{"parameter", Options{Layout: server.Layout{Nodes: 1, Dir: dir}, Args: []string{"--setParameter", "nonsense=1"}}, "nonsense"},
		{"engine", Options{Layout: server.Layout{Nodes: 1, Dir: dir}, Args: []string{"--storageEngine", "abacus"}}, "abacus"},
		{"members", Options{Layout: server.Layout{Nodes: 6, Dir: dir}, Arbiters: 2}, "at most 7"},
		{"cache", Options{Layout: server.Layout{Dir: dir}, CacheSize: 1 << 20}, "1048576"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := Start(timeLimit(t), c.options)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v; want it to speak of %q", err, c.want)
			}
			if server.Exists(dir) {
				t.Error("the folder is still there")
			}
		})
	}
}

func TestMongoDBStartEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	dir := filepath.Join(t.TempDir(), "set")
	if _, err := Start(ctx, Options{Layout: server.Layout{Dir: dir}}); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v", err)
	}
	if server.Exists(dir) {
		t.Error("the folder is still there")
	}
}

func TestMongoDBPrimaryEnds(t *testing.T) {
	m := startMongoDB(t, Options{Layout: server.Layout{Nodes: 1}})
	expect.NoError(t, m.Node(0).Kill())
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	if _, err := m.Primary(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v", err)
	}
	if err := m.StepDown(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("StepDown: %v", err)
	}
}
