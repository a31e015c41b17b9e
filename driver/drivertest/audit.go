package drivertest

import (
	"context"
	"slices"
	"sync"
	"testing"

	"assay/workload/bank"
)

// RunAudits runs what a bank.Store must do that is a bank.Auditor as well.
func RunAudits(t *testing.T, h Bank) {
	t.Run("states", func(t *testing.T) { auditStates(t, h) })
	t.Run("bounds", func(t *testing.T) { auditBounds(t, h) })
	t.Run("while money moves", func(t *testing.T) { auditRace(t, h) })
}

// audited has accounts 1 to n, with 1000 each.
func audited(t *testing.T, h Bank, n int64) (*bankFixture, bank.Auditor) {
	t.Helper()
	f := newBank(t, h)
	f.loaded(slices.Repeat([]int64{1000}, int(n))...)
	auditor, ok := f.store.(bank.Auditor)
	if !ok {
		t.Fatal("the store is no bank.Auditor")
	}
	return f, auditor
}

func auditStates(t *testing.T, h Bank) {
	f, auditor := audited(t, h, 4)
	c := f.client(f.store, 0)
	c.commit(f.ctx, c.next(1, 2, 10))
	c.commit(f.ctx, c.next(1, 3, 5))
	c.close()
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
	f, auditor := audited(t, h, 2)
	ctx, stop := context.WithCancel(f.ctx)
	var movers sync.WaitGroup
	defer movers.Wait()
	defer stop()
	for number := range 3 {
		c := f.client(f.store, number)
		movers.Go(func() {
			defer c.close()
			for n := int64(number); ctx.Err() == nil; n++ {
				c.do(f.ctx, c.next(1+n%2, 2-n%2, 1))
			}
		})
	}
	moved := int64(0)
	states := make([]bank.State, 2)
	for n := 0; (n < 60 || moved == 0) && ctx.Err() == nil; n++ {
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
	if moved == 0 {
		t.Error("no money moved meanwhile: the test has seen nothing")
	}
}
