package load

import (
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"
)

// BenchmarkDispatch reports how late idle clients get their arrivals. Run it
// with -benchtime=2000x on an idle machine.
func BenchmarkDispatch(b *testing.B) {
	for _, clients := range []int{4, 10_000} {
		for _, rate := range []float64{50, 500, 5000, 50_000} {
			b.Run(fmt.Sprintf("clients=%d/rate=%g", clients, rate), func(b *testing.B) { benchmarkDispatch(b, clients, rate) })
		}
	}
}

func benchmarkDispatch(b *testing.B, clients int, rate float64) {
	start := time.Now()
	now := func() int64 { return int64(time.Since(start)) }
	d := newDispatcher(Plan{Rate: rate, Arrivals: Poisson, Ops: uint64(b.N)}, now)
	defer d.alarm.close()
	var (
		mu   sync.Mutex
		late []int64
		all  sync.WaitGroup
	)
	for range clients {
		all.Go(func() {
			for {
				a, ok := d.next()
				if !ok {
					return
				}
				lag := now() - a.due
				mu.Lock()
				late = append(late, lag)
				mu.Unlock()
			}
		})
	}
	all.Wait()
	elapsed := now()
	if len(late) != b.N {
		b.Fatalf("%d arrivals, want %d", len(late), b.N)
	}
	slices.Sort(late)
	at := func(share float64) float64 { return float64(late[int(share*float64(len(late)-1))]) / 1000 }
	b.ReportMetric(at(0.50), "p50-late-µs")
	b.ReportMetric(at(0.99), "p99-late-µs")
	b.ReportMetric(100*float64(d.spun.Load())/float64(elapsed), "spin-%")
}
