package drivertest

import (
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sync/errgroup"

	"assay/workload"
	"assay/workload/bank"
)

func testDescribe(t *testing.T, h Bank) {
	p := emptyPlace(t, h)
	product, err := p.store.Describe(p.ctx)
	if err != nil {
		t.Fatalf("Describe: %v", err)
	}
	if product.Name == "" || product.Version == "" || len(product.Settings) == 0 {
		t.Errorf("Describe gave %+v; name, version and settings are due", product)
	}
	for _, s := range product.Settings {
		if s.Name == "" || s.Value == "" {
			t.Errorf("setting %+v is not complete", s)
		}
	}
	text, err := json.Marshal(product)
	if err != nil {
		t.Fatal(err)
	}
	if h.Secret != "" && strings.Contains(string(text), h.Secret) {
		t.Error("Describe tells the password")
	}
}

func testFindNothing(t *testing.T, h Bank) {
	p := emptyPlace(t, h)
	for range 2 { // looking must not make anything that the second look finds
		remains, err := p.store.Find(p.ctx)
		if remains != nil || err != nil {
			t.Fatalf("Find on nothing: %+v, %v; want nil", remains, err)
		}
	}
}

// testCreateLoadFind loads more than one batch at the same time.
func testCreateLoadFind(t *testing.T, h Bank) {
	p := emptyPlace(t, h)
	const n = 2*bank.MaxBatch + 345
	accounts := bank.NewAccounts(n)
	mark := markOf("run-1", n)
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

// mustFind looks with the place's Store and with a new one.
func (p *place) mustFind(mark workload.Mark, rows int64) {
	p.t.Helper()
	remains, err := p.store.Find(p.ctx)
	if err != nil || remains == nil {
		p.t.Fatalf("Find: %+v, %v; want %+v", remains, err, mark)
	}
	if _, offset := remains.Mark.Created.Zone(); offset != 0 || !remains.Mark.Created.Equal(mark.Created) {
		p.t.Errorf("Find: created %v, want %v", remains.Mark.Created, mark.Created)
	}
	got := remains.Mark
	got.Created = mark.Created
	if got != mark || remains.Rows != rows {
		p.t.Errorf("Find: %+v with %d rows, want %+v with %d", got, remains.Rows, mark, rows)
	}
}

func testInterruptedLoad(t *testing.T, h Bank) {
	p := emptyPlace(t, h)
	mark := markOf("run-1", 1000)
	first := open(t, h)
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
	second := open(t, h)
	mark := markOf("run-2", 2)
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
	if err := p.store.Drop(p.ctx); err != nil {
		t.Fatalf("Drop: %v", err)
	}
	if remains, err := p.store.Find(p.ctx); remains != nil || err != nil {
		t.Errorf("Find after Drop: %+v, %v; want nil", remains, err)
	}
	if err := p.store.Drop(p.ctx); err != nil {
		t.Errorf("Drop of nothing: %v", err)
	}
	p.load(p.store, 5, 5)
	p.check()
}

// testRead loads in descending order and reads in ascending order.
func testRead(t *testing.T, h Bank) {
	p := emptyPlace(t, h)
	const n = 1500
	accounts := bank.NewAccounts(n)
	if err := p.store.Create(p.ctx, markOf("run-1", n)); err != nil {
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
	sentinel := errors.New("the reader has had enough")
	for stop := 1; stop <= 6; stop++ { // 3 accounts, then 3 rows
		calls := 0
		enough := func() error {
			if calls++; calls == stop {
				return sentinel
			}
			return nil
		}
		err := p.store.Read(p.ctx, func(bank.Account) error { return enough() }, func(bank.Entry) error { return enough() })
		if err != sentinel || calls != stop {
			t.Errorf("the callback failed at call %d: Read made %d calls and returned %v", stop, calls, err)
		}
	}
	p.check()
}

func testReadNothing(t *testing.T, h Bank) {
	p := emptyPlace(t, h)
	calls := 0
	err := p.store.Read(p.ctx, func(bank.Account) error { calls++; return nil }, func(bank.Entry) error { calls++; return nil })
	var missing *workload.NoSchemaError
	if !errors.As(err, &missing) || calls != 0 {
		t.Errorf("Read on nothing: %d calls, %v; want *workload.NoSchemaError", calls, err)
	}
}

// testSize wants the rows of accounts and journal, under whatever names.
func testSize(t *testing.T, h Bank) {
	p := loadedPlace(t, h, 100, 100, 100)
	c := p.client(p.store, 0)
	for range 7 {
		c.commit(p.ctx, c.next(1, 2, 1))
	}
	c.close()
	size, err := p.store.Size(p.ctx)
	if err != nil {
		t.Fatalf("Size: %v", err)
	}
	if size.Bytes <= 0 || size.Tables < 0 || size.Indexes < 0 {
		t.Errorf("Size: %+v", size)
	}
	if size.Tables+size.Indexes != 0 && size.Tables+size.Indexes != size.Bytes {
		t.Errorf("Size: %d of tables and %d of indexes are not %d", size.Tables, size.Indexes, size.Bytes)
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
	h.MakeForeign(t)
	attempts := map[string]func(bank.Store) error{
		"Find":   func(s bank.Store) error { _, err := s.Find(p.ctx); return err },
		"Create": func(s bank.Store) error { return s.Create(p.ctx, markOf("run-1", 2)) },
		"Drop":   func(s bank.Store) error { return s.Drop(p.ctx) },
	}
	for name, attempt := range attempts {
		err := attempt(open(t, h))
		var foreign *workload.ForeignError
		if !errors.As(err, &foreign) {
			t.Errorf("%s on what is not ours: %v; want *workload.ForeignError", name, err)
		} else if foreign.Name == "" || foreign.Hint == "" {
			t.Errorf("%s: %+v says too little", name, foreign)
		}
		h.ForeignIntact(t)
	}
	err := open(t, h).Read(p.ctx, func(bank.Account) error { return nil }, func(bank.Entry) error { return nil })
	if err == nil {
		t.Error("Read of what is not ours gave no error")
	}
	h.ForeignIntact(t)
}
