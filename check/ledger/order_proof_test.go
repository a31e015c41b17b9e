package ledger

import (
	"cmp"
	"fmt"
	"slices"
	"testing"
)

// The proof and the search for errors agree: one finds nothing wrong exactly if the other does.
func TestTheProofAgreesWithTheSearchForErrors(t *testing.T) {
	var proven, refuted int
	for seed := range uint64(3000) {
		p := newPuzzle(seed)
		if compareProof(t, fmt.Sprintf("puzzle %d", seed), p.judge(t)) {
			proven++
		} else {
			refuted++
		}
	}
	if proven < 200 || refuted < 200 {
		t.Errorf("%d puzzles were proven and %d were not; want many of both", proven, refuted)
	}
	for seed := range uint64(100) {
		for _, m := range mutations {
			r := randomRun(seed, 2+int64(seed%40), 1+int(seed%5), 5+seed%50)
			if m.apply(&r, int(seed)*7) {
				compareProof(t, fmt.Sprintf("%s in run %d", m.name, seed), r.judge(t))
			}
		}
	}
}

func compareProof(t *testing.T, name string, j *Judge) bool {
	t.Helper()
	agreed, proven := j.proveOrder()
	found := j.order.Clone()
	c := newVersionOrder(j, found)
	a := newAuditCheck(c, newFindings(snapshotKinds))
	followed := c.judge(a)
	nothing := found.String() == "" && a.found.String() == "" && a.doubtful == 0 && !a.gaveUp
	excused := j.entries.excluded != nil || len(j.entries.unrecorded) > 0 || j.incomplete[Journal] != ""
	switch {
	case proven && !nothing:
		t.Fatalf("%s: proven, though there is %v, %v", name, found, a.found)
	case proven && agreed != followed:
		t.Fatalf("%s: %d acknowledged balances agree by the proof, %d by following the accounts", name, agreed, followed)
	case !proven && nothing && !excused:
		t.Fatalf("%s: not proven, though nothing is wrong", name)
	}
	if found := j.order.Clone(); !excused && found.String() == "" {
		p := newOrderProof(j)
		p.enterAll(j.ops.byStart())
		if again := p.done(); again != proven {
			t.Fatalf("%s: proven by the journal's order %v, by that of the operations %v", name, proven, again)
		}
	}
	return proven
}

// A valid run is proven the quick way, in whatever order the journal is read.
func TestValidRunsAreProven(t *testing.T) {
	for seed := range uint64(60) {
		r := randomRun(seed, 30, 1+int(seed%5), 200)
		if seed%2 == 0 { // by id: one client after the other
			slices.SortFunc(r.rows, func(a, b Row) int { return cmp.Compare(a.ID, b.ID) })
		}
		j := r.judge(t)
		if _, proven := j.proveOrder(); !proven {
			t.Errorf("run %d is not proven", seed)
		}
	}
}

// The order of operations by start equals the simplest one: next comes the client whose next
// operation started first.
func TestOperationsByStart(t *testing.T) {
	for seed := range uint64(20) {
		j := randomRun(seed, 30, 1+int(seed%5), 9000).judge(t)
		left := map[int][]uint32{} // by client
		var owners []uint32
		for n := range j.entries.len() {
			owners = append(owners, j.entries.owners[n])
		}
		start := func(owner uint32) int64 {
			b, i := j.ops.at(owner)
			first, _ := b.page[i].span()
			return first
		}
		slices.SortFunc(owners, func(x, y uint32) int {
			b, i := j.ops.at(x)
			c, k := j.ops.at(y)
			return cmp.Or(cmp.Compare(b.key, c.key), cmp.Compare(i, k))
		})
		for _, owner := range owners {
			b, _ := j.ops.at(owner)
			left[b.key.client()] = append(left[b.key.client()], owner)
		}
		visited := 0
		for owner := range j.ops.byStart() {
			b, _ := j.ops.at(owner)
			own := left[b.key.client()]
			if len(own) == 0 || own[0] != owner {
				t.Fatalf("run %d: client %d has another operation next", seed, b.key.client())
			}
			for client, others := range left {
				if len(others) > 0 && start(others[0]) < start(owner) {
					t.Fatalf("run %d: client %d has one that was started before", seed, client)
				}
			}
			left[b.key.client()] = own[1:]
			visited++
		}
		if visited != len(owners) || visited < 5000 {
			t.Errorf("run %d: %d of %d visited", seed, visited, len(owners))
		}
	}
}

// More entries wait than have room, so they are taken by the starts of their operations.
func TestAJournalInNoOrder(t *testing.T) {
	r := randomRun(3, 40, 5, 40_000)
	slices.SortFunc(r.rows, func(a, b Row) int { return cmp.Compare(a.ID, b.ID) })
	j := r.judge(t)
	if !j.proof.crowded {
		t.Fatalf("%d of %d entries wait", len(j.proof.parked), j.entries.len())
	}
	if _, proven := j.proveOrder(); !proven {
		t.Error("it is not proven")
	}
}
