package mongodb

import (
	"context"
	"testing"
	"time"

	cluster "assay/cluster/mongodb"
	"assay/driver/drivertest"
	"assay/store"
	"assay/workload"
	"assay/workload/script"
	"assay/workload/smallbank"
	"assay/workload/tpcb"
)

// openedOn opens a workload's Store on a set.
func openedOn[S workload.Store](set *cluster.ReplicaSet, open func(context.Context, workload.Target) (S, error)) func(t *testing.T) S {
	return func(t *testing.T) S {
		store, err := open(t.Context(), workload.Target{Address: set.Address(), ConnectTimeout: 20 * time.Second})
		if err != nil {
			t.Fatal(err)
		}
		return store
	}
}

// The life cycle is the schema's, which the suites of other workloads test.

func testSmallBank(t *testing.T, set *cluster.ReplicaSet) {
	drivertest.RunSmallBank(t, drivertest.SmallBank{OperationsOnly: true, Open: openedOn(set, smallbank.Opener(Open))})
}

func testTPCB(t *testing.T, set *cluster.ReplicaSet) {
	drivertest.RunTPCB(t, drivertest.TPCB{OperationsOnly: true, Open: openedOn(set, tpcb.Opener(Open))})
}

func testScript(t *testing.T, set *cluster.ReplicaSet) {
	database := plainClient(t, set.Address()).Database("assay_script")
	drivertest.RunScript(t, drivertest.Script{Open: openedOn(set, script.Opener(Open)),
		MakeForeign:   func(t *testing.T) { makeForeign(t, database) },
		ForeignIntact: func(t *testing.T) { foreignIntact(t, database) },
	})
}

// testSmallBankWriteSkew: snapshot isolation is what MongoDB has, so that the anomaly of SmallBank
// comes about, is named, and breaks no promise.
func testSmallBankWriteSkew(t *testing.T, set *cluster.ReplicaSet) {
	db, err := Open(t.Context(), workload.Target{Address: set.Address(), ConnectTimeout: 20 * time.Second}, smallbank.Schema())
	if err != nil {
		t.Fatal(err)
	}
	late := &lateDatabase{Database: db}
	s := drivertest.NewWriteSkew(t, smallbank.Over(late))
	late.meanwhile = s.Meanwhile
	s.WriteCheck()
	s.Judge(true)
}

// lateDatabase is a Database in which something happens once between what a transaction
// has read, three rows, and what it writes.
type lateDatabase struct {
	store.Database
	meanwhile func()
}

func (l *lateDatabase) Session(ctx context.Context, statements []store.Statement) (store.Session, error) {
	session, err := l.Database.Session(ctx, statements)
	return &lateSession{session, statements, l}, err
}

type lateSession struct {
	store.Session
	statements []store.Statement
	of         *lateDatabase
}

func (n *lateSession) Transaction(ctx context.Context, writes bool, work func(context.Context, store.Transaction) error) store.Reply {
	return n.Session.Transaction(ctx, writes, func(ctx context.Context, t store.Transaction) error {
		return work(ctx, &lateTransaction{Transaction: t, of: n})
	})
}

type lateTransaction struct {
	store.Transaction
	of   *lateSession
	read int
}

func (t *lateTransaction) Do(ctx context.Context, statement int, row func(store.Row) error, parameters ...store.Value) (int64, error) {
	if t.of.statements[statement].ReadsOnly() {
		t.read++
	} else if happens := t.of.of.meanwhile; happens != nil && t.read == 3 {
		t.of.of.meanwhile = nil
		happens()
	}
	return t.Transaction.Do(ctx, statement, row, parameters...)
}
