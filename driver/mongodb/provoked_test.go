package mongodb

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"

	cluster "assay/cluster/mongodb"
	"assay/cluster/server"
	"assay/driver/drivertest"
	"assay/history"
	"assay/internal/expect"
	"assay/store"
	"assay/workload/bank"
)

// loaded is a database with accounts 1, 2, ... of these balances, dropped at the
// end.
func loaded(t *testing.T, set *cluster.ReplicaSet, balances ...int64) (*bankStore, *drivertest.Transfers) {
	t.Helper()
	db := closing(t, mustOpen(t, set.Address()))
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), expect.Patience)
		defer cancel()
		if err := db.Drop(ctx); err != nil {
			t.Errorf("Drop: %v", err)
		}
	})
	var accounts []bank.Account
	for i, balance := range balances {
		accounts = append(accounts, bank.Account{ID: int64(i + 1), Balance: balance})
	}
	ctx := expect.Patiently(t)
	if err := errors.Join(db.Create(ctx, store.Marker{Run: "test", Workload: "bank"}),
		db.LoadAccounts(ctx, accounts), db.FinishLoad(ctx)); err != nil {
		t.Fatal(err)
	}
	return db, drivertest.NewTransfers(accounts)
}

func mustSession(t *testing.T, db *bankStore) *bank.Session {
	t.Helper()
	session, err := db.Session(expect.Patiently(t))
	expect.NoError(t, err)
	t.Cleanup(session.Close)
	return session
}

// begun is a transaction that has moved money between accounts 1 and 2.
func begun(t *testing.T, db *bankStore) *transactor {
	t.Helper()
	x, err := db.transactor(expect.Patiently(t))
	expect.NoError(t, err)
	t.Cleanup(x.Close)
	steps := x.begin(expect.Patiently(t))
	for id, amount := range map[int64]int64{1: -10, 2: 10} {
		_, err := db.place(db.database.database, "account").change(steps, "update", "updates", bson.E{Key: "q", Value: byID(id)},
			bson.E{Key: "u", Value: bson.D{{Key: "$inc", Value: bson.D{{Key: "balance", Value: amount}, {Key: "version", Value: int64(1)}}}}})
		expect.NoError(t, err)
	}
	return x
}

// do makes an attempt and records it.
func do(ctx context.Context, session *bank.Session, ledger *drivertest.Transfers, t bank.Transfer) bank.Reply {
	r := session.Transfer(ctx, t)
	ledger.Record(t, r)
	return r
}

// mustCommit repeats a transfer until it is committed.
func mustCommit(t *testing.T, session *bank.Session, ledger *drivertest.Transfers, tr bank.Transfer) {
	t.Helper()
	ctx := expect.Patiently(t)
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
	expect.NoError(t, err)
	t.Cleanup(func() { session.EndSession(context.Background()) })
	expect.NoError(t, session.StartTransaction())
	_, err = client.Database("assay_bank").Collection("account").UpdateByID(
		mongo.NewSessionContext(expect.Patiently(t), session), int64(1), bson.D{{Key: "$inc", Value: bson.D{{Key: "version", Value: 100}}}})
	expect.NoError(t, err)
	return session
}

// untimed has the primary end no transaction for its age until the test ends.
func untimed(t *testing.T, db *bankStore) {
	t.Helper()
	limit := func(seconds int) {
		t.Helper()
		expect.NoError(t, db.admin.RunCommand(context.Background(), bson.D{{Key: "setParameter", Value: 1},
			{Key: "transactionLifetimeLimitSeconds", Value: seconds}}).Err())
	}
	limit(3600)
	t.Cleanup(func() { limit(2) })
}

func testSettleWaits(t *testing.T, set *cluster.ReplicaSet) {
	db, _ := loaded(t, set, 100, 100)
	untimed(t, db)
	foreign := hold(t, set.Address(), "another")
	if err := db.Settle(expect.Patiently(t)); err != nil {
		t.Errorf("Settle while only another application has a transaction: %v", err)
	}
	expect.NoError(t, foreign.AbortTransaction(expect.Patiently(t)))
	ours := hold(t, set.Address(), appNamePrefix("bank")+"of an earlier run")
	var err error
	for limit := time.Second; limit < expect.Patience && !errors.As(err, new(*openError)); limit *= 4 { // a busy server has answered once
		if err = db.Settle(expect.Within(t, limit)); !errors.Is(err, context.DeadlineExceeded) {
			break
		}
	}
	if !errors.As(err, new(*openError)) || !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("Settle while a transaction is open: %v", err)
	}
	expect.NoError(t, ours.AbortTransaction(expect.Patiently(t)))
	if err := db.Settle(expect.Patiently(t)); err != nil {
		t.Errorf("Settle when all is over: %v", err)
	}
}

