package drivertest

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"assay/history"
	"assay/workload/bank"
)

// RunAudits runs what a bank.Store must do that is a bank.Auditor as well.
func RunAudits(t *testing.T, h Bank) {
	t.Run("states", func(t *testing.T) { auditStates(t, h) })
	t.Run("bounds", func(t *testing.T) { auditBounds(t, h) })
	t.Run("while money moves", func(t *testing.T) { auditRace(t, h) })
}

// audited opens a store with a few accounts loaded.
func audited(t *testing.T, h Bank, accounts int64) (bank.Store, bank.Auditor) {
	t.Helper()
	store := h.Open(t)
	auditor, ok := store.(bank.Auditor)
	if !ok {
		t.Fatal("the store is no bank.Auditor")
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		if err := errors.Join(store.Drop(ctx), store.Close()); err != nil {
			t.Errorf("leaving nothing behind: %v", err)
		}
	})
	loadAll(t, store, accounts)
	return store, auditor
}

// loadAll makes accounts 1 to n, with 1000 each.
func loadAll(t *testing.T, store bank.Store, n int64) {
	t.Helper()
	batch := make([]bank.Account, n)
	for i := range batch {
		batch[i] = bank.Account{ID: int64(i) + 1, Balance: 1000}
	}
	if err := store.Create(t.Context(), bankMark("audits", int(n))); err != nil {
		t.Fatal(err)
	}
	if err := store.LoadAccounts(t.Context(), batch); err != nil {
		t.Fatal(err)
	}
	if err := store.FinishLoad(t.Context()); err != nil {
		t.Fatal(err)
	}
}

func auditStates(t *testing.T, h Bank) {
	store, auditor := audited(t, h, 4)
	session, err := store.Session(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer session.Close()
	for id, x := range []bank.Transfer{{Source: 1, Destination: 2, Amount: 10}, {Source: 1, Destination: 3, Amount: 5}} {
		x.ID = int64(id)
		if r := session.Transfer(t.Context(), x); r.Outcome != history.Committed {
			t.Fatalf("transfer %d: %+v", id, r)
		}
	}
	ids := []int64{3, 1, 99, 2, 4} // in no order, one of them missing
	want := []bank.State{{Balance: 1005, Version: 1}, {Balance: 985, Version: 2}, {}, {Balance: 1010, Version: 1}, {Balance: 1000}}
	states := []bank.State{{Balance: 7, Version: 7}, {Balance: 7}, {Balance: 7}, {Balance: 7}, {Version: 7}}
	if err := auditor.Audit(t.Context(), ids, states); err != nil {
		t.Fatal(err)
	}
	for i := range ids {
		if states[i] != want[i] {
			t.Errorf("account %d was read as %+v, want %+v", ids[i], states[i], want[i])
		}
	}
	all, err := auditor.AuditAll(t.Context())
	if want := (bank.Totals{Accounts: 4, Balance: 4000, Versions: 4}); err != nil || all != want {
		t.Errorf("all accounts were read as %+v, want %+v (%v)", all, want, err)
	}
}

func auditBounds(t *testing.T, h Bank) {
	_, auditor := audited(t, h, bank.MaxAudited)
	ids, states := make([]int64, bank.MaxAudited+1), make([]bank.State, bank.MaxAudited+1)
	for i := range ids {
		ids[i] = int64(i) + 1
	}
	if err := auditor.Audit(t.Context(), ids, states); err == nil {
		t.Error("more accounts than the most were audited")
	}
	if err := auditor.Audit(t.Context(), ids[:bank.MaxAudited], states); err != nil {
		t.Errorf("the most accounts: %v", err)
	}
	if err := auditor.Audit(t.Context(), nil, nil); err != nil {
		t.Errorf("an audit of nothing: %v", err)
	}
}

// auditRace audits a pair between which money moves without end: the sum of
// the two never changes, and each version belongs to one balance.
func auditRace(t *testing.T, h Bank) {
	store, auditor := audited(t, h, 2)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	stop := make(chan struct{})
	var movers sync.WaitGroup
	for client := range 3 {
		session, err := store.Session(ctx)
		if err != nil {
			t.Fatal(err)
		}
		movers.Go(func() {
			defer session.Close()
			for seq := uint64(0); ; seq++ {
				select {
				case <-stop:
					return
				default:
				}
				x := bank.Transfer{ID: bank.TransferID(client, seq), Source: 1, Destination: 2, Amount: 1}
				if (uint64(client)+seq)%2 == 1 {
					x.Source, x.Destination = 2, 1
				}
				session.Transfer(ctx, x)
			}
		})
	}
	moved := int64(0)
	states := make([]bank.State, 2)
	for n := 0; (n < 200 || moved == 0) && ctx.Err() == nil; n++ {
		if err := auditor.Audit(ctx, []int64{1, 2}, states); err != nil {
			t.Error(err)
			break
		}
		if sum := states[0].Balance + states[1].Balance; sum != 2000 || states[0].Version != states[1].Version {
			t.Errorf("one side of a transfer was seen: %+v", states)
			break
		}
		moved = states[0].Version
		if all, err := auditor.AuditAll(ctx); err != nil || all.Balance != 2000 || all.Versions%2 != 0 {
			t.Errorf("all accounts: %+v (%v)", all, err)
			break
		}
	}
	close(stop)
	movers.Wait()
	if moved == 0 {
		t.Error("no money moved meanwhile: the test has seen nothing")
	}
}
