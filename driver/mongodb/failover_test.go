package mongodb

import (
	"context"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	cluster "assay/cluster/mongodb"
	"assay/driver/drivertest"
	"assay/history"
	"assay/internal/expect"
	"assay/workload"
	"assay/workload/bank"
)

// crowd is some clients that work whatever happens.
type crowd struct {
	store   *bankStore
	ledger  *drivertest.Transfers
	commits []atomic.Int64
	stop    context.CancelFunc
	ended   sync.WaitGroup
}

func startCrowd(t *testing.T, store *bankStore, ledger *drivertest.Transfers, n int) *crowd {
	ctx, cancel := context.WithCancel(t.Context())
	c := &crowd{store: store, ledger: ledger, commits: make([]atomic.Int64, n), stop: cancel}
	for i := range n {
		c.ended.Go(func() { c.work(ctx, i) })
	}
	t.Cleanup(func() { c.stop(); c.ended.Wait() })
	return c
}

// work is one client: it replaces its session when it must and never ends by
// itself.
func (c *crowd) work(ctx context.Context, number int) {
	var session *bank.Session
	for seq := uint64(0); ctx.Err() == nil; seq++ {
		limited, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		if session == nil {
			session, _ = c.store.Session(limited)
		}
		if session != nil {
			source := rand.Int64N(8)
			r := do(limited, session, c.ledger, bank.Transfer{ID: workload.OperationID(number, seq), Source: 1 + source,
				Destination: 1 + (source+1+rand.Int64N(7))%8, Amount: 1 + rand.Int64N(100)})
			if r.Outcome == history.Committed {
				c.commits[number].Add(1)
			}
			if r.Broken || r.Outcome == history.Unknown {
				session.Close()
				session = nil
			}
		}
		cancel()
	}
	if session != nil {
		session.Close()
	}
}

// awaitEach waits until each client has committed n more.
func (c *crowd) awaitEach(t *testing.T, n int64) {
	t.Helper()
	ctx := patiently(t)
	before := make([]int64, len(c.commits))
	for i := range c.commits {
		before[i] = c.commits[i].Load()
	}
	for i := range c.commits {
		for c.commits[i].Load() < before[i]+n {
			if ctx.Err() != nil {
				t.Fatalf("client %d commits no more", i)
			}
			time.Sleep(5 * time.Millisecond)
		}
	}
}

// throughFault has eight clients work while something happens to the primary,
// wants every one of them to work on, and every answer to fit the data.
func throughFault(t *testing.T, set *cluster.ReplicaSet, fault func(primary int) error) {
	store, ledger := loaded(t, set, 1e6, 1e6, 1e6, 1e6, 1e6, 1e6, 1e6, 1e6)
	crowd := startCrowd(t, store, ledger, 8)
	for range 2 {
		crowd.awaitEach(t, 3)
		primary, err := set.Primary(patiently(t))
		expect.NoError(t, err)
		expect.NoError(t, fault(primary))
		crowd.awaitEach(t, 3)
	}
	crowd.stop()
	crowd.ended.Wait()
	read := ledger.Check(patiently(t), t, store.Store)
	if committed := ledger.Count(history.Committed); committed < 8*4*3 || len(read.Entries) < committed {
		t.Errorf("%d committed, %d rows", committed, len(read.Entries))
	}
	for _, outcome := range []history.Outcome{history.Unknown, history.Committed, history.Rejected, history.Failed} {
		t.Logf("%v: %d", outcome, ledger.Count(outcome))
	}
}

func testStepDown(t *testing.T, set *cluster.ReplicaSet) {
	throughFault(t, set, func(int) error { return set.StepDown(patiently(t)) })
}

func testKillPrimary(t *testing.T, set *cluster.ReplicaSet) {
	throughFault(t, set, func(primary int) error {
		if err := set.Node(primary).Kill(); err != nil {
			return err
		}
		return set.Restart(patiently(t), primary)
	})
}

// testCommitIsSentOnce loses the answer to a commit on a network that is well
// again at once, so that a resent commit would arrive.
func testCommitIsSentOnce(t *testing.T, set *cluster.ReplicaSet) {
	_, ledger := loaded(t, set, 1000, 1000)
	proxy := drivertest.NewProxy(t, set.Node(0).Address())
	address := "mongodb://" + proxy.Addr() + "/?directConnection=true"
	store := closing(t, mustOpen(t, address))
	commits := commitCounter(t, set)

	cutAfterCommit := func(commit func()) {
		t.Helper()
		seen := proxy.Arm([]byte("commitTransaction"), true)
		go func() {
			<-seen
			proxy.Pass()
		}()
		commit()
	}
	session := mustSession(t, store)
	tr := bank.Transfer{ID: 1, Source: 1, Destination: 2, Amount: 10}
	before := commits()
	cutAfterCommit(func() {
		if r := do(patiently(t), session, ledger, tr); r.Outcome != history.Unknown || r.Class == classResent {
			t.Errorf("a commit without answer: %+v", r)
		}
	})
	if n := commits() - before; n != 1 {
		t.Errorf("the server got %d commits", n)
	}
	// The library's own commit, to show that the counter tells the difference.
	client := plainClient(t, address+"&retryWrites=false")
	before = commits()
	cutAfterCommit(func() {
		err := client.UseSession(patiently(t), func(ctx context.Context) error {
			own := mongo.SessionFromContext(ctx)
			if err := own.StartTransaction(options.Transaction()); err != nil {
				return err
			}
			if _, err := client.Database("assay_bank").Collection("probe").InsertOne(ctx, bson.D{}); err != nil {
				return err
			}
			return own.CommitTransaction(ctx)
		})
		if err != nil {
			t.Errorf("the library's own commit: %v", err)
		}
	})
	if n := commits() - before; n != 2 {
		t.Errorf("the server got %d commits from the library's own commit, which used to be 2", n)
	}
	expect.NoError(t, client.Database("assay_bank").Collection("probe").Drop(patiently(t)))
	ledger.Check(patiently(t), t, store.Store)
}

// commitCounter asks the server how many commitTransaction it has got.
func commitCounter(t *testing.T, set *cluster.ReplicaSet) func() int64 {
	t.Helper()
	client := plainClient(t, set.Address())
	return func() int64 {
		t.Helper()
		var status struct {
			Metrics struct {
				Commands struct {
					Commit struct {
						Total int64 `bson:"total"`
					} `bson:"commitTransaction"`
				} `bson:"commands"`
			} `bson:"metrics"`
		}
		err := client.Database("admin").RunCommand(patiently(t), bson.D{{Key: "serverStatus", Value: 1}}).Decode(&status)
		expect.NoError(t, err)
		return status.Metrics.Commands.Commit.Total
	}
}
