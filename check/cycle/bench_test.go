package cycle_test

import (
	"context"
	"runtime"
	"testing"

	"assay/check"
	"assay/check/cycle"
	"assay/internal/expect"
)

// BenchmarkStrict judges a million committed list-append transactions for strict serializability:
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
	expect.NoError(b, err)
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

// BenchmarkRegisters judges 100,000 transactions over registers of a strictly serializable database
// with 8 clients, by models that need a search for the order of the writes:
//
//	go test ./check/cycle -run '^$' -bench Registers -benchtime 1x -benchmem
func BenchmarkRegisters(b *testing.B) {
	for _, model := range []cycle.Model{
		cycle.StrictSerializable, cycle.SessionSerializable, cycle.Serializable, cycle.SnapshotIsolation,
		cycle.ParallelSnapshotIsolation, cycle.Prefix, cycle.Causal, cycle.ReadAtomic, cycle.MonotonicAtomicView,
	} {
		b.Run(string(model), func(b *testing.B) {
			h, err := simulatedHistory(simulation{Seed: 1, Txns: 100_000, Clients: 8, Keys: 100, Writes: 100, Registers: true})
			expect.NoError(b, err)
			for b.Loop() {
				if r := cycle.Check(context.Background(), h, model, cycle.Options{}); r.Verdict != check.Valid {
					b.Fatalf("%v: %s %v", r.Verdict, r.Reason, r.Anomalies)
				}
			}
		})
	}
}
