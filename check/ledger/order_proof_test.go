package ledger

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"assay/history"
)

// TestTheProofAgreesWithTheSearchForErrors compares the two ways of judging order and
// snapshots: one of them finds nothing wrong if and only if the other does.
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

// compareProof reports whether the order was proven.
func compareProof(t *testing.T, name string, j *Judge) bool {
	t.Helper()
	agreed, proven := j.proveOrder(newAuditCheck(&versionOrder{j: j}, newFindings(snapshotKinds)))
	found := j.order.clone()
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
	if found := j.order.clone(); !excused && found.String() == "" {
		p := newOrderProof(j, newAuditCheck(&versionOrder{j: j}, newFindings(snapshotKinds)))
		p.enterAll(j.entries.byOperation(j))
		if again := !p.failed && len(p.parked) == 0 && p.unseen == 0; again != proven {
			t.Fatalf("%s: proven by the journal's order %v, by that of the operations %v", name, proven, again)
		}
	}
	return proven
}

// TestValidRunsAreProven: what is judged most often is judged the quick way, in whatever
// order the journal is read.
func TestValidRunsAreProven(t *testing.T) {
	for seed := range uint64(60) {
		r := randomRun(seed, 30, 1+int(seed%5), 200)
		if seed%2 == 0 { // by id: one client after the other
			slices.SortFunc(r.rows, func(a, b Row) int { return cmp.Compare(a.ID, b.ID) })
		}
		j := r.judge(t)
		if runs := j.entries.runs(j); seed%10 == 4 && len(runs) != 5 {
			t.Errorf("run %d: %d runs in a journal of 5 clients that is sorted by id", seed, len(runs))
		}
		if _, proven := j.proveOrder(newAuditCheck(&versionOrder{j: j}, newFindings(snapshotKinds))); !proven {
			t.Errorf("run %d is not proven", seed)
		}
	}
}

// TestEntriesInNoOrder: a journal in no order is visited as one that is sorted by id.
func TestEntriesInNoOrder(t *testing.T) {
	for seed := range uint64(20) {
		r := randomRun(seed, 30, 1+int(seed%5), 9000)
		slices.SortFunc(r.rows, func(a, b Row) int { return cmp.Compare(a.ID, b.ID) })
		j := r.judge(t)
		var want, got []int64
		for n := range j.entries.byTime(j) {
			want = append(want, j.id(n))
		}
		rand.New(rand.NewPCG(seed, 1)).Shuffle(len(r.rows), func(a, b int) { r.rows[a], r.rows[b] = r.rows[b], r.rows[a] })
		j = r.judge(t)
		for n := range j.entries.byOperation(j) {
			got = append(got, j.id(n))
		}
		if len(want) < 5000 || !slices.Equal(got, want) {
			t.Errorf("run %d: %d entries are visited in another order", seed, len(want))
		}
	}
}

func TestStartsOfOperationsAreExact(t *testing.T) {
	for name, starts := range map[string][]int64{
		"close":          {5_000, 5_000, 6_000, 4_000_000_000},
		"far apart":      {5_000, 5_000 + 1<<33, 7},
		"before another": {1 << 40, 5, 1<<40 + 1},
		"impossible":     {math.MinInt64, math.MaxInt64, 0, -1},
	} {
		var b block
		for i, start := range starts {
			b.setTimes(i*2, &history.Op{First: start, End: start}, &spill{})
		}
		for i, start := range starts {
			if first, _ := b.span(i * 2); first != start {
				t.Errorf("%s: operation %d started at %d, by the record at %d", name, i, start, first)
			}
			if first, _ := b.span(i*2 + 1); first != 0 {
				t.Errorf("%s: an operation without a record started at %d", name, first)
			}
		}
	}
}
