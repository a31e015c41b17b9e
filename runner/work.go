package runner

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"assay/check"
	"assay/history"
	"assay/load"
	"assay/measure"
	"assay/runner/readback"
	"assay/runner/work"
)

func (r *run) work(ctx context.Context) (load.Stats, error) {
	if r.group != nil {
		return r.workByAgents(ctx)
	}
	var clients []load.Client
	rounds, several := r.store.Rounds()
	if !several {
		r.options.Progress.Stage("opening " + check.Counted(r.scenario.Load.Clients, "session", "sessions"))
		opening := time.Now() // before the clock starts: only ConnectMillis includes it
		var err error
		if clients, err = work.Sessions(ctx, r.scenario.Load.Clients, r.scenario.ConnectTimeout, r.lease, r.store.Client); err != nil {
			return load.Stats{}, r.interrupted(ctx, err, "opening sessions, with all rows in")
		}
		r.result.Client.ConnectMillis = float64(time.Since(opening).Microseconds()) / 1000
		r.options.Progress.Stage(workingText(r.scenario))
	}
	start := time.Now()
	file, err := r.beginWork(start, filepath.Join(r.folder, FileHistory), start.UnixNano())
	if err != nil {
		work.Close(clients)
		return load.Stats{}, err
	}
	r.options.Monitor.Clients(len(clients))
	r.live = measure.NewLive(r.scenario.Load.Clients)
	recorder := &tee{Writer: file, live: r.live, monitor: r.options.Monitor}
	now := func() int64 { return int64(time.Since(start)) }
	observers, perSecond := r.store.Observers()
	end := r.accompany(ctx, file, start, several)
	stopObserving := work.Observe(ctx, observers, work.PlanOfObservers(r.scenario.Load, len(observers), perSecond), file, r.scenario.Load.Clients, now)
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

// beginWork creates the history's file; zero is its Header.Started.
func (r *run) beginWork(start time.Time, path string, zero int64) (*history.Writer, error) {
	r.started, r.result.Started = start, start.UTC()
	r.options.Monitor.Begin(r.id, r.scenario.Workload, r.result.Database.Product, r.options.Version, operationsOf(r.scenario))
	r.options.Monitor.Phase(PhaseWarmup)
	return history.Create(path, history.Header{
		Run: r.result.Run, Workload: r.scenario.Workload, Version: r.options.Version, Started: zero,
	})
}

// accompany starts what goes on beside the work: faults and observation. Call end when the last
// client has ended: it also waits until the nodes agree.
func (r *run) accompany(ctx context.Context, file *history.Writer, start time.Time, rounds bool) (end func()) {
	now := func() int64 { return int64(time.Since(start)) }
	stopProgress := everySecond(func() {
		elapsed := time.Since(start)
		r.options.Progress.Working(elapsed, elapsed >= r.scenario.Load.Warmup, r.live.Snapshot())
	})
	mark := func(event, text string) {
		_ = file.Mark(history.Event{At: now(), Name: event, Detail: text}) // a failure stays with the writer
	}
	stopAnnouncing := r.cluster.Announce(mark)
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
		if r.cluster != nil {
			r.options.Progress.Stage("waiting until all nodes hold the same data")
			r.cluster.CatchUp(context.WithoutCancel(ctx), mark)
		}
		stopAnnouncing()
	}
}

// endWork waits until nothing is in flight and closes the history. err is the error of the
// work. A history that could not be written to its end is judged as far as it goes.
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

func (r *run) settle(ctx context.Context, stats load.Stats) {
	r.options.Progress.Stage("waiting until nothing is in flight")
	ctx, cancel := context.WithTimeout(ctx, readback.SettleTimeout)
	defer cancel()
	if err := r.store.Settle(ctx); err != nil {
		r.inFlight = fmt.Sprintf("operations may have been in flight when it was read: %v", err)
	} else if stats.Hung > 0 {
		r.inFlight = check.Counted(stats.Hung, "client", "clients") + " never came back from the last operation"
	}
}

type observed interface {
	// WithoutObservers adapts it to a database without observers. The note says what that means;
	// empty for nothing.
	WithoutObservers() (note string)
}
