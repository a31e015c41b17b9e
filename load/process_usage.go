package load

import (
	"context"
	"math"
	"os"
	"runtime"
	"runtime/metrics"
	"time"

	"github.com/shirou/gopsutil/v4/process"
)

// Usage describes how far the tester itself used its machine. A client that is
// short of processor measures itself instead of the database.
type Usage struct {
	// CPUShare is the processor time used, user and system, divided by what
	// CPUs processors could give; -1 if it could not be measured.
	CPUShare float64
	// CPUs is how many processors the process may use.
	CPUs int
	// SchedulerP99 is the 99th percentile of the time that runnable goroutines
	// waited for a processor.
	SchedulerP99 time.Duration
	// Runnable is how many goroutines waited for a processor at a time, on
	// average.
	Runnable float64
}

const (
	schedulerLatencies = "/sched/latencies:seconds"
	runnableGoroutines = "/sched/goroutines/runnable:goroutines"
	// runnableEvery is how often those that wait are counted.
	runnableEvery = 20 * time.Millisecond
)

// usageProbe takes the figures at the beginning of a span.
type usageProbe struct {
	at     time.Time
	cpu    float64 // seconds; negative if unknown
	counts []uint64
	// runnable ends the counting of those that wait and returns their mean.
	runnable func() float64
}

func startUsage(ctx context.Context) usageProbe {
	_, counts := schedulerHistogram()
	return usageProbe{at: time.Now(), cpu: processorSeconds(ctx), counts: counts, runnable: countRunnable()}
}

// countRunnable counts the goroutines that wait for a processor until the
// returned function is called, which returns their mean. Where processors are
// short the counting is late itself, which changes little in the mean.
func countRunnable() (stop func() float64) {
	quit, mean := make(chan struct{}), make(chan float64)
	go func() {
		var sum, n float64
		tick := time.NewTicker(runnableEvery)
		defer tick.Stop()
		for {
			select {
			case <-quit:
				mean <- sum / max(n, 1)
				return
			case <-tick.C:
			}
			sample := []metrics.Sample{{Name: runnableGoroutines}}
			metrics.Read(sample)
			if sample[0].Value.Kind() == metrics.KindUint64 {
				sum, n = sum+float64(sample[0].Value.Uint64()), n+1
			}
		}
	}()
	return func() float64 { close(quit); return <-mean }
}

// since returns the usage from the probe to now.
func (p usageProbe) since(ctx context.Context) Usage {
	u := Usage{CPUShare: -1, CPUs: runtime.GOMAXPROCS(0), Runnable: p.runnable()}
	wall := time.Since(p.at).Seconds()
	if cpu := processorSeconds(ctx); cpu >= 0 && p.cpu >= 0 && wall > 0 {
		u.CPUShare = (cpu - p.cpu) / (wall * float64(u.CPUs))
	}
	buckets, counts := schedulerHistogram()
	u.SchedulerP99 = quantile(buckets, counts, p.counts, 0.99)
	return u
}

func processorSeconds(ctx context.Context) float64 {
	self, err := process.NewProcessWithContext(ctx, int32(os.Getpid()))
	if err != nil {
		return -1
	}
	times, err := self.TimesWithContext(ctx)
	if err != nil {
		return -1
	}
	return times.User + times.System
}

func schedulerHistogram() (buckets []float64, counts []uint64) {
	sample := []metrics.Sample{{Name: schedulerLatencies}}
	metrics.Read(sample)
	if sample[0].Value.Kind() != metrics.KindFloat64Histogram {
		return nil, nil
	}
	h := sample[0].Value.Float64Histogram()
	return h.Buckets, append([]uint64(nil), h.Counts...)
}

// quantile returns the upper bound of the bucket that holds quantile q of the
// counts gained since before; 0 if there were none.
func quantile(buckets []float64, counts, before []uint64, q float64) time.Duration {
	if len(counts) != len(before) {
		return 0
	}
	var total, seen uint64
	for i := range counts {
		total += counts[i] - before[i]
	}
	want := uint64(math.Ceil(q * float64(total)))
	for i := range counts {
		if seen += counts[i] - before[i]; seen >= want && total > 0 {
			bound := buckets[i+1]
			if math.IsInf(bound, 1) {
				bound = buckets[i]
			}
			return time.Duration(bound * float64(time.Second))
		}
	}
	return 0
}
