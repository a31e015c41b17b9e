package mongodb

import (
	"context"
	"errors"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"assay/cluster"
	"assay/driver/drivertest"
	"assay/history"
	"assay/workload"
	"assay/workload/bank"
)

// loaded is a Store with accounts 1, 2, ... of these balances, dropped at the
// end.
func loaded(t *testing.T, set *cluster.MongoDB, balances ...int64) (*bankStore, *drivertest.Ledger) {
	t.Helper()
	store := closing(t, mustOpen(t, set.Address()))
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		if err := store.Drop(ctx); err != nil {
			t.Errorf("Drop: %v", err)
		}
	})
	var accounts []bank.Account
	for i, balance := range balances {
		accounts = append(accounts, bank.Account{ID: int64(i + 1), Balance: balance})
	}
	ctx := patiently(t)
	if err := errors.Join(store.Create(ctx, workload.Mark{Run: "test", Workload: "bank"}),
		store.LoadAccounts(ctx, accounts), store.FinishLoad(ctx)); err != nil {
		t.Fatal(err)
	}
	return store, drivertest.NewLedger(accounts)
}

func mustSession(t *testing.T, store *bankStore) *bankSession {
	t.Helper()
	session, err := store.Session(patiently(t))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(session.Close)
	return session.(*bankSession)
}

// do makes an attempt and records it.
func do(ctx context.Context, session bank.Session, ledger *drivertest.Ledger, t bank.Transfer) bank.Reply {
	r := session.Transfer(ctx, t)
	ledger.Record(t, r)
	return r
}

