package cycle_test

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"runtime"
	"syscall"
	"testing"
	"time"

	"assay/check"
	"assay/check/cycle"
	"assay/history"
	"assay/internal/expect"
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

// BenchmarkRegisters judges 100,000 transactions over registers of a strictly
// serializable database with 8 clients, by models that need a search for the
// order of the writes:
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

var weakTxns = flag.Int("cycle.weak", 1<<16, "how many transactions BenchmarkWeak judges")

// weakHistory is what a serial database shows to so many sessions whose
// transactions have four to twelve operations on registers, half of them writes,
// a few keys being used most: as many events and keys a transaction as in the
// histories of C-Twitter with which AWDIT (Moldrup and Pavlogiannis, PLDI 2025)
// was measured. With broken, one transaction near the end misses a half of what
// another wrote.
func weakHistory(b *testing.B, txns, sessions int, broken bool) *cycle.History {
	b.Helper()
	r := rand.New(rand.NewPCG(1, uint64(sessions)))
	zipf := rand.NewZipf(r, 1.1, 20, uint64(txns)*7/10)
	var builder cycle.Builder
	state := make([]int64, txns)
	for t := range int64(txns) {
		x := cycle.Txn{ID: t, Process: int32(r.IntN(sessions)), Invoke: 2 * t, Complete: 2*t + 1, Outcome: history.Committed}
		for range 4 + r.IntN(9) {
			op := cycle.Op{Kind: cycle.ReadNothing, Key: int64(zipf.Uint64())}
			if r.IntN(2) == 0 {
				state[op.Key] = 16*t + int64(len(x.Ops)) + 1
				op.Kind, op.Value = cycle.Write, state[op.Key]
			} else if state[op.Key] > 0 {
				op.Kind, op.Value = cycle.ReadValue, state[op.Key]
			}
			x.Ops = append(x.Ops, op)
		}
		expect.NoError(b, builder.Add(x))
	}
	if broken {
		t, a, c := int64(txns), int64(txns)+1, int64(txns)+2
		for i, ops := range [][]cycle.Op{
			{{Kind: cycle.Write, Key: a, Value: 1}, {Kind: cycle.Write, Key: c, Value: 1}},
			{{Kind: cycle.ReadValue, Key: a, Value: 1}, {Kind: cycle.ReadNothing, Key: c}},
		} {
			expect.NoError(b, builder.Add(cycle.Txn{ID: t, Process: int32(i), Invoke: 2 * t, Complete: 2*t + 1, Outcome: history.Committed, Ops: ops}))
			t++
		}
	}
	return builder.History()
}

// BenchmarkWeak judges histories as large as those of AWDIT by the models that it
// has. What AWDIT calls read committed is monotonic atomic view here:
//
//	go test ./check/cycle -run '^$' -bench Weak -benchtime 1x -cycle.weak=1048576
func BenchmarkWeak(b *testing.B) {
	for _, sessions := range []int{50, 100} {
		for _, broken := range []bool{false, true} {
			var h *cycle.History
			for _, model := range []cycle.Model{cycle.ReadCommitted, cycle.MonotonicAtomicView, cycle.ReadAtomic, cycle.Causal} {
				b.Run(fmt.Sprintf("%s/%d/broken=%v", model, sessions, broken), func(b *testing.B) {
					want := check.Valid
					if broken && model != cycle.ReadCommitted {
						want = check.Violated
					}
					if h == nil {
						h = weakHistory(b, *weakTxns, sessions, broken)
					}
					begin := processorTime(b)
					for b.Loop() {
						if r := cycle.Check(context.Background(), h, model, cycle.Options{}); r.Verdict != want {
							b.Fatalf("%v: %s %v", r.Verdict, r.Reason, r.Anomalies)
						}
					}
					b.ReportMetric((processorTime(b)-begin).Seconds()/float64(b.N), "cpu-s/op")
				})
			}
		}
	}
}

// processorTime is what this process has used so far, which other programs on the
// machine do not change as they do the time of day.
func processorTime(b *testing.B) time.Duration {
	b.Helper()
	var used syscall.Rusage
	expect.NoError(b, syscall.Getrusage(syscall.RUSAGE_SELF, &used))
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}
