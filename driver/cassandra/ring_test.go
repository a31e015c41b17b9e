package cassandra

import (
	"context"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	gocql "github.com/apache/cassandra-gocql-driver/v2"

	cluster "assay/cluster/cassandra"
	"assay/cluster/server"
	"assay/driver/drivertest"
	"assay/history"
	"assay/internal/expect"
	"assay/store"
	"assay/workload/availability"
	"assay/workload/candles"
	"assay/workload/definition"
	"assay/workload/keyvalue"
)

func TestRing(t *testing.T) {
	t.Parallel()
	ctx := expect.Patiently(t)
	c, err := cluster.Start(ctx, cluster.Options{Layout: server.Layout{Nodes: 3}, Java: quickJava()})
	expect.NoError(t, err)
	expect.AtEnd(t, c.Close)
	t.Run("Workloads", func(t *testing.T) { // candles, which take longest, are tried on one node
		all := slices.DeleteFunc(drivertest.Supports(Open, Lacks()), func(s definition.Support) bool { return s.Workload == candles.Name })
		drivertest.ShortRuns(t, store.Target{Address: c.Address(), ConnectTimeout: time.Minute}, all...)
	})
	t.Run("NodesDie", func(t *testing.T) { testNodesDie(t, c) })
	t.Run("RowOnOneNode", func(t *testing.T) { testRowOnOneNode(t, c) }) // it leaves nodes down
}

// TestQuorumMeets: whether a quorum sees what fewer replicas have acknowledged.
func TestQuorumMeets(t *testing.T) {
	one, two := map[string]int{"a": 3}, map[string]int{"a": 3, "b": 3}
	for _, c := range []struct {
		copies map[string]int
		level  gocql.Consistency
		want   bool
	}{
		{one, gocql.One, false}, {one, gocql.LocalOne, false}, {one, gocql.Two, true}, {one, gocql.LocalQuorum, true}, {one, gocql.Quorum, true},
		{two, gocql.LocalQuorum, false}, {two, gocql.Three, true}, {two, gocql.All, true}, {map[string]int{"a": 1}, gocql.One, true}, {map[string]int{"a": 5}, gocql.Two, false},
	} {
		if got := quorumMeets(c.copies, c.level); got != c.want {
			t.Errorf("%v, %v: %v", c.copies, c.level, got)
		}
	}
}

// testRowOnOneNode has one node alone acknowledge a row, and then has that node away: what the
// others have is not all.
func testRowOnOneNode(t *testing.T, c *cluster.Ring) {
	ctx := expect.Patiently(t)
	db := closing(t, c.Address()+"?consistency=one")
	expect.NoError(t, db.Create(ctx, store.Marker{Run: "one", Workload: "availability", Created: time.Now().UTC(), Loaded: true}))
	session := drivertest.OpenRecords(t, db)
	expect.NoError(t, c.Node(1).Kill(), c.Node(2).Kill())
	for key := int64(1); session.Add(ctx, key).Outcome != history.Committed; key++ {
		expect.NoError(t, ctx.Err())
	}
	expect.NoError(t, c.Node(0).Kill())
	var back sync.WaitGroup
	for _, i := range []int{1, 2} {
		back.Go(func() {
			if err := c.Restart(ctx, i); err != nil {
				t.Error(err)
			}
		})
	}
	back.Wait()
	expect.Eventually(t, "a read refused for consistency one", func() bool { // once the library has found the nodes again
		rows := 0
		err := keyvalue.Read(ctx, db, availability.Schema(), func(store.Row) error {
			rows++
			return nil
		})
		if err == nil {
			t.Fatalf("%d rows were read, without the node that has one", rows)
		}
		return strings.Contains(err.Error(), "consistency one")
	})
}

// crew inserts until it is stopped and keeps the answers.
type crew struct {
	t         *testing.T
	store     store.Database
	keys      atomic.Int64
	committed atomic.Int64
	stop      chan struct{}
	all       sync.WaitGroup

	mu       sync.Mutex
	outcomes map[int64]history.Outcome // by key
}

func (w *crew) start(clients int) {
	w.stop = make(chan struct{})
	for range clients {
		session := drivertest.OpenRecords(w.t, w.store)
		w.all.Go(func() {
			for {
				select {
				case <-w.stop:
					return
				default:
				}
				if w.insert(session).Outcome != history.Committed {
					time.Sleep(10 * time.Millisecond)
				}
			}
		})
	}
}

