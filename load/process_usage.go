package load

import (
	"math"
	"runtime"
	"runtime/metrics"
	"time"
)

// Usage describes how far the tester itself used its machine. A client that is
// short of processor measures itself instead of the database.
type Usage struct {
	// CPUShare is the processor time used, user and system, divided by what
	// CPUs processors could give; -1 if it could not be measured, or the span is
	// too short for it.
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
	// leastProbed is the shortest span whose use of the processors is told: what a process does
	// at once at its beginning and end would be most of a shorter one.
	leastProbed = 100 * time.Millisecond
)

// usageProbe takes the figures at the beginning of a span.
type usageProbe struct {
	at              time.Time
	cpu             float64 // seconds; negative if unknown
	counts          []uint64
	clock           *ownClock
	runnable, looks float64
}

func startUsage(clock *ownClock) usageProbe {
	_, counts := schedulerHistogram()
	p := usageProbe{at: time.Now(), cpu: processorSeconds(), counts: counts, clock: clock}
	p.runnable, p.looks = clock.waiting()
	return p
}

// since returns the usage from the probe to now.
func (p usageProbe) since() Usage {
	u := Usage{CPUShare: -1, CPUs: runtime.GOMAXPROCS(0)}
	runnable, looks := p.clock.waiting()
	u.Runnable = (runnable - p.runnable) / max(looks-p.looks, 1)
	wall := time.Since(p.at)
	if cpu := processorSeconds(); cpu >= 0 && p.cpu >= 0 && wall >= leastProbed {
		u.CPUShare = min((cpu-p.cpu)/(wall.Seconds()*float64(u.CPUs)), 1)
	}
	buckets, counts := schedulerHistogram()
	u.SchedulerP99 = quantile(buckets, counts, p.counts, 0.99)
	return u
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
