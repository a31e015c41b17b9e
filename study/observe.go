package study

import (
	"context"
	"time"

	"assay/history"
	"assay/load"
)

// observe lets the workload's observer read while the clients write, at its
// own rate, until the returned function is called. It is recorded as one more
// client, behind the others. It is in no figure.
func (r *run) observe(ctx context.Context, file *history.Writer, now func() int64) (stop func() error) {
	observer, perSecond, ok := r.store.Observer()
	if !ok {
		return func() error { return nil }
	}
	ctx, cancel := context.WithCancel(ctx)
	plan := load.Plan{
		Clients: 1, Rate: perSecond, Arrivals: load.Uniform, Duration: forever, Timeout: r.scenario.Load.Timeout,
		Retry: load.RetryNone, MaxAttempts: 1, Seed: r.scenario.Load.Seed,
	}
	ended := make(chan error, 1)
	go func() {
		_, err := load.Run(ctx, plan, []load.Client{observer}, &behind{file, r.scenario.Load.Clients}, now)
		ended <- err
	}()
	return func() error {
		cancel()
		return <-ended
	}
}

// forever is longer than any run; the observer is told when to end.
const forever = 100 * 365 * 24 * time.Hour

// behind records a client under a number behind those of the others, and
// leaves the marks of the run to the run.
type behind struct {
	file   *history.Writer
	offset int
}

func (b *behind) Reserve(r history.Reservation) error {
	r.Client += b.offset
	return b.file.Reserve(r)
}

func (b *behind) Record(op *history.Op) error {
	moved := *op
	moved.Client += b.offset
	return b.file.Record(&moved)
}

func (b *behind) Mark(history.Event) error { return nil }