func (w *crew) end() {
	close(w.stop)
	w.all.Wait()
}

func (w *crew) insert(session drivertest.Records) store.Reply {
	ctx, cancel := context.WithTimeout(w.t.Context(), 10*time.Second)
	defer cancel()
	key := w.keys.Add(1)
	r := session.Add(ctx, key)
	w.mu.Lock()
	w.outcomes[key] = r.Outcome
	w.mu.Unlock()
	if r.Outcome == history.Committed {
		w.committed.Add(1)
	}
	return r
}

func (w *crew) await(ctx context.Context, more int64) {
	w.t.Helper()
	for goal := w.committed.Load() + more; w.committed.Load() < goal; time.Sleep(5 * time.Millisecond) {
		if ctx.Err() != nil {
			w.t.Fatalf("%d inserts of %d were acknowledged", w.committed.Load(), goal)
		}
	}
}

func (w *crew) check(ctx context.Context) {
	w.t.Helper()
	expect.NoError(w.t, w.store.Settle(ctx))
	there := map[int64]bool{}
	err := keyvalue.Read(ctx, w.store, availability.Schema(), func(row store.Row) error {
		var key, value int64
		err := row.Scan(&key, &value)
		if outcome, sent := w.outcomes[key]; !sent || outcome == history.Failed || value != availability.Value(1, key) || there[key] {
			w.t.Errorf("%d, %d is there, and its insert %v (sent: %v)", key, value, outcome, sent)
		}
		there[key] = true
		return err
	})
	expect.NoError(w.t, err)
	for key, outcome := range w.outcomes {
		if outcome == history.Committed && !there[key] {
			w.t.Errorf("%d was acknowledged and is not there", key)
		}
	}
}

func testNodesDie(t *testing.T, c *cluster.Ring) {
	ctx := expect.Patiently(t)
	db := closing(t, c.Address())
	expect.NoError(t, db.Create(ctx, store.Marker{Run: "dies", Workload: "availability", Created: time.Now().UTC(), Loaded: true}))
	w := &crew{t: t, store: db, outcomes: map[int64]history.Outcome{}}
	w.start(4)
	w.await(ctx, 50)
	expect.NoError(t, c.Node(1).Kill())
	w.await(ctx, 100)
	w.end()
	w.twoDead(ctx, c)
	w.start(4)
	var back sync.WaitGroup
	for _, i := range []int{1, 2} {
		back.Go(func() {
			if err := c.Restart(ctx, i); err != nil {
				t.Error(err)
			}
		})
	}
	back.Wait()
	w.await(ctx, 50)
	w.end()
	expect.NoError(t, c.Settled(ctx))
	// Failed inserts must not appear with the replicas.
	w.check(ctx)
	expect.NoError(t, db.Drop(ctx))
}

// twoDead kills a second node of three. No insert is acknowledged; at first the outcome is unknown,
// and once the last node knows of the others it refuses.
func (w *crew) twoDead(ctx context.Context, c *cluster.Ring) {
	t := w.t
	expect.NoError(t, c.Node(2).Kill())
	session := drivertest.OpenRecords(t, w.store)
	for refused := 0; refused < 20; {
		r := w.insert(session)
		switch {
		case r.Outcome == history.Committed:
			t.Fatal("one node of three acknowledged for a quorum")
		case r.Class == classUnavailable:
			if r.Outcome != history.Failed {
				t.Errorf("refused: %+v", r)
			}
			refused++
		case r.Class == classWriteTimeout && r.Outcome != history.Unknown:
			t.Errorf("not enough replicas answered: %+v", r)
		}
		if ctx.Err() != nil {
			t.Fatalf("it refuses nothing: %+v", r)
		}
	}
	if _, r := session.Find(ctx, 1); r.Outcome != history.Failed {
		t.Errorf("a read of a quorum: %+v", r)
	}
	near, err := Open(ctx, store.Target{Address: "cassandra://" + c.Node(0).Address() + "/", Read: store.ReadNearest,
		ConnectTimeout: time.Minute}, availability.Schema())
	expect.NoError(t, err)
	defer near.Close()
	if found, r := drivertest.OpenRecords(t, near).Find(ctx, 1); r.Outcome != history.Committed || found != 1 {
		t.Errorf("a read of the one replica that is left: %d, %+v", found, r)
	}
}
