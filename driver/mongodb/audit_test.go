package mongodb

import (
	"context"
	"errors"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	cluster "assay/cluster/mongodb"
	"assay/driver/drivertest"
	"assay/history"
	"assay/internal/expect"
	"assay/workload/bank"
)

func testAudits(t *testing.T, set *cluster.ReplicaSet) {
	t.Run("SeesOneMoment", func(t *testing.T) {
		store, ledger := loaded(t, set, 100, 100)
		session := mustSession(t, store)
		err := store.reading(patiently(t), func(x steps) error {
			for id := range int64(2) {
				var a bank.State
				if err := store.accounts.FindOne(x.next(), byID(id+1)).Decode(&a); err != nil || a.Version != 0 || a.Balance != 100 {
					t.Errorf("read %+v, %v", a, err)
				}
				mustCommit(t, session, ledger, bank.Transfer{ID: 1 + id, Source: 1, Destination: 2, Amount: 10})
			}
			return nil
		})
		if err != nil {
			t.Error(err)
		}
	})

	t.Run("NoMajority", func(t *testing.T) {
		store, ledger := loaded(t, set, 100, 100)
		mustCommit(t, mustSession(t, store), ledger, bank.Transfer{ID: 1, Source: 1, Destination: 2, Amount: 10})
		primary, err := set.Primary(patiently(t))
		expect.NoError(t, err)
		for i := range set.Nodes() {
			if i != primary {
				expect.NoError(t, set.Node(i).Pause())
				defer set.Node(i).Resume()
			}
		}
		// What no majority has confirmed is on the primary now, and an audit that
		// sees it must not be believed.
		client := plainClient(t, "mongodb://"+set.Node(primary).Address()+"/?directConnection=true&w=1")
		_, err = client.Database("assay_bank").Collection("account").UpdateByID(patiently(t), int64(1),
			bson.D{{Key: "$set", Value: bson.D{{Key: "balance", Value: int64(7)}}}})
		expect.NoError(t, err)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		states := make([]bank.State, 2)
		if err := store.Audit(ctx, []int64{1, 2}, states); err == nil {
			t.Errorf("an audit without a majority read %+v", states)
		}
		// Nor is a snapshot, which does not have it, the state at the end.
		short, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if read, err := drivertest.ReadAll(short, store.Store); err == nil {
			t.Errorf("without a majority %+v was read", read.Accounts)
		}
	})

	t.Run("Ends", func(t *testing.T) {
		store, ledger := loaded(t, set, 100, 100)
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		_, err := store.AuditAll(ctx)
		for _, err := range []error{err, store.Audit(ctx, []int64{1}, make([]bank.State, 1))} {
			if !errors.Is(err, context.Canceled) {
				t.Errorf("with a context that is over: %v", err)
			}
		}
		err = store.reading(t.Context(), func(x steps) error {
			if err := store.accounts.FindOne(x.next(), byID(1)).Err(); err != nil {
				return err
			}
			return errors.New("enough")
		})
		if err == nil {
			t.Error("the error is lost")
		}
		if err := errors.Join(store.Settle(patiently(t)), store.noneOpen(patiently(t))); err != nil {
			t.Errorf("after an audit that failed: %v", err)
		}
		if all, err := store.AuditAll(patiently(t)); err != nil || all != (bank.Totals{Accounts: 2, Balance: 200}) {
			t.Errorf("afterwards: %+v, %v", all, err)
		}
		if n := ledger.Count(history.Committed); n != 0 {
			t.Errorf("%d transfers", n)
		}
	})

	t.Run("NoAccounts", func(t *testing.T) {
		store, _ := loaded(t, set)
		if all, err := store.AuditAll(patiently(t)); err != nil || all != (bank.Totals{}) {
			t.Errorf("%+v, %v", all, err)
		}
	})
}