// testAbandonedIsAborted leaves a transaction open, as a broken network does,
// and wants the next session to close it before the server would, under every kind of
// concern that an address can name.
func testAbandonedIsAborted(t *testing.T, set *cluster.ReplicaSet) {
	maker, ledger := loaded(t, set, 100, 100)
	untimed(t, maker)
	for i, options := range []string{"", "&readConcernLevel=local", "&readConcernLevel=majority", "&readConcernLevel=snapshot", "&w=2&journal=true", "&w=3&journal=false"} {
		db := closing(t, mustOpen(t, set.Address()+options))
		begun(t, db).leave(true)
		if err := db.noneOpen(expect.Patiently(t)); !errors.As(err, new(*openError)) {
			t.Fatalf("%q: the transaction is not open: %v", options, err)
		}
		second := mustSession(t, db)
		if err := db.noneOpen(expect.Patiently(t)); err != nil || len(db.abandoned) != 0 {
			t.Errorf("%q: the transaction is still open: %v", options, err)
		}
		mustCommit(t, second, ledger, bank.Transfer{ID: int64(i), Source: 1, Destination: 2, Amount: 10})
		ledger.Check(expect.Patiently(t), t, db.Store)
	}
}

// testDroppedOverOpenTransactions has a client of an earlier run leave a
// transaction open, of which the server itself would rid the collection in an
// hour.
func testDroppedOverOpenTransactions(t *testing.T, set *cluster.ReplicaSet) {
	db, _ := loaded(t, set, 100, 100)
	untimed(t, db)
	ours := hold(t, set.Address(), appNamePrefix("bank")+"of an earlier run")
	if err := db.Create(expect.Patiently(t), store.Marker{Run: "later", Workload: "bank"}); err != nil {
		t.Fatalf("Create: %v", err)
	}
	if err := ours.CommitTransaction(expect.Patiently(t)); err == nil {
		t.Error("the transaction on the collection that was dropped is committed")
	}
	if err := db.noneOpen(expect.Patiently(t)); err != nil {
		t.Errorf("after Create: %v", err)
	}
}

// testLifetimeLimit has the server abort a transaction before its commit.
func testLifetimeLimit(t *testing.T, set *cluster.ReplicaSet) {
	db, ledger := loaded(t, set, 100, 100)
	x := begun(t, db)
	if err := db.Settle(expect.Patiently(t)); err != nil { // returns when the server has given up
		t.Fatal(err)
	}
	r := x.commit(expect.Patiently(t), counting(expect.Patiently(t), nil))
	if r.Outcome != history.Failed || r.Class != classAborted {
		t.Errorf("commit of an aborted transaction: %+v", r)
	}
	mustCommit(t, mustSession(t, db), ledger, bank.Transfer{ID: 2, Source: 1, Destination: 2, Amount: 10})
	ledger.Check(expect.Patiently(t), t, db.Store)
}

// testUnconfirmedDuplicate commits on a primary that a majority does not
// answer. The row that a repetition then meets there proves nothing.
func testUnconfirmedDuplicate(t *testing.T, set *cluster.ReplicaSet) {
	db, ledger := loaded(t, set, 100, 100)
	session := mustSession(t, db)
	primary, err := set.Primary(expect.Patiently(t))
	expect.NoError(t, err)
	others := func(do func(*server.Node) error) {
		for i, node := range set.Nodes() {
			if i == primary {
				continue
			}
			if err := do(node); err != nil {
				t.Error(err)
			}
		}
	}
	others((*server.Node).Pause)
	tr := bank.Transfer{ID: 1, Source: 1, Destination: 2, Amount: 10}
	try := func() bank.Reply {
		ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
		defer cancel()
		return do(ctx, session, ledger, tr)
	}
	first, second := try(), try()
	others((*server.Node).Resume)
	if first.Outcome != history.Unknown {
		t.Errorf("a commit that no majority confirmed: %+v", first)
	}
	if second.Outcome != history.Failed || second.Duplicate || second.Confirmed {
		t.Errorf("its repetition: %+v", second)
	}
	t.Logf("first %s, then %s: %v", first.Class, second.Class, second.Err)
	// Whatever became of it, it is settled now, and a repetition is told.
	again := mustSession(t, db)
	ctx := expect.Patiently(t)
	for ctx.Err() == nil {
		if r := do(ctx, again, ledger, tr); r.Outcome == history.Committed || r.Duplicate {
			if r.Duplicate != r.Confirmed {
				t.Errorf("a row that a majority has: %+v", r)
			}
			break
		}
		time.Sleep(20 * time.Millisecond)
	}
	read := ledger.Check(expect.Patiently(t), t, db.Store)
	if len(read.Entries) != 1 {
		t.Errorf("%d rows, want one", len(read.Entries))
	}
}
