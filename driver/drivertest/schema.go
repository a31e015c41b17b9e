package drivertest

import (
	"maps"
	"slices"
	"testing"

	"golang.org/x/sync/errgroup"

	"assay/workload/bank"
)

// testCreateLoadFind loads more than one batch at the same time.
func testCreateLoadFind(t *testing.T, h Bank) {
	p := emptyPlace(t, h)
	const n = 2*bank.MaxBatch + 345
	accounts := bank.NewAccounts(n)
	mark := bankMark("run-1", n)
	if err := p.store.Create(p.ctx, mark); err != nil {
		t.Fatalf("Create: %v", err)
	}
	p.mustFind(mark, 0)
	loaders, ctx := errgroup.WithContext(p.ctx)
	var all []bank.Account
	for first := int64(1); first <= n; first += bank.MaxBatch {
		batch := accounts.Batch(first, make([]bank.Account, 0, bank.MaxBatch))
		all = append(all, batch...)
		loaders.Go(func() error { return p.store.LoadAccounts(ctx, batch) })
	}
	if err := loaders.Wait(); err != nil {
		t.Fatalf("LoadAccounts: %v", err)
	}
	p.mustFind(mark, n)
	if err := p.store.FinishLoad(p.ctx); err != nil {
		t.Fatalf("FinishLoad: %v", err)
	}
	mark.Loaded = true
	p.mustFind(mark, n)
	p.ledger = NewLedger(all)
	p.check()
}

func testInterruptedLoad(t *testing.T, h Bank) {
	p := emptyPlace(t, h)
	mark := bankMark("run-1", 1000)
	first := p.open()
	if err := first.Create(p.ctx, mark); err != nil {
		t.Fatalf("Create: %v", err)
	}
	if err := first.LoadAccounts(p.ctx, accountsOf(1, 2, 3)); err != nil {
		t.Fatalf("LoadAccounts: %v", err)
	}
	p.mustFind(mark, 3)
}

func testCreateAgain(t *testing.T, h Bank) {
	p := loadedPlace(t, h, 100, 100, 100)
	c := p.client(p.store, 0)
	c.commit(p.ctx, c.next(1, 2, 10))
	c.close()
	second := p.open()
	mark := bankMark("run-2", 2)
	if err := second.Create(p.ctx, mark); err != nil {
		t.Fatalf("Create over another run's: %v", err)
	}
	p.mustFind(mark, 0)
	p.ledger = NewLedger(nil)
	p.check()
	p.load(second, 7, 7)
	c = p.client(second, 0)
	c.commit(p.ctx, c.next(1, 2, 7))
	c.close()
	p.check()
}

func testDrop(t *testing.T, h Bank) {
	p := loadedPlace(t, h, 100, 100)
	p.drop()
	p.load(p.store, 5, 5)
	p.check()
}

// testRead loads in descending order and reads in ascending order.
func testRead(t *testing.T, h Bank) {
	p := emptyPlace(t, h)
	const n = 1500
	accounts := bank.NewAccounts(n)
	if err := p.store.Create(p.ctx, bankMark("run-1", n)); err != nil {
		t.Fatalf("Create: %v", err)
	}
	all := accounts.Batch(1, make([]bank.Account, 0, n))
	for last := n; last > 0; last -= 500 {
		batch := slices.Clone(all[last-500 : last])
		slices.Reverse(batch)
		if err := p.store.LoadAccounts(p.ctx, batch); err != nil {
			t.Fatalf("LoadAccounts: %v", err)
		}
	}
	if err := p.store.FinishLoad(p.ctx); err != nil {
		t.Fatalf("FinishLoad: %v", err)
	}
	p.ledger = NewLedger(all)
	c := p.client(p.store, 0)
	for i := int64(0); i < 50; i++ {
		c.commit(p.ctx, c.next(n-i, 1+i, 1+i))
	}
	c.close()
	if read := p.check(); len(read.Entries) != 50 {
		t.Errorf("%d rows read, want 50", len(read.Entries))
	}
}

func testReadCallbackErrors(t *testing.T, h Bank) {
	p := loadedPlace(t, h, 10, 10, 10)
	c := p.client(p.store, 0)
	for range 3 {
		c.commit(p.ctx, c.next(1, 2, 1))
	}
	c.close()
	p.stopReading(readBooks(p.store), 1, 2, 3, 4, 5, 6) // 3 accounts, then 3 rows
	p.check()
}

func testReadNothing(t *testing.T, h Bank) {
	p := emptyPlace(t, h)
	p.readNothing(readBooks(p.store))
}

// testSize wants the rows of accounts and journal, under whatever names.
func testSize(t *testing.T, h Bank) {
	p := loadedPlace(t, h, 100, 100, 100)
	c := p.client(p.store, 0)
	for range 7 {
		c.commit(p.ctx, c.next(1, 2, 1))
	}
	c.close()
	size, _ := p.size()
	if size.Bytes == 0 {
		t.Errorf("Size: %+v", size)
	}
	if rows := slices.Sorted(maps.Values(size.Rows)); !slices.Equal(rows, []int64{3, 7}) {
		t.Errorf("Size: rows %v, want 3 accounts and 7 journal rows", size.Rows)
	}
}

func testSettle(t *testing.T, h Bank) {
	p := loadedPlace(t, h, 100, 100)
	for number := range 3 {
		c := p.client(p.store, number)
		c.commit(p.ctx, c.next(1, 2, 1))
		c.close()
		if err := p.store.Settle(p.ctx); err != nil {
			t.Fatalf("Settle when idle: %v", err)
		}
	}
	p.check()
}

func testForeign(t *testing.T, h Bank) {
	p := emptyPlace(t, h)
	p.foreign(func(s bank.Store) error { return s.Create(p.ctx, bankMark("run-1", 2)) })
	p.foreignUnread(readBooks(p.open()))
}
