// Package work opens the sessions of clients, in the run's process or an agent's, has observers
// read beside them, and records both under their numbers.
//
// It must not know what an operation is, nor what follows from one.
package work

import (
	"cmp"
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"assay/history"
	"assay/load"
	"assay/runner/lease"
)

// Sessions opens n sessions, all or none, each within timeout. They send nothing while the lease
// is in doubt. The error is open's.
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

// Close closes all clients.
func Close(clients []load.Client) {
	for _, c := range clients {
		c.Close()
	}
}

// PlanOfObservers is the plan of observers that read perSecond times a second in total.
func PlanOfObservers(p load.Plan, observers int, perSecond float64) load.Plan {
	return load.Plan{
		Clients: observers, Rate: perSecond, Arrivals: load.Uniform, Duration: forever, Timeout: p.Timeout,
		Retry: load.RetryNone, MaxAttempts: 1, Seed: p.Seed,
	}
}

// Observe has the observers read at their own rate until stop. They are recorded as further
// clients, from number first on. stop waits for them and calls heal. If they have read nothing by
// then, one more client reads once after heal. The error is load.Run's.
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
		plan.Timeout = cmp.Or(plan.Timeout, load.Defaults().Timeout) // nothing else ends the one attempt
		last := &behind{Within: Within{Recorder: to, Offset: first + len(observers)}}
		_, err = load.Run(context.WithoutCancel(ctx), plan, observers[:1], last, now)
		return err
	}
}

const forever = 100 * 365 * 24 * time.Hour

// behind counts what observers have read.
type behind struct {
	Within
	committed atomic.Int64
}

func (b *behind) Record(op *history.Op) error {
	if op.Last && op.Final == history.Committed {
		b.committed.Add(1)
	}
	return b.Within.Record(op)
}

// PlanOfRound is the plan of a round with this number of clients and operations.
func PlanOfRound(p load.Plan, clients int, ops uint64) load.Plan {
	p.Clients, p.Ops, p.Warmup, p.Duration = clients, ops, 0, 0
	p.Rate, p.Arrivals, p.Ramp = 0, load.Closed, 0
	return p
}

// EndOfRound is when the last operation of a round ended that started at start, both in nanoseconds
// since the start of the run. Closing the sessions takes longer.
func EndOfRound(s load.Stats, start int64) int64 { return max(s.MeasureEnd, start) }

// MarkCut marks that the run ended early, for the reason of the stats if they have one.
func MarkCut(recorder load.Recorder, at int64, stats load.Stats) error {
	return recorder.Mark(history.Event{At: at, Name: history.EventCut, Detail: cmp.Or(stats.WhyCut, load.EndedEarly)})
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

// Within records clients under numbers after those of others, such as earlier rounds. It leaves
// the run's marks to the run.
type Within struct {
	load.Recorder
	// Offset is the number of clients before these.
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

// Mark implements load.Recorder. It passes on only what is of these clients: stalls, and the first
// error of each class.
func (w *Within) Mark(e history.Event) error {
	if e.Name == history.EventStalled || e.Name == history.EventFirstError {
		return w.Recorder.Mark(e)
	}
	return nil
}
