package load

import (
	"runtime/metrics"
	"sync"
	"time"

	"assay/history"
)

const (
	// tick is the time between looks, each of which takes some microseconds.
	tick = 10 * time.Millisecond
	// leastStall is the lateness of a tick that counts as a stall. On a busy machine ticks are
	// late: Go preempts a goroutine after 10 ms, Linux a thread after some milliseconds for each
	// waiting one. Longer lateness would show in percentiles and outages.
	leastStall = 50 * time.Millisecond
)

// ownClock finds times in which the process did not run: it was stopped, the machine stalled, or
// the process's own work left no processor to the clock. It also counts goroutines that wait for a
// processor.
type ownClock struct {
	now     func() int64
	used    func() float64 // processor time of the process, in seconds; negative if unknown
	stalled func(history.Stall)
	quit    chan struct{}
	ended   sync.WaitGroup
	last    int64
	before  float64

	mu       sync.Mutex
	runnable float64 // sum over the looks
	looks    float64
}

// startOwnClock runs the clock until stop. stalled is told of each stall at its end.
func startOwnClock(now func() int64, stalled func(history.Stall)) *ownClock {
	c := &ownClock{now: now, used: processorSeconds, stalled: stalled, quit: make(chan struct{}), last: now(), before: processorSeconds()}
	c.ended.Go(func() {
		ticks := time.NewTicker(tick)
		defer ticks.Stop()
		for {
			select {
			case <-c.quit:
				c.look()
				return
			case <-ticks.C:
				c.look()
				c.count()
			}
		}
	})
	return c
}

// stop returns after all stalls were told.
func (c *ownClock) stop() {
	close(c.quit)
	c.ended.Wait()
}

func (c *ownClock) look() {
	now, used := c.now(), c.used()
	from := c.last + int64(tick)
	if late := now - from; late > int64(leastStall) {
		busy := c.before >= 0 && used-c.before > float64(late)/2/1e9
		c.stalled(history.Stall{From: from, To: now, Busy: busy})
	}
	c.last, c.before = now, used
}

func (c *ownClock) count() {
	sample := []metrics.Sample{{Name: runnableGoroutines}}
	if metrics.Read(sample); sample[0].Value.Kind() != metrics.KindUint64 {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.runnable, c.looks = c.runnable+float64(sample[0].Value.Uint64()), c.looks+1
}

// waiting is the sum of waiting goroutines over all looks.
func (c *ownClock) waiting() (sum, looks float64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.runnable, c.looks
}
