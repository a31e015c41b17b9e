package study

import (
	"context"
	"sync/atomic"
	"time"

	"assay/history"
	"assay/load"
)

// observe lets the workload's observer read while the clients write, at its
// own rate, until the returned function is called. It is recorded as one more
// client, behind the others, and is in no figure. A run that is over before
// the observer has read anything is read once at its end.
func (r *run) observe(ctx context.Context, file *history.Writer, now func() int64) (stop func() error) {
	observer, perSecond, ok := r.store.Observer()
	if !ok {
		return func() error { return nil }
	}
	watching, cancel := context.WithCancel(ctx)
	plan := load.Plan{
		Clients: 1, Rate: perSecond, Arrivals: load.Uniform, Duration: forever, Timeout: r.scenario.Load.Timeout,
		Retry: load.RetryNone, MaxAttempts: 1, Seed: r.scenario.Load.Seed,
	}
	place := &behind{file: file, offset: r.scenario.Load.Clients}
	ended := make(chan error, 1)
	go func() {
		_, err := load.Run(watching, plan, []load.Client{observer}, place, now)
		ended <- err
	}()
	return func() error {
		cancel()
		err := <-ended
		if err != nil || place.committed.Load() > 0 {
			return err
		}
		plan.Rate, plan.Arrivals, plan.Ops = 0, load.Closed, 1
		last := &behind{file: file, offset: r.scenario.Load.Clients + 1}
		_, err = load.Run(context.WithoutCancel(ctx), plan, []load.Client{observer}, last, now)
		return err
	}
}

// forever is longer than any run; the observer is told when to end.
const forever = 100 * 365 * 24 * time.Hour

// behind records a client under a number behind those of the others, and
// leaves the marks of the run to the run.
type behind struct {
	file      *history.Writer
	offset    int
	committed atomic.Int64
}

func (b *behind) Reserve(r history.Reservation) error {
	r.Client += b.offset
	return b.file.Reserve(r)
}

func (b *behind) Record(op *history.Op) error {
	if op.Last && op.Final == history.Committed {
		b.committed.Add(1)
	}
	moved := *op
	moved.Client += b.offset
	return b.file.Record(&moved)
}

func (b *behind) Mark(history.Event) error { return nil }
