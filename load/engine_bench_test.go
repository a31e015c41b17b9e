//go:build unix

package load

import (
	"context"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"assay/history"
	"assay/internal/expect"
)

// atOnce is a client that answers at once, with four values.
type atOnce struct{ values [4]int64 }

func (c *atOnce) Attempt(_ context.Context, seq uint64, _ int) Answer {
	c.values[0] = int64(seq)
	return Answer{Outcome: history.Committed, Kind: 1, Values: c.values[:]}
}

func (c *atOnce) Close() {}

// nowhere is a recorder that keeps nothing.
type nowhere struct{}

func (nowhere) Reserve(history.Reservation) error { return nil }
func (nowhere) Record(*history.Op) error          { return nil }
func (nowhere) Mark(history.Event) error          { return nil }

// BenchmarkEngine has 16 clients work through operations that are answered at once, and
// records them in a file, or nowhere; the difference is what recording costs. cpu-ns/op is
// the processor time of the process, which a busy machine changes less than the time on
// the clock.
func BenchmarkEngine(b *testing.B) {
	b.Run("recorded", func(b *testing.B) {
		file, err := history.Create(filepath.Join(b.TempDir(), "history.bin"), history.Header{Run: "benchmark"})
		expect.NoError(b, err)
		benchmarkEngine(b, file)
		expect.NoError(b, file.Close())
	})
	b.Run("nowhere", func(b *testing.B) { benchmarkEngine(b, nowhere{}) })
}

func benchmarkEngine(b *testing.B, recorder Recorder) {
	plan := Plan{Clients: 16, Arrivals: Closed, Ops: uint64(b.N), Timeout: 30 * time.Second, Retry: RetryNone, MaxAttempts: 1}
	clients := make([]Client, plan.Clients)
	for i := range clients {
		clients[i] = &atOnce{}
	}
	start := time.Now()
	b.ReportAllocs()
	b.ResetTimer()
	before := processorTime(b)
	if _, err := Run(b.Context(), plan, clients, recorder, func() int64 { return int64(time.Since(start)) }); err != nil {
		b.Fatal(err)
	}
	b.ReportMetric(float64(processorTime(b)-before)/float64(b.N), "cpu-ns/op")
}

// processorTime is what the process has used, in nanoseconds.
func processorTime(b *testing.B) int64 {
	var usage syscall.Rusage
	expect.NoError(b, syscall.Getrusage(syscall.RUSAGE_SELF, &usage))
	return usage.Utime.Nano() + usage.Stime.Nano()
}
