package runner

import (
	"context"
	"sync/atomic"
	"time"

	"assay/history"
	"assay/load"
)

// observe lets the workload's observers read while the clients write, at their
// own rate, until the returned function is called. They are recorded as further
// clients, behind the others. A run that is over before they have read anything
// is read once at its end.
func (r *run) observe(ctx context.Context, file *history.Writer, now func() int64) (stop func() error) {
	observers, perSecond := r.store.Observers()
	if len(observers) == 0 {
		return func() error { return nil }
	}
	watching, cancel := context.WithCancel(ctx)
	plan := load.Plan{
		Clients: len(observers), Rate: perSecond, Arrivals: load.Uniform, Duration: forever, Timeout: r.scenario.Load.Timeout,
		Retry: load.RetryNone, MaxAttempts: 1, Seed: r.scenario.Load.Seed,
	}
	recorder := &behind{within: within{Recorder: file, offset: r.scenario.Load.Clients}}
	ended := make(chan error, 1)
	go func() {
		_, err := load.Run(watching, plan, observers, recorder, now)
		ended <- err
	}()
	return func() error {
		cancel()
		err := <-ended
		if err != nil || recorder.committed.Load() > 0 {
			return err
		}
		plan.Clients, plan.Rate, plan.Arrivals, plan.Ops = 1, 0, load.Closed, 1
		last := &behind{within: within{Recorder: file, offset: r.scenario.Load.Clients + len(observers)}}
		_, err = load.Run(context.WithoutCancel(ctx), plan, observers[:1], last, now)
		return err
	}
}

// forever is longer than any run; the observer is told when to end.
const forever = 100 * 365 * 24 * time.Hour

// behind records observers behind the clients, and counts what they have read.
type behind struct {
	within
	committed atomic.Int64
}

// Record implements load.Recorder.
func (b *behind) Record(op *history.Op) error {
	if op.Last && op.Final == history.Committed {
		b.committed.Add(1)
	}
	return b.within.Record(op)
}

// observed is a configuration that asks for observers.
type observed interface {
	// WithoutObservers changes it to that of a database that offers none, and
	// returns what that means; empty if nothing.
	WithoutObservers() (note string)
}
