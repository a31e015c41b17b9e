package drivertest

import (
	"context"
	"errors"
	"maps"
	"math"
	"strings"
	"testing"

	"assay/history"
	"assay/workload"
	"assay/workload/churn"
)

// Churn is what a driver's test gives to have its churn.Store tried. The fields
// that it shares with Availability mean the same.
type Churn struct {
	Open          func(t *testing.T) churn.Store
	MakeForeign   func(t *testing.T)
	ForeignIntact func(t *testing.T)
	Secret        string
	// Shrinks is true if the last repair surely makes a small table smaller that
	// is nearly empty.
	Shrinks bool
}

// RunChurn tries everything that churn.Store promises. Its subtests run one
// after the other on one place.
func RunChurn(t *testing.T, h Churn) {
	for _, s := range []struct {
		name string
		run  func(*heap)
	}{
		{"Nothing", (*heap).testNothing},
		{"CreateDrop", (*heap).testCreateDrop},
		{"InsertDelete", (*heap).testInsertDelete},
		{"Duplicate", (*heap).testDuplicate},
		{"Repair", (*heap).testRepair},
		{"ReadCallbackErrors", (*heap).testReadCallbackErrors},
		{"ContextOver", (*heap).testContextOver},
	} {
		t.Run(s.name, func(t *testing.T) { s.run(emptyHeap(t, h)) })
	}
	if h.MakeForeign != nil {
		t.Run("Foreign", func(t *testing.T) { emptyHeap(t, h).testForeign() })
	}
}

// heap is one subtest's hold on the place under test.
type heap struct {
	t     *testing.T
	ctx   context.Context
	h     Churn
	store churn.Store
	want  map[int64]string
}

// emptyHeap opens the place and empties it, now and at the end of the test.
func emptyHeap(t *testing.T, h Churn) *heap {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	t.Cleanup(cancel)
	p := &heap{t: t, ctx: ctx, h: h, want: map[int64]string{}}
	p.store = p.open()
	if err := p.store.Drop(ctx); err != nil {
		t.Fatalf("Drop before the test: %v", err)
	}
	t.Cleanup(func() {
		if err := p.store.Drop(ctx); err != nil {
			t.Errorf("Drop after the test: %v", err)
		}
	})
	return p
}

func (p *heap) open() churn.Store {
	p.t.Helper()
	store := p.h.Open(p.t)
	p.t.Cleanup(func() {
		if err := store.Close(); err != nil {
			p.t.Errorf("Close: %v", err)
		}
	})
	return store
}

func (p *heap) create() {
	p.t.Helper()
	mark := markOf("run-1", 0)
	mark.Workload, mark.Loaded = "churn", true
	if err := p.store.Create(p.ctx, mark); err != nil {
		p.t.Fatalf("Create: %v", err)
	}
	clear(p.want)
	remains, err := p.open().Find(p.ctx)
	if err != nil || remains == nil || remains.Rows != 0 || remains.Mark.Run != "run-1" || !remains.Mark.Loaded {
		p.t.Fatalf("Find after Create: %+v, %v", remains, err)
	}
}

func (p *heap) session() churn.Session {
	p.t.Helper()
	session, err := p.store.Session(p.ctx)
	if err != nil {
		p.t.Fatalf("Session: %v", err)
	}
	return session
}

// insert adds rows of these ids and wants them acknowledged.
func (p *heap) insert(s churn.Session, ids ...int64) {
	p.t.Helper()
	var rows []churn.Row
	for _, id := range ids {
		rows = append(rows, churn.Row{ID: id, Payload: strings.Repeat("0123456789abcdef", 12)[id%16:][:150]})
		p.want[id] = rows[len(rows)-1].Payload
	}
	if r := s.Insert(p.ctx, rows); r.Outcome != history.Committed || r.Err != nil || r.Class != "" {
		p.t.Fatalf("insert: %+v", r)
	}
}

func (p *heap) remove(s churn.Session, ids ...int64) {
	p.t.Helper()
	if r := s.Delete(p.ctx, ids); r.Outcome != history.Committed || r.Err != nil || r.Class != "" {
		p.t.Fatalf("delete: %+v", r)
	}
	for _, id := range ids {
		delete(p.want, id)
	}
}

// check wants exactly the rows that are wanted.
func (p *heap) check() {
	p.t.Helper()
	if err := p.store.Settle(p.ctx); err != nil {
		p.t.Fatalf("Settle: %v", err)
	}
	got := map[int64]string{}
	err := p.store.Read(p.ctx, func(r churn.Row) error {
		if _, again := got[r.ID]; again {
			p.t.Errorf("row %d is there twice", r.ID)
		}
		got[r.ID] = r.Payload
		return nil
	})
	if err != nil || !maps.Equal(got, p.want) {
		p.t.Errorf("Read: %d rows, %v; want %d", len(got), err, len(p.want))
	}
	size, err := p.store.Size(p.ctx)
	rows := int64(0)
	for _, n := range size.Rows {
		rows += n
	}
	if err != nil || rows != int64(len(p.want)) || size.Bytes < 0 || len(p.want) > 0 && size.Bytes == 0 ||
		size.Tables+size.Indexes != 0 && size.Tables+size.Indexes != size.Bytes {
		p.t.Errorf("Size: %+v, %v; want %d rows", size, err, len(p.want))
	}
}

