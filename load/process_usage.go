package load

import (
	"math"
	"runtime"
	"runtime/metrics"
	"time"
)

// Usage is the tester's own use of its machine. A client short of processors measures itself
// instead of the database.
type Usage struct {
	// CPUShare is the processor time used, user and system, as a share of CPUs processors; -1 if
	// unknown or the span is too short.
	CPUShare float64
	// CPUs is the number of processors that the process may use.
	CPUs int
	// SchedulerP99 is the 99th percentile of goroutines' waits for a processor.
	SchedulerP99 time.Duration
	// Runnable is the average number of goroutines that wait for a processor.
	Runnable float64
}

const (
	schedulerLatencies = "/sched/latencies:seconds"
	runnableGoroutines = "/sched/goroutines/runnable:goroutines"
	// leastProbed is the shortest span reported: in a shorter one, the process's own beginning and
	// end would dominate.
	leastProbed = 100 * time.Millisecond
)

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

// quantile returns the upper bound of the bucket with quantile q of the counts since before; 0 if
// there were none.
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
