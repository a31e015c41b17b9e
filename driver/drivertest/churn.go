package drivertest

import (
	"maps"
	"math"
	"strings"
	"testing"

	"assay/history"
	"assay/workload"
	"assay/workload/churn"
)

// RunChurn tests everything that churn.Store promises. Its subtests run one
// after the other on one schema.
func RunChurn(t *testing.T, h Churn) {
	on := func(t *testing.T) *churnFixture {
		return &churnFixture{fixture: newFixture(t, h, contents{workload: churn.Name, found: 3, tables: []int64{3}})}
	}
	operations(t, ready(on), checked([]operation[*churnFixture]{
		{"InsertDelete", (*churnFixture).testInsertDelete},
		{"Duplicate", (*churnFixture).testDuplicate},
		{"Repair", (*churnFixture).testRepair},
		{"ContextOver", (*churnFixture).testContextOver},
	}))
}

// churnFixture is a fixture with the payloads that must be there, by id.
type churnFixture struct {
	*fixture[churn.Store]
	want map[int64]string
}

func (p *churnFixture) create(store churn.Store, marker workload.Marker) error {
	p.want = map[int64]string{}
	return store.Create(p.ctx, marker)
}

func (p *churnFixture) write(store churn.Store, number int) {
	s := p.session(store)
	defer p.closeClients()
	first := 10*int64(number) + 1
	p.insert(s, first, first+1, first+2)
}

func (p *churnFixture) read(store churn.Store) reading { return each(store.Read) }

func (p *churnFixture) session(store churn.Store) churn.Session {
	p.t.Helper()
	return sessionOf(p.fixture, store.Session)
}

// insert adds rows of these ids and wants them acknowledged.
func (p *churnFixture) insert(s churn.Session, ids ...int64) {
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

func (p *churnFixture) remove(s churn.Session, ids ...int64) {
	p.t.Helper()
	if r := s.Delete(p.ctx, ids); r.Outcome != history.Committed || r.Err != nil || r.Class != "" {
		p.t.Fatalf("delete: %+v", r)
	}
	for _, id := range ids {
		delete(p.want, id)
	}
}

// check wants exactly the rows that are wanted.
func (p *churnFixture) check() {
	p.t.Helper()
	p.settle()
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

func (p *churnFixture) testInsertDelete() {
	s, other := p.session(p.store), p.session(p.store)
	p.insert(s, 1, 2, 3, 4, 5)
	p.insert(other, math.MaxInt64, 1<<53+1)
	p.remove(other, 2, 4)
	p.remove(s, math.MaxInt64)
	if r := s.Delete(p.ctx, []int64{2, 77}); r.Outcome != history.Committed {
		p.t.Errorf("delete of what is not there: %+v, want committed", r)
	}
	p.insert(s, 2)
}

// testDuplicate: an insert of which a row is there already is not acknowledged.
func (p *churnFixture) testDuplicate() {
	s := p.session(p.store)
	p.insert(s, 1, 2)
	r := s.Insert(p.ctx, []churn.Row{{ID: 1, Payload: "another"}})
	if r.Outcome == history.Committed || r.Class == "" {
		p.t.Errorf("insert again: %+v", r)
	}
	p.wantNoSecret(r.Err)
}

// testRepair deletes most rows and runs each repair, which changes none.
func (p *churnFixture) testRepair() {
	s := p.session(p.store)
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
	p.closeClients()
	p.check()
	before, err := p.store.Size(p.ctx)
	if err != nil {
		p.t.Fatal(err)
	}
	if err := p.store.Repair(p.ctx, "no such repair"); err == nil {
		p.t.Error("a repair that does not exist was run")
	}
	if len(p.store.Repairs()) == 0 {
		p.t.Error("there are no repairs")
	}
	for _, name := range p.store.Repairs() {
		p.wantNoError(name, p.store.Repair(p.ctx, name))
		p.check()
	}
	after, err := p.store.Size(p.ctx)
	if err != nil || p.harness.Shrinks && 2*after.Bytes > before.Bytes {
		p.t.Errorf("%d bytes after the repair, %d before, %v", after.Bytes, before.Bytes, err)
	}
}

func (p *churnFixture) testContextOver() {
	over := ended(p.ctx)
	row := churn.Row{ID: 1, Payload: "x"}
	r := p.session(p.store).Insert(over, []churn.Row{row})
	if r.Outcome == history.Committed || r.Class == "" {
		p.t.Errorf("insert in a context that was over: %+v", r)
	}
	p.insert(p.session(p.store), 2)
	if r.Outcome == history.Unknown {
		p.settle()
		if _, rows := p.size(); rows == 2 {
			p.want[row.ID] = row.Payload
		}
	}
}
