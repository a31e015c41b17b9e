package drivertest

import (
	"context"
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
	runLease(t, func(t *testing.T) *hold[churn.Store] { return emptyHeap(t, h).hold },
		func(ctx context.Context, s churn.Store, run string) error { return s.Create(ctx, churnMark(run)) })
	if h.MakeForeign != nil {
		t.Run("Foreign", func(t *testing.T) { emptyHeap(t, h).testForeign() })
	}
}

// heap is one subtest's hold on the place under test.
type heap struct {
	*hold[churn.Store]
	h    Churn
	want map[int64]string
}

func emptyHeap(t *testing.T, h Churn) *heap {
	t.Helper()
	return &heap{h: h, want: map[int64]string{}, hold: empty(t, harness[churn.Store]{h.Open, h.MakeForeign, h.ForeignIntact, h.Secret})}
}

func churnMark(run string) workload.Marker { return loadedMark("churn", run) }

// readHeap is a Store's Read.
func readHeap(store churn.Store) reading {
	return func(ctx context.Context, each func() error) error {
		return store.Read(ctx, func(churn.Row) error { return each() })
	}
}

func (p *heap) create() {
	p.t.Helper()
	if err := p.store.Create(p.ctx, churnMark("run-1")); err != nil {
		p.t.Fatalf("Create: %v", err)
	}
	clear(p.want)
	p.mustFind(churnMark("run-1"), 0)
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
	if size, rows := p.size(); rows != int64(len(p.want)) || len(p.want) > 0 && size.Bytes == 0 {
		p.t.Errorf("Size: %+v; want %d rows", size, len(p.want))
	}
}

func (p *heap) testNothing() {
	p.findNothing()
	p.readNothing(readHeap(p.store))
	p.describe()
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
	p.drop()
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
	p.stopReading(readHeap(p.store), 2)
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
	p.foreign(func(s churn.Store) error { return s.Create(p.ctx, churnMark("run-1")) })
}
