package cycle_test

import (
	"context"
	"runtime"
	"testing"

	"assay/check"
	"assay/check/cycle"
)

// BenchmarkStrict judges a million committed list-append transactions for
// strict serializability:
//
//	go test ./check/cycle -run '^$' -bench Strict -benchtime 3x -benchmem
func BenchmarkStrict(b *testing.B) {
	var builder cycle.Builder
	committed := 0
	const want = 1_000_000
	err := simulate(simulation{Seed: 1, Txns: 3 * want, Clients: 10, Keys: 100}, func(t cycle.Txn) error {
		if committed == want {
			return nil
		}
		if t.Outcome.String() == "committed" {
			committed++
		}
		return builder.Add(t)
	})
	if err != nil {
		b.Fatal(err)
	}
	h := builder.History()
	if committed != want {
		b.Fatalf("only %d transactions were committed", committed)
	}
	runtime.GC()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	b.ResetTimer()
	for b.Loop() {
		if r := cycle.Check(context.Background(), h, cycle.StrictSerializable, cycle.Options{}); r.Verdict != check.Valid {
			b.Fatalf("%v: %s %v", r.Verdict, r.Reason, r.Anomalies)
		}
	}
	runtime.ReadMemStats(&after)
	b.ReportMetric(float64(want)*float64(b.N)/b.Elapsed().Seconds(), "txns/s")
	b.ReportMetric(float64(before.HeapAlloc)/1e6, "history-MB")
	b.ReportMetric(float64(after.TotalAlloc-before.TotalAlloc)/1e6/float64(b.N), "check-MB")
	b.ReportMetric(float64(h.Len()), "txns")
}