func (p *heap) testNothing() {
	if remains, err := p.store.Find(p.ctx); remains != nil || err != nil {
		p.t.Errorf("Find on nothing: %+v, %v; want nil", remains, err)
	}
	var missing *workload.NoSchemaError
	if err := p.store.Read(p.ctx, func(churn.Row) error { return nil }); !errors.As(err, &missing) {
		p.t.Errorf("Read on nothing: %v; want *workload.NoSchemaError", err)
	}
	product, err := p.store.Describe(p.ctx)
	if err != nil || product.Name == "" || product.Version == "" || len(product.Settings) == 0 {
		p.t.Errorf("Describe: %+v, %v", product, err)
	}
	if err := p.store.Repair(p.ctx, "no such repair"); err == nil {
		p.t.Error("a repair that does not exist was run")
	}
}

func (p *heap) testCreateDrop() {
	for range 2 { // the second time over what the first has left
		p.create()
		s := p.session()
		p.insert(s, 1, 2, 3)
		s.Close()
		p.check()
	}
	if err := p.store.Drop(p.ctx); err != nil {
		p.t.Fatalf("Drop: %v", err)
	}
	if remains, err := p.store.Find(p.ctx); remains != nil || err != nil {
		p.t.Errorf("Find after Drop: %+v, %v; want nil", remains, err)
	}
}

func (p *heap) testInsertDelete() {
	p.create()
	s, other := p.session(), p.session()
	p.insert(s, 1, 2, 3, 4, 5)
	p.insert(other, math.MaxInt64, 1<<53+1)
	p.remove(other, 2, 4)
	p.remove(s, math.MaxInt64)
	if r := s.Delete(p.ctx, []int64{2, 77}); r.Outcome != history.Committed {
		p.t.Errorf("delete of what is not there: %+v, want committed", r)
	}
	p.insert(s, 2)
	s.Close()
	other.Close()
	p.check()
}

// testDuplicate: an insert of which a row is there already is not acknowledged.
func (p *heap) testDuplicate() {
	p.create()
	s := p.session()
	p.insert(s, 1, 2)
	r := s.Insert(p.ctx, []churn.Row{{ID: 1, Payload: "another"}})
	if r.Outcome == history.Committed || r.Class == "" {
		p.t.Errorf("insert again: %+v", r)
	}
	if p.h.Secret != "" && r.Err != nil && strings.Contains(r.Err.Error(), p.h.Secret) {
		p.t.Error("the reply tells the password")
	}
	s.Close()
	p.check()
}

// testRepair deletes most rows and runs each repair, which changes none.
func (p *heap) testRepair() {
	p.create()
	s := p.session()
	var gone []int64
	for first := int64(0); first < 4000; first += 500 {
		var ids []int64
		for id := first + 1; id <= first+500; id++ {
			ids = append(ids, id)
		}
		p.insert(s, ids...)
		gone = append(gone, ids[50:]...)
	}
	for len(gone) > 0 {
		n := min(len(gone), churn.MaxBatch)
		p.remove(s, gone[:n]...)
		gone = gone[n:]
	}
	s.Close()
	p.check()
	before, err := p.store.Size(p.ctx)
	if err != nil {
		p.t.Fatal(err)
	}
	if len(p.store.Repairs()) == 0 {
		p.t.Error("there are no repairs")
	}
	for _, name := range p.store.Repairs() {
		if err := p.store.Repair(p.ctx, name); err != nil {
			p.t.Errorf("%s: %v", name, err)
		}
		p.check()
	}
	after, err := p.store.Size(p.ctx)
	if err != nil || p.h.Shrinks && 2*after.Bytes > before.Bytes {
		p.t.Errorf("%d bytes after the repair, %d before, %v", after.Bytes, before.Bytes, err)
	}
}

func (p *heap) testReadCallbackErrors() {
	p.create()
	s := p.session()
	p.insert(s, 1, 2, 3)
	s.Close()
	sentinel, calls := errors.New("the reader has had enough"), 0
	err := p.store.Read(p.ctx, func(churn.Row) error {
		if calls++; calls == 2 {
			return sentinel
		}
		return nil
	})
	if err != sentinel || calls != 2 {
		p.t.Errorf("Read made %d calls and returned %v", calls, err)
	}
}

func (p *heap) testContextOver() {
	p.create()
	over, cancel := context.WithCancel(p.ctx)
	cancel()
	s := p.session()
	r := s.Insert(over, []churn.Row{{ID: 1, Payload: "x"}})
	if r.Outcome == history.Committed || r.Class == "" {
		p.t.Errorf("insert in a context that was over: %+v", r)
	}
	s.Close()
	s = p.session()
	p.insert(s, 2)
	s.Close()
	if r.Outcome == history.Failed {
		p.check()
	}
}

func (p *heap) testForeign() {
	p.h.MakeForeign(p.t)
	for name, attempt := range map[string]func(churn.Store) error{
		"Find":   func(s churn.Store) error { _, err := s.Find(p.ctx); return err },
		"Create": func(s churn.Store) error { return s.Create(p.ctx, markOf("run-1", 0)) },
		"Drop":   func(s churn.Store) error { return s.Drop(p.ctx) },
	} {
		var foreign *workload.ForeignError
		if err := attempt(p.open()); !errors.As(err, &foreign) {
			p.t.Errorf("%s on what is not ours: %v; want *workload.ForeignError", name, err)
		}
		p.h.ForeignIntact(p.t)
	}
}
