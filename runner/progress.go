package runner

import (
	"fmt"
	"sync"
	"time"

	"assay/check"
	"assay/load"
	"assay/measure"
)

// Progress receives how a run goes. It is called from one goroutine at a time.
type Progress interface {
	// Stage begins a stage of the run.
	Stage(text string)
	// Rows says how many rows of the stage are done; total is 0 if unknown.
	Rows(done, total int64)
	// Working says once a second how the work goes.
	Working(elapsed time.Duration, measuring bool, now measure.Snapshot)
	// Note is a remark that the user should see.
	Note(text string)
}

// inTurn keeps Progress's promise of being called from one goroutine at a time:
// the load, its faults and the cluster all have something to say. It keeps the
// status beside it.
type inTurn struct {
	mu       sync.Mutex
	progress Progress
	status   *Status
}

// Stage implements Progress.
func (p *inTurn) Stage(text string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.status.stage(text)
	p.progress.Stage(text)
}

// Rows implements Progress.
func (p *inTurn) Rows(done, total int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.status.rows(done, total)
	p.progress.Rows(done, total)
}

// Working implements Progress.
func (p *inTurn) Working(elapsed time.Duration, measuring bool, now measure.Snapshot) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.status.working(elapsed, measuring, now)
	p.progress.Working(elapsed, measuring, now)
}

// Note implements Progress.
func (p *inTurn) Note(text string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.status.note(text)
	p.progress.Note(text)
}

// reportProgress reports progress once a second until the returned function is called.
func (r *run) reportProgress(start time.Time) (stop func()) {
	return everySecond(func() {
		elapsed := time.Since(start)
		r.options.Progress.Working(elapsed, elapsed >= r.scenario.Load.Warmup, r.live.Snapshot())
	})
}

// everySecond does something once a second, for the first time in a second, until the
// returned function is called, which waits until it is not being done.
func everySecond(do func()) (stop func()) {
	quit, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		tick := time.NewTicker(time.Second)
		defer tick.Stop()
		for {
			select {
			case <-quit:
				return
			case <-tick.C:
				do()
			}
		}
	}()
	return func() { close(quit); <-done }
}

func workingText(p load.Plan) string {
	loop := "closed loop"
	if p.Rate > 0 {
		loop = fmt.Sprintf("open loop, %s arrivals at %g/s", p.Arrivals, p.Rate)
	}
	length := fmt.Sprintf("%v", p.Duration)
	if p.Ops > 0 {
		length = check.Counted(p.Ops, "operation", "operations")
	}
	return fmt.Sprintf("working: %s, %s, %s after %v of warm-up, seed %d", check.Counted(p.Clients, "client", "clients"), loop, length, p.Warmup, p.Seed)
}
