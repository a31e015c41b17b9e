package ledger

import (
	"fmt"
	"slices"
	"testing"

	"assay/check"
)

// double gives a row the version that another row gave the same account.
func (p *puzzle) double() {
	for range 10 {
		a, b := &p.rows[p.rng.IntN(len(p.rows))], &p.rows[p.rng.IntN(len(p.rows))]
		switch {
		case a == b:
			continue
		case a.Source == b.Source:
			a.SourceVersion = b.SourceVersion
		case a.Source == b.Destination:
			a.SourceVersion = b.DestinationVersion
		case a.Destination == b.Destination:
			a.DestinationVersion = b.DestinationVersion
		default:
			continue
		}
		return
	}
}

// Every reported cycle and path is true of the run, even with repeated versions and without a
// search for short cycles. Every error must still be found.
func TestWhatIsToldIsSo(t *testing.T) {
	count := map[string]int{}
	for seed := range uint64(2500) {
		for _, c := range []struct {
			doubled bool
			looks   int64
		}{{false, 0}, {true, 0}, {true, 40}, {true, maxSortVisits}} {
			p := newPuzzle(seed)
			if c.doubled {
				p.double()
			}
			byID := p.vertices()
			var rows, all []*vertex
			for _, v := range byID {
				if all = append(all, v); !v.audit {
					rows = append(rows, v)
				}
			}
			claimed := p.vertices() // a step may also be to what a row says itself
			for _, r := range p.rows {
				claimed[r.ID].versions = map[int64]int64{r.Source: r.SourceVersion, r.Destination: r.DestinationVersion}
			}
			order, snapshots := check.Result{}, check.Result{}
			chains := newVersionOrder(p.judge(t), newFindings(orderKinds))
			audits := newAuditCheck(chains, newFindings(snapshotKinds))
			chains.visits = c.looks
			chains.judge(audits)
			chains.found.AddTo(&order)
			audits.found.AddTo(&snapshots)
			knot, strict := cyclic(rows, precedes), cyclic(rows, inTime)
			skewed := has(snapshots, KindReadSkew) || has(snapshots, KindLongFork)
			switch {
			case has(order, KindDirtyWrite) != knot:
				t.Fatalf("seed %d, %v: dirty write is %v: %v\n%+v", seed, c, !knot, order, p.rows)
			case (knot || has(order, KindStaleOrder)) != strict:
				t.Fatalf("seed %d, %v: stale order is %v: %v\n%+v", seed, c, !strict, order, p.rows)
			case !knot && !c.doubled && skewed != cyclic(all, precedes):
				t.Fatalf("seed %d, %v: skew is %v: %v\n%+v", seed, c, skewed, snapshots, p.rows)
			}
			for _, e := range slices.Concat(order.Evidence, snapshots.Evidence) {
				if e.Fields["steps"] == 0 {
					continue
				}
				if err := p.verify(e, claimed); err != nil {
					t.Fatalf("seed %d, %v: %v\n%+v\n%+v\n%v", seed, c, err, e, p.rows, p.ops)
				}
				count[fmt.Sprintf("%s, given twice: %v", e.Kind, c.doubled)]++
			}
		}
	}
	for _, kind := range []string{KindDirtyWrite, KindStaleOrder, KindReadSkew, KindLongFork, KindStaleRead, KindFutureRead} {
		for _, doubled := range []bool{false, true} {
			if what := fmt.Sprintf("%s, given twice: %v", kind, doubled); count[what] < 20 {
				t.Errorf("%s came up %d times only", what, count[what])
			}
		}
	}
}

func (p *puzzle) verify(e check.Evidence, byID map[int64]*vertex) error {
	f := e.Fields
	steps := f["steps"]
	if e.Kind != KindLostUpdate && (e.Cycle == nil || len(e.Cycle.Steps) < 2) {
		return fmt.Errorf("no cycle is drawn")
	}
	if steps < 1 {
		return fmt.Errorf("there are no steps")
	}
	last := f["id_1"] // a cycle
	if late, timed := f["late_id"]; timed {
		if last = f["early_id"]; f["id_1"] != late {
			return fmt.Errorf("the way does not begin with the late one")
		}
		if !(byID[last].end == f["acknowledged_ns"] && f["acknowledged_ns"] < f["started_ns"] && byID[late].first == f["started_ns"]) {
			return fmt.Errorf("the times are not those of the two")
		}
	} else if steps < 2 {
		return fmt.Errorf("a cycle of one step")
	}
	for i := int64(1); i < min(steps, shownSteps); i++ {
		if f[fmt.Sprintf("account_%d", i)] == f[fmt.Sprintf("account_%d", i+1)] {
			return fmt.Errorf("steps %d and %d are one", i, i+1)
		}
	}
	if _, timed := f["late_id"]; !timed && steps <= shownSteps && f["account_1"] == f[fmt.Sprintf("account_%d", steps)] {
		return fmt.Errorf("the last and the first step are one")
	}
	for i := int64(1); i <= min(steps, shownSteps); i++ {
		field := func(name string, i int64) int64 { return f[fmt.Sprintf("%s_%d", name, i)] }
		to := last
		if i < steps {
			if i == shownSteps {
				break
			}
			to = field("id", i+1)
		}
		account, version, next := field("account", i), field("version", i), field("next_version", i)
		a, b := byID[field("id", i)], byID[to]
		if a == nil || b == nil || a.versions[account] != version || b.versions[account] != next ||
			version > next || version == next && (a.audit || !b.audit) {
			return fmt.Errorf("step %d is not so", i)
		}
	}
	return nil
}
