package load

import (
	"runtime/metrics"
	"sync"
	"time"

	"assay/history"
)

const (
	// tick is how often the own clock looks at the time. It takes some microseconds each time.
	tick = 10 * time.Millisecond
	// leastStall is how late a tick is that tells of a stall. Below it a tick is late on any busy
	// machine: Go lets a goroutine run for 10 ms before it takes its processor away, and Linux a
	// thread for some milliseconds for each other one that waits. What is above it would be seen
	// in percentiles and outages.
	leastStall = 50 * time.Millisecond
)

// ownClock finds the times in which the process did not run: somebody stopped it, the machine
// stood still, or its own work left no processor to the clock. It counts the goroutines that
// wait for a processor as well.
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

// startOwnClock has the clock run until stop; stalled is told of each stall, at its end.
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

// stop ends the clock, which has told of every stall when it returns.
func (c *ownClock) stop() {
	close(c.quit)
	c.ended.Wait()
}

// look takes the time. What lies beyond the tick that was due is the stall.
func (c *ownClock) look() {
	now, used := c.now(), c.used()
	from := c.last + int64(tick)
	if late := now - from; late > int64(leastStall) {
		busy := c.before >= 0 && used-c.before > float64(late)/2/1e9
		c.stalled(history.Stall{From: from, To: now, Busy: busy})
	}
	c.last, c.before = now, used
}

// count counts the goroutines that wait for a processor.
func (c *ownClock) count() {
	sample := []metrics.Sample{{Name: runnableGoroutines}}
	if metrics.Read(sample); sample[0].Value.Kind() != metrics.KindUint64 {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.runnable, c.looks = c.runnable+float64(sample[0].Value.Uint64()), c.looks+1
}

// waiting is how many goroutines have waited for a processor, over all looks so far.
func (c *ownClock) waiting() (sum, looks float64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.runnable, c.looks
}
