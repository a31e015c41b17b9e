package runner

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"assay/load"
	"assay/measure/pressure"
	"assay/runner/agents"
	"assay/runner/catalog"
	"assay/runner/lease"
	"assay/runner/open"
	"assay/runner/work"
	"assay/store"
	"assay/workload"
	"assay/workload/definition"
)

// ShareWorker does an agent's share of a run that another process coordinates.
type ShareWorker struct {
	// Database returns the whole address, for a plan that leaves out the password; empty if
	// unknown.
	Database func() string
	open     opener
}

var _ agents.Worker = (*ShareWorker)(nil)

// Prepare implements agents.Worker.
func (w *ShareWorker) Prepare(ctx context.Context, p agents.Plan, s agents.Share) (agents.Job, error) {
	scenario, err := parseScenario(p.Scenario)
	if err == nil {
		err = scenario.Config.Validate()
	}
	if err != nil {
		return nil, fmt.Errorf("read the scenario: %w", err)
	}
	scenario.Plan()
	scenario.shared = true
	address, err := w.address(p.Database, scenario.Options)
	if err != nil {
		return nil, err
	}
	db, err := w.open.orDefault()(ctx, scenario, address, 0)
	if err != nil {
		return nil, err
	}
	j := &job{store: db, share: s, plan: sharedPlan(scenario.Load, s), address: address, connect: scenario.ConnectTimeout}
	if err := j.join(ctx, p); err != nil {
		return nil, errors.Join(err, db.Close())
	}
	if d, is := db.Work.(definition.Dividing); is {
		d.Divide(s.Number, s.Of)
	}
	if len(s.Rounds) > 0 {
		return j, nil // a round opens its own sessions
	}
	j.clients, err = work.Sessions(ctx, s.Clients, scenario.ConnectTimeout, j.lease, func(ctx context.Context, i int) (load.Client, error) {
		return db.Client(ctx, s.First+i)
	})
	if err != nil {
		return nil, errors.Join(err, j.Close())
	}
	return j, nil
}

func (w *ShareWorker) address(planned string, options []string) (string, error) {
	if !store.Redacted(planned) {
		return planned, nil
	}
	own := ""
	if w.Database != nil {
		own = w.Database()
	}
	for _, whole := range []string{own, withOptions(own, options)} {
		if own != "" && store.Redact(whole) == planned {
			return whole, nil
		}
	}
	return "", fmt.Errorf("the database's address has a password, which the run does not pass on: give the agent %s, whole, in ASSAY_DB", planned)
}

// sharedPlan is an agent's part of a load. Each agent has its own seed of arrivals. With
// equal gaps the agents' arrivals alternate.
func sharedPlan(p load.Plan, s agents.Share) load.Plan {
	part := float64(s.Clients) / float64(s.All)
	upTo := func(clients int) uint64 { return p.Ops * uint64(clients) / uint64(s.All) }
	p.Ops = upTo(s.First+s.Clients) - upTo(s.First)
	p.Clients, p.Rate, p.Ramp = s.Clients, p.Rate*part, p.Ramp*part
	p.Seed ^= workload.Mix(uint64(s.Number)) * uint64(min(s.Number, 1))
	p.Phase = float64(s.Number) / float64(s.Of)
	return p
}

type job struct {
	store   *open.Work
	share   agents.Share
	plan    load.Plan
	address string
	connect time.Duration
	lease   *lease.Lease
	// held ends when another run has taken the database.
	held    context.Context
	clients []load.Client
	machine *pressure.Usage
}

// join makes sure that the database is this run's, and joins the lease: the database then
// counts the agent's sessions as the run's, and the agent stops once another run takes over.
func (j *job) join(ctx context.Context, p agents.Plan) error {
	var holder store.Holder
	if err := json.Unmarshal(p.Holder, &holder); err != nil {
		return fmt.Errorf("read who holds the database: %w", err)
	}
	if driver, err := catalog.DriverFor(j.address); err != nil || driver.Name != nullDriver { // the null store keeps nothing
		if err := lease.HoldsRun(ctx, j.store, p.Run); err != nil {
			return fmt.Errorf("%s is not the run's database as seen from here: %w", store.Redact(j.address), err)
		}
	}
	j.lease = lease.New(j.store, p.Run, lease.Terms{Limit: j.store.StallTimeout})
	j.lease.Holder = holder
	if err := j.store.TakeLease(ctx, holder, lease.TTL, ""); err != nil {
		return err
	}
	j.held = j.lease.Keep(context.WithoutCancel(ctx))
	return nil
}

// Work implements agents.Job.
func (j *job) Work(ctx context.Context, rec *agents.Recorder, now func() int64) (load.Stats, error) {
	defer collectOften(j.share.Clients)()
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	defer context.AfterFunc(j.held, stop)()
	clients := j.clients
	j.clients = nil // they are the engine's to close
	j.lease.Led = rec.Led
	watching := j.watch(ctx)
	if len(j.share.Rounds) > 0 {
		stats, err := j.workRounds(ctx, rec, now)
		watching()
		return stats, errors.Join(err, j.lease.IsLost())
	}
	observers, perSecond := j.store.Observers()
	first := j.share.All
	if len(observers) > 0 {
		first += j.share.Number * (len(observers) + 1)
	}
	stopObserving := work.Observe(ctx, observers, work.PlanOfObservers(j.plan, len(observers), perSecond/float64(j.share.Of)), rec.Uncounted(), first, now)
	stats, err := load.Run(ctx, j.plan, clients, &work.Within{Recorder: rec, Offset: j.share.First}, now)
	err = errors.Join(err, stopObserving(func() {}))
	watching()
	return stats, errors.Join(err, j.lease.IsLost())
}

// watch measures other work on this machine during the measured part.
func (j *job) watch(ctx context.Context) (stop func()) {
	if j.lease.Holder.Machine == lease.Machine() {
		return func() {} // the coordinator looks
	}
	found := watchMachine(ctx, j.plan, time.Now(), len(j.share.Rounds) > 0, func() pressure.Database { return pressure.Connected(nil) })
	return func() { j.machine = found() }
}

// foundByAgent is what an agent reports beside its history.
type foundByAgent struct {
	Machine *pressure.Usage `json:"machine,omitempty"`
	// Work has the workload's own form.
	Work json.RawMessage `json:"work,omitempty"`
}

// Found implements agents.Job.
func (j *job) Found() json.RawMessage {
	found := foundByAgent{Machine: j.machine}
	if f, is := j.store.Work.(definition.Finding); is {
		found.Work, _ = f.Found() // it only words what the history counts
	}
	text, err := json.Marshal(found)
	if err != nil {
		return nil // a figure is not a number
	}
	return text
}

// Close implements agents.Job. The coordinator releases the lease.
func (j *job) Close() error {
	work.Close(j.clients)
	if j.lease != nil && j.lease.Stop != nil {
		j.lease.Stop()
	}
	return j.store.Close()
}
