// Package work has clients do what a run is made of, in the process of the run or in that of an agent:
// it opens their sessions, has observers read beside them, and records them under their numbers.
//
// It must not know what an operation is, nor what follows from one.
package work

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"assay/history"
	"assay/load"
	"assay/runner/lease"
)

// Sessions opens n sessions that send nothing while it is doubtful whether the lease
// still holds, each within a time; all or none. The error is that of open.
func Sessions(ctx context.Context, n int, timeout time.Duration, held *lease.Lease, open func(ctx context.Context, i int) (load.Client, error)) ([]load.Client, error) {
	clients := make([]load.Client, 0, n)
	for i := range n {
		limit, cancel := context.WithTimeout(ctx, timeout)
		client, err := open(limit, i)
		cancel()
		if err != nil {
			Close(clients)
			return nil, fmt.Errorf("session %d of %d: %w", i+1, n, err)
		}
		clients = append(clients, lease.Guard(client, held))
	}
	return clients, nil
}

// Close closes all of them.
func Close(clients []load.Client) {
	for _, c := range clients {
		c.Close()
	}
}

// PlanOfObservers is how observers read beside a load: so many times a second together.
func PlanOfObservers(p load.Plan, observers int, perSecond float64) load.Plan {
	return load.Plan{
		Clients: observers, Rate: perSecond, Arrivals: load.Uniform, Duration: forever, Timeout: p.Timeout,
		Retry: load.RetryNone, MaxAttempts: 1, Seed: p.Seed,
	}
}

// Observe lets the workload's observers read while the clients write, at their
// own rate, until the returned function is called, which calls heal once nobody reads any
// more. They are recorded as further clients, from first on. A run that is over before
// they have read anything is read once at its end, by one more, after heal. The error is that of
// load.Run.
func Observe(ctx context.Context, observers []load.Client, plan load.Plan, to load.Recorder, first int, now func() int64) (stop func(heal func()) error) {
	if len(observers) == 0 {
		return func(heal func()) error {
			heal()
			return nil
		}
	}
	watching, cancel := context.WithCancel(ctx)
	recorder := &behind{Within: Within{Recorder: to, Offset: first}}
	ended := make(chan error, 1)
	go func() {
		_, err := load.Run(watching, plan, observers, recorder, now)
		ended <- err
	}()
	return func(heal func()) error {
		cancel()
		err := <-ended
		heal()
		if err != nil || recorder.committed.Load() > 0 {
			return err
		}
		plan.Clients, plan.Rate, plan.Arrivals, plan.Ops = 1, 0, load.Closed, 1
		last := &behind{Within: Within{Recorder: to, Offset: first + len(observers)}}
		_, err = load.Run(context.WithoutCancel(ctx), plan, observers[:1], last, now)
		return err
	}
}

// forever is longer than any run; the observer is told when to end.
const forever = 100 * 365 * 24 * time.Hour

// behind records observers behind the clients, and counts what they have read.
type behind struct {
	Within
	committed atomic.Int64
}

// Record implements load.Recorder.
func (b *behind) Record(op *history.Op) error {
	if op.Last && op.Final == history.Committed {
		b.committed.Add(1)
	}
	return b.Within.Record(op)
}

// PlanOfRound is a load as so many clients of a round work it.
func PlanOfRound(p load.Plan, clients int, ops uint64) load.Plan {
	p.Clients, p.Ops, p.Warmup, p.Duration = clients, ops, 0, 0
	p.Rate, p.Arrivals, p.Ramp = 0, load.Closed, 0
	return p
}

// MarkCut marks that the run ended before its time.
func MarkCut(recorder load.Recorder, at int64) error {
	return recorder.Mark(history.Event{At: at, Name: history.EventCut, Detail: "it was ended before its time"})
}

// Ready prepares a round, if there is anything to prepare.
func Ready(ctx context.Context, round load.Round) error {
	if round.Ready == nil {
		return nil
	}
	if err := round.Ready(ctx); err != nil {
		return fmt.Errorf("round %s: %w", round.Name, err)
	}
	return nil
}

// RoundSessions prepares a round and opens its sessions, as Sessions does.
func RoundSessions(ctx context.Context, round load.Round, timeout time.Duration, held *lease.Lease) ([]load.Client, error) {
	if err := Ready(ctx, round); err != nil {
		return nil, err
	}
	clients, err := Sessions(ctx, round.Clients, timeout, held, round.Client)
	if err != nil {
		return nil, fmt.Errorf("round %s: %w", round.Name, err)
	}
	return clients, nil
}

// Within records clients under numbers behind those of others, such as of the
// rounds before, and leaves the marks of the run to the run.
type Within struct {
	load.Recorder
	// Offset is how many clients are before these.
	Offset int
}

// Reserve implements load.Recorder.
func (w *Within) Reserve(r history.Reservation) error {
	r.Client += w.Offset
	return w.Recorder.Reserve(r)
}

// Record implements load.Recorder.
func (w *Within) Record(op *history.Op) error {
	moved := *op
	moved.Client += w.Offset
	return w.Recorder.Record(&moved)
}

// Mark implements load.Recorder: of the events the stalls alone are of whose clients they are.
func (w *Within) Mark(e history.Event) error {
	if e.Name == history.EventStalled {
		return w.Recorder.Mark(e)
	}
	return nil
}
