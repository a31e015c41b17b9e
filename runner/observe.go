package runner

import (
	"context"
	"sync/atomic"
	"time"

	"assay/history"
	"assay/load"
)

// planOfObservers is how observers read beside a load: so many times a second together.
func planOfObservers(p load.Plan, observers int, perSecond float64) load.Plan {
	return load.Plan{
		Clients: observers, Rate: perSecond, Arrivals: load.Uniform, Duration: forever, Timeout: p.Timeout,
		Retry: load.RetryNone, MaxAttempts: 1, Seed: p.Seed,
	}
}

// observe lets the workload's observers read while the clients write, at their
// own rate, until the returned function is called. They are recorded as further
// clients, from first on. A run that is over before they have read anything
// is read once at its end, by one more.
func observe(ctx context.Context, observers []load.Client, plan load.Plan, to load.Recorder, first int, now func() int64) (stop func() error) {
	if len(observers) == 0 {
		return func() error { return nil }
	}
	watching, cancel := context.WithCancel(ctx)
	recorder := &behind{within: within{Recorder: to, offset: first}}
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
		last := &behind{within: within{Recorder: to, offset: first + len(observers)}}
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
