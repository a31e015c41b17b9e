package measure

import (
	"testing"

	"assay/history"
)

func BenchmarkLiveAdd(b *testing.B) {
	l := NewLive(8)
	op := ended(3, history.Committed, 0, 0, 0)
	for i := 0; b.Loop(); i++ {
		op.End = int64(i%1000) * 10_000
		l.Add(op)
	}
}

// BenchmarkSnapshot is what a progress line costs at the most clients.
func BenchmarkSnapshot(b *testing.B) {
	l := NewLive(maxStripes)
	for b.Loop() {
		for client := range maxStripes {
			l.Add(ended(client, history.Committed, 0, 0, sec))
		}
		l.Snapshot()
	}
}

func BenchmarkSummaryAdd(b *testing.B) {
	s := NewSummary(Scope{MeasureEnd: 60 * sec, End: 60 * sec})
	op := ended(3, history.Committed, 0, 0, 0)
	for i := 0; b.Loop(); i++ {
		op.Due = int64(i%60_000) * ms
		op.First, op.End = op.Due+ms/10, op.Due+ms+int64(i%7919)*1000
		s.Add(op)
	}
}
