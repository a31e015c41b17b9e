package ledger

import (
	"fmt"
	"slices"
	"testing"

	"assay/check"
)

// double gives a row the version that another one gave the same account.
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

// TestWhatIsToldIsSo holds every cycle and every way that is told against the
// run, also where versions were given twice and where no short cycle is looked
// for; and each must still be found.
func TestWhatIsToldIsSo(t *testing.T) {
	count := map[string]int{}
	for seed := range uint64(5000) {
		for _, c := range []struct {
			doubled bool
			looks   int64
		}{{false, 0}, {true, 0}, {true, 40}, {true, sweepLooks}} {
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
			chains := newChains(p.judge(t), newFindings(orderKinds))
			audits := newAuditing(chains, newFindings(snapshotKinds))
			chains.looks = c.looks
			chains.judge(audits)
			chains.found.into(&order)
			audits.seen.into(&snapshots)
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
