package measure

import (
	"math/rand/v2"
	"slices"
	"testing"

	"assay/history"
)

// TestOverlappingPeriods: the tree finds what a search through all periods finds.
func TestOverlappingPeriods(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for range 300 {
		var all []FaultPeriod
		for range random.IntN(12) {
			from := random.Int64N(60)
			all = append(all, FaultPeriod{from, from + random.Int64N(4)*random.Int64N(8)})
		}
		p := newFaultPeriods(all)
		for range 50 {
			from := random.Int64N(80)
			to := from + random.Int64N(10)
			var want, got []int
			for i, one := range all {
				if one.overlaps(from, to) {
					want = append(want, i)
				}
			}
			p.overlapping(from, to, func(i int) bool { got = append(got, i); return true })
			slices.Sort(got)
			if !slices.Equal(got, want) || p.any(from, to) != (len(want) > 0) {
				t.Fatalf("%+v: found %v in [%d, %d), want %v", all, got, from, to, want)
			}
		}
	}
}

// BenchmarkImpactOfManyFaults is one attempt of a run with a thousand short faults.
func BenchmarkImpactOfManyFaults(b *testing.B) {
	var all []FaultPeriod
	for i := range int64(1000) {
		all = append(all, FaultPeriod{i * sec, i*sec + sec/2})
	}
	e := NewImpactFinder(Scope{MeasureEnd: 1000 * sec, End: 1000 * sec}, all)
	op := ended(0, history.Committed, 0, 0, 0)
	for i := int64(0); b.Loop(); i++ {
		op.Start = i % 1_000_000 * ms
		op.End = op.Start + ms
		e.Write(op)
	}
}
