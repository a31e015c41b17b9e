package mongodb

import (
	"context"
	"testing"
	"time"

	cluster "assay/cluster/mongodb"
	"assay/driver/drivertest"
	"assay/workload"
	"assay/workload/smallbank"
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
	drivertest.RunSmallBank(t, drivertest.SmallBank{OperationsOnly: true, Open: openedOn(set, OpenSmallBank)})
}

func testTPCB(t *testing.T, set *cluster.ReplicaSet) {
	drivertest.RunTPCB(t, drivertest.TPCB{OperationsOnly: true, Open: openedOn(set, OpenTPCB)})
}

func testScript(t *testing.T, set *cluster.ReplicaSet) {
	database := plainClient(t, set.Address()).Database("assay_script")
	drivertest.RunScript(t, drivertest.Script{Open: openedOn(set, OpenScript),
		MakeForeign:   func(t *testing.T) { makeForeign(t, database) },
		ForeignIntact: func(t *testing.T) { foreignIntact(t, database) },
	})
}

// testSmallBankWriteSkew: snapshot isolation is what MongoDB has, so that the anomaly of SmallBank
// comes about, is named, and breaks no promise.
func testSmallBankWriteSkew(t *testing.T, set *cluster.ReplicaSet) {
	store := openedOn(set, OpenSmallBank)(t).(*smallBankStore)
	late := &lateWriteCheck{smallBankStore: store}
	s := drivertest.NewWriteSkew(t, late)
	late.meanwhile = s.Meanwhile
	s.WriteCheck()
	s.Judge(true)
}

// lateWriteCheck is a Store whose WriteChecks have something happen between what they read
// and what they write.
type lateWriteCheck struct {
	*smallBankStore
	meanwhile func()
}

func (l *lateWriteCheck) Session(ctx context.Context) (smallbank.Session, error) {
	session, err := l.smallBankStore.Session(ctx)
	if err != nil {
		return nil, err
	}
	return &lateSession{session.(*smallBankSession), l}, nil
}

type lateSession struct {
	*smallBankSession
	of *lateWriteCheck
}

func (n *lateSession) Do(ctx context.Context, o smallbank.Operation) (reply smallbank.Reply) {
	if o.Kind != smallbank.KindWriteCheck {
		return n.smallBankSession.Do(ctx, o)
	}
	reply.Reply = n.journaled(ctx, n.store.collections[smallbank.Journal], o.ID, func(s steps) error {
		return failed("do an operation", o.Perform(&lateSteps{&smallBankSteps{s, n.store, o.ID}, n.of}, &reply.Result))
	})
	return reply
}

type lateSteps struct {
	*smallBankSteps
	of *lateWriteCheck
}

func (s *lateSteps) Add(table int, customer, amount, writer int64) (smallbank.State, error) {
	s.of.meanwhile()
	return s.smallBankSteps.Add(table, customer, amount, writer)
}