// mustCommit repeats a transfer until it is committed.
func mustCommit(t *testing.T, session bank.Session, ledger *drivertest.Ledger, tr bank.Transfer) {
	t.Helper()
	ctx := patiently(t)
	for {
		r := do(ctx, session, ledger, tr)
		if r.Outcome == history.Committed {
			return
		}
		if ctx.Err() != nil || r.Outcome != history.Failed {
			t.Fatalf("transfer %+v: %v (%s: %v)", tr, r.Outcome, r.Class, r.Err)
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// hold opens a transaction on account 1 in an application of this name.
func hold(t *testing.T, address, appName string) *mongo.Session {
	t.Helper()
	client := plainClient(t, address+"&appName="+strings.ReplaceAll(appName, " ", "%20"))
	session, err := client.StartSession()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { session.EndSession(context.Background()) })
	if err := session.StartTransaction(); err != nil {
		t.Fatal(err)
	}
	_, err = client.Database(bankDatabase).Collection(accountCollection).UpdateByID(
		mongo.NewSessionContext(patiently(t), session), int64(1), bson.D{{Key: "$inc", Value: bson.D{{Key: "version", Value: 100}}}})
	if err != nil {
		t.Fatal(err)
	}
	return session
}

func testWriteConflict(t *testing.T, set *cluster.MongoDB) {
	store, ledger := loaded(t, set, 100, 100)
	session := mustSession(t, store)
	other := hold(t, set.Address(), "another")
	tr := bank.Transfer{ID: 1, Source: 1, Destination: 2, Amount: 10}
	if r := do(patiently(t), session, ledger, tr); r.Outcome != history.Failed || r.Class != bank.ClassSerialization || r.Broken {
		t.Errorf("an account in another's hands: %+v", r)
	}
	if err := other.AbortTransaction(patiently(t)); err != nil {
		t.Fatal(err)
	}
	mustCommit(t, session, ledger, tr)
	ledger.Check(patiently(t), t, store)
}

func testSettleWaits(t *testing.T, set *cluster.MongoDB) {
	store, _ := loaded(t, set, 100, 100)
	foreign := hold(t, set.Address(), "another")
	if err := store.Settle(patiently(t)); err != nil {
		t.Errorf("Settle while only another application has a transaction: %v", err)
	}
	if err := foreign.AbortTransaction(patiently(t)); err != nil {
		t.Fatal(err)
	}
	ours := hold(t, set.Address(), appNamePrefix("bank")+"of an earlier run")
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	err := store.Settle(ctx)
	if !errors.As(err, new(*openError)) || !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("Settle while a transaction is open: %v", err)
	}
	if err := ours.AbortTransaction(patiently(t)); err != nil {
		t.Fatal(err)
	}
	if err := store.Settle(patiently(t)); err != nil {
		t.Errorf("Settle when all is over: %v", err)
	}
}

// testAbandonedIsAborted leaves a transaction open, as a broken network does,
// and wants the next session to close it before the server would.
func testAbandonedIsAborted(t *testing.T, set *cluster.MongoDB) {
	store, ledger := loaded(t, set, 100, 100)
	session := mustSession(t, store)
	if err := session.begin(); err != nil {
		t.Fatal(err)
	}
	counted, sent := counting(patiently(t))
	a := &attempt{store: store, sent: sent, transfer: bank.Transfer{ID: 1, Source: 1, Destination: 2, Amount: 10}}
	if ended := a.statements(mongo.NewSessionContext(counted, session.session)); ended != nil {
		t.Fatalf("%+v", *ended)
	}
	session.leave(true)
	if err := store.noneOpen(patiently(t)); !errors.As(err, new(*openError)) {
		t.Fatalf("the transaction is not open: %v", err)
	}
	second := mustSession(t, store)
	if err := store.noneOpen(patiently(t)); err != nil || len(store.abandoned) != 0 {
		t.Errorf("the transaction is still open: %v", err)
	}
	mustCommit(t, second, ledger, bank.Transfer{ID: 2, Source: 1, Destination: 2, Amount: 10})
	ledger.Check(patiently(t), t, store)
}

// testLifetimeLimit has the server abort a transaction before its commit.
func testLifetimeLimit(t *testing.T, set *cluster.MongoDB) {
	store, ledger := loaded(t, set, 100, 100)
	session := mustSession(t, store)
	if err := session.begin(); err != nil {
		t.Fatal(err)
	}
	counted, sent := counting(patiently(t))
	tr := bank.Transfer{ID: 1, Source: 1, Destination: 2, Amount: 10}
	a := &attempt{store: store, sent: sent, transfer: tr}
	if ended := a.statements(mongo.NewSessionContext(counted, session.session)); ended != nil {
		t.Fatalf("%+v", *ended)
	}
	if err := store.Settle(patiently(t)); err != nil { // returns when the server has given up
		t.Fatal(err)
	}
	r := session.commit(patiently(t))
	ledger.Record(tr, r)
	if r.Outcome != history.Failed || r.Class != classAborted {
		t.Errorf("commit of an aborted transaction: %+v", r)
	}
	mustCommit(t, session, ledger, bank.Transfer{ID: 2, Source: 1, Destination: 2, Amount: 10})
	ledger.Check(patiently(t), t, store)
}

// testUnconfirmedDuplicate commits on a primary that a majority does not
// answer. The row that a repetition then meets there proves nothing.
func testUnconfirmedDuplicate(t *testing.T, set *cluster.MongoDB) {
	store, ledger := loaded(t, set, 100, 100)
	session := mustSession(t, store)
	primary, err := set.WaitPrimary(patiently(t))
	if err != nil {
		t.Fatal(err)
	}
	others := func(do func(int) error) {
		for i := range set.Nodes() {
			if i == primary {
				continue
			}
			if err := do(i); err != nil {
				t.Error(err)
			}
		}
	}
	others(set.Pause)
	tr := bank.Transfer{ID: 1, Source: 1, Destination: 2, Amount: 10}
	try := func() bank.Reply {
		ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
		defer cancel()
		return do(ctx, session, ledger, tr)
	}
	first, second := try(), try()
	others(set.Resume)
	if first.Outcome != history.Unknown {
		t.Errorf("a commit that no majority confirmed: %+v", first)
	}
	if second.Outcome != history.Failed || second.Duplicate {
		t.Errorf("its repetition: %+v", second)
	}
	t.Logf("first %s, then %s: %v", first.Class, second.Class, second.Err)
	// Whatever became of it, it is settled now, and a repetition is told.
	again := mustSession(t, store)
	ctx := patiently(t)
	for ctx.Err() == nil {
		if r := do(ctx, again, ledger, tr); r.Outcome == history.Committed || r.Duplicate {
			break
		}
		time.Sleep(20 * time.Millisecond)
	}
	read := ledger.Check(patiently(t), t, store)
	if len(read.Entries) != 1 {
		t.Errorf("%d rows, want one", len(read.Entries))
	}
}

// crowd is some clients that work whatever happens.
type crowd struct {
	store   *bankStore
	ledger  *drivertest.Ledger
	commits []atomic.Int64
	stop    context.CancelFunc
	ended   sync.WaitGroup
}

func startCrowd(t *testing.T, store *bankStore, ledger *drivertest.Ledger, n int) *crowd {
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
	var session bank.Session
	for seq := uint64(0); ctx.Err() == nil; seq++ {
		limited, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		if session == nil {
			session, _ = c.store.Session(limited)
		}
		if session != nil {
			source := rand.Int64N(8)
			r := do(limited, session, c.ledger, bank.Transfer{ID: bank.TransferID(number, seq), Source: 1 + source,
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
func throughFault(t *testing.T, set *cluster.MongoDB, fault func(primary int) error) {
	store, ledger := loaded(t, set, 1e6, 1e6, 1e6, 1e6, 1e6, 1e6, 1e6, 1e6)
	crowd := startCrowd(t, store, ledger, 8)
	for range 2 {
		crowd.awaitEach(t, 3)
		primary, err := set.WaitPrimary(patiently(t))
		if err != nil {
			t.Fatal(err)
		}
		if err := fault(primary); err != nil {
			t.Fatal(err)
		}
		crowd.awaitEach(t, 3)
	}
	crowd.stop()
	crowd.ended.Wait()
	read := ledger.Check(patiently(t), t, store)
	if committed := ledger.Count(history.Committed); committed < 8*4*3 || len(read.Entries) < committed {
		t.Errorf("%d committed, %d rows", committed, len(read.Entries))
	}
}

func testStepDown(t *testing.T, set *cluster.MongoDB) {
	throughFault(t, set, func(int) error { return set.StepDown(patiently(t)) })
}

func testKillPrimary(t *testing.T, set *cluster.MongoDB) {
	throughFault(t, set, func(primary int) error {
		if err := set.Kill(primary); err != nil {
			return err
		}
		return set.Restart(patiently(t), primary)
	})
}

// testCommitIsSentOnce loses the answer to a commit on a network that is well
// again at once, so that a resent commit would arrive.
func testCommitIsSentOnce(t *testing.T, set *cluster.MongoDB) {
	_, ledger := loaded(t, set, 1000, 1000)
	proxy := drivertest.NewProxy(t, set.HostPort(0))
	address := "mongodb://" + proxy.Addr() + "/?directConnection=true"
	store := closing(t, mustOpen(t, address))
	commits := commitCounter(t, set)

	cutAfterCommit := func(commit func()) {
		t.Helper()
		seen := proxy.Arm([]byte("commitTransaction"), true)
		go func() {
			<-seen
			time.Sleep(50 * time.Millisecond)
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
			if _, err := client.Database(bankDatabase).Collection("probe").InsertOne(ctx, bson.D{}); err != nil {
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
	if err := client.Database(bankDatabase).Collection("probe").Drop(patiently(t)); err != nil {
		t.Fatal(err)
	}
	ledger.Check(patiently(t), t, store)
}

// commitCounter asks the server how many commitTransaction it has got.
func commitCounter(t *testing.T, set *cluster.MongoDB) func() int64 {
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
		if err != nil {
			t.Fatal(err)
		}
		return status.Metrics.Commands.Commit.Total
	}
}
