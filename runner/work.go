package runner

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"sync/atomic"
	"time"

	"assay/check"
	"assay/history"
	"assay/load"
	"assay/measure"
	"assay/runner/lease"
)

// work does the operations and records them.
func (r *run) work(ctx context.Context) (load.Stats, error) {
	if r.group != nil {
		return r.workByAgents(ctx)
	}
	var clients []load.Client
	rounds, several := r.store.rounds()
	if !several {
		r.options.Progress.Stage("opening " + check.Counted(r.scenario.Load.Clients, "session", "sessions"))
		opening := time.Now() // before the clock starts: it is in no figure but its own
		var err error
		if clients, err = r.sessions(ctx, r.scenario.Load.Clients, r.store.Client); err != nil {
			return load.Stats{}, r.interrupted(ctx, err, "opening sessions, with all rows in")
		}
		r.result.Client.ConnectMillis = float64(time.Since(opening).Microseconds()) / 1000
		r.options.Progress.Stage(workingText(r.scenario))
	}
	start := time.Now()
	file, err := r.beginWork(start, filepath.Join(r.folder, FileHistory), start.UnixNano())
	if err != nil {
		closeAll(clients)
		return load.Stats{}, err
	}
	r.options.Monitor.Clients(len(clients))
	r.live = measure.NewLive(r.scenario.Load.Clients)
	recorder := &tee{Writer: file, live: r.live, monitor: r.options.Monitor}
	now := func() int64 { return int64(time.Since(start)) }
	observers, perSecond := r.store.Observers()
	end := r.accompany(ctx, file, start, several)
	stopObserving := observe(ctx, observers, planOfObservers(r.scenario.Load, len(observers), perSecond), file, r.scenario.Load.Clients, now)
	var stats load.Stats
	if several {
		stats, err = r.workRounds(ctx, rounds, recorder, now)
	} else {
		stats, err = load.Run(ctx, r.scenario.Load, clients, recorder, now)
	}
	err = errors.Join(err, stopObserving(end))
	err = r.endWork(ctx, file, &stats, err, now)
	return stats, err
}

// beginWork makes the file of the run's history at path; zero is its Header.Started.
func (r *run) beginWork(start time.Time, path string, zero int64) (*history.Writer, error) {
	r.started, r.result.Started = start, start.UTC()
	r.options.Monitor.Begin(r.id, r.scenario.Workload, r.result.Database.Product, r.options.Version, operationsOf(r.scenario))
	r.options.Monitor.Phase(PhaseWarmup)
	return history.Create(path, history.Header{
		Run: r.result.Run, Workload: r.scenario.Workload, Version: r.options.Version, Started: zero,
	})
}

// accompany starts what goes on beside the work: faults, and who watches. The returned
// function ends it, when the last client has gone, and waits until the nodes agree.
func (r *run) accompany(ctx context.Context, file *history.Writer, start time.Time, rounds bool) (end func()) {
	now := func() int64 { return int64(time.Since(start)) }
	stopProgress := r.reportProgress(start)
	stopAnnouncing := r.recordAnnouncements(file, now)
	stopFaults := r.injectFaults(ctx, file, start)
	stopWatching := r.watchMachine(ctx, start, rounds)
	stopServers := r.watchServers(ctx, start)
	return func() {
		stopServers()
		r.options.Monitor.Clients(0)
		r.options.Monitor.Phase(PhaseSettling)
		stopWatching()
		stopProgress()
		stopFaults()
		r.catchUp(context.WithoutCancel(ctx), file, now)
		r.recordLeaders(context.WithoutCancel(ctx), file, now)
		stopAnnouncing()
	}
}

// endWork waits until nothing of the run is in flight and closes its history. err is
// that of the work. A history that could not be written to its end is judged as it is.
func (r *run) endWork(ctx context.Context, file *history.Writer, stats *load.Stats, err error, now func() int64) error {
	if lost := r.lease.IsLost(); err == nil && lost != nil {
		return errors.Join(r.overtaken(lost), file.Close())
	}
	if err == nil {
		r.settle(context.WithoutCancel(ctx), *stats)
		if r.inFlight == "" {
			err = file.Mark(history.Event{At: now(), Name: history.EventQuiesced})
		}
	}
	closed := file.Close() // fails for the same reason
	unwritten, is := errors.AsType[*history.WriteError](errors.Join(err, closed))
	switch {
	case is && r.group == nil:
		r.endUnrecorded(ctx, stats, unwritten)
		return nil
	case err != nil:
		return err
	}
	return closed
}

// sessions opens n sessions, each within the time to connect; all or none.
func (r *run) sessions(ctx context.Context, n int, open func(ctx context.Context, i int) (load.Client, error)) ([]load.Client, error) {
	return openSessions(ctx, n, r.scenario.ConnectTimeout, r.lease, open)
}

// openSessions opens n sessions that send nothing while it is doubtful whether the lease
// still holds, each within a time; all or none.
func openSessions(ctx context.Context, n int, timeout time.Duration, held *lease.Lease, open func(ctx context.Context, i int) (load.Client, error)) ([]load.Client, error) {
	clients := make([]load.Client, 0, n)
	for i := range n {
		limit, cancel := context.WithTimeout(ctx, timeout)
		client, err := open(limit, i)
		cancel()
		if err != nil {
			closeAll(clients)
			return nil, fmt.Errorf("session %d of %d: %w", i+1, n, err)
		}
		clients = append(clients, lease.Guard(client, held))
	}
	return clients, nil
}

func closeAll(clients []load.Client) {
	for _, c := range clients {
		c.Close()
	}
}

// settle waits until nothing of the run is in flight inside the database.
func (r *run) settle(ctx context.Context, stats load.Stats) {
	r.options.Progress.Stage("waiting until nothing is in flight")
	ctx, cancel := context.WithTimeout(ctx, settleTimeout)
	defer cancel()
	if err := r.store.Settle(ctx); err != nil {
		r.inFlight = fmt.Sprintf("operations may have been in flight when it was read: %v", err)
	} else if stats.Hung > 0 {
		r.inFlight = check.Counted(stats.Hung, "client", "clients") + " never came back from the last operation"
	}
}

// planOfObservers is how observers read beside a load: so many times a second together.
func planOfObservers(p load.Plan, observers int, perSecond float64) load.Plan {
	return load.Plan{
		Clients: observers, Rate: perSecond, Arrivals: load.Uniform, Duration: forever, Timeout: p.Timeout,
		Retry: load.RetryNone, MaxAttempts: 1, Seed: p.Seed,
	}
}

// observe lets the workload's observers read while the clients write, at their
// own rate, until the returned function is called, which calls heal once nobody reads any
// more. They are recorded as further clients, from first on. A run that is over before
// they have read anything is read once at its end, by one more, after heal.
func observe(ctx context.Context, observers []load.Client, plan load.Plan, to load.Recorder, first int, now func() int64) (stop func(heal func()) error) {
	if len(observers) == 0 {
		return func(heal func()) error {
			heal()
			return nil
		}
	}
	watching, cancel := context.WithCancel(ctx)
	recorder := &behind{within: within{Recorder: to, offset: first}}
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
