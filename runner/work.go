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
	"assay/report"
	"assay/runner/readback"
	"assay/runner/work"
)

// worked is what the work leaves to be read back and judged.
type worked struct {
	stats load.Stats
	live  measure.Snapshot
	// started is time zero of the history with its monotonic reading, which the UTC time
	// result.Started lacks.
	started time.Time
	// inFlight says why operations may have been in flight at the reading; empty for none.
	inFlight string
	// unrecorded is why the history could not be written to its end; nil if it was.
	unrecorded error
	// counted are all operations; nil if it is not known that the history has the same.
	counted *report.Counted
}

// work has the clients do the work, here or, if g is not nil, at agents.
func (r *run) work(ctx context.Context, g *group) (worked, error) {
	if g != nil {
		return r.workByAgents(ctx, g)
	}
	var clients []load.Client
	rounds, several := r.store.Rounds()
	if !several {
		r.options.Progress.Stage("opening " + check.Counted(r.scenario.Load.Clients, "session", "sessions"))
		opening := time.Now() // before the clock starts: only ConnectMillis includes it
		var err error
		if clients, err = work.Sessions(ctx, r.scenario.Load.Clients, r.scenario.ConnectTimeout, r.lease, r.store.Client); err != nil {
			return worked{}, r.interrupted(ctx, err, "opening sessions, with all rows in")
		}
		r.result.Client.ConnectMillis = float64(time.Since(opening).Microseconds()) / 1000
		r.options.Progress.Stage(workingText(r.scenario))
	}
	start := time.Now()
	file, err := r.beginWork(start, filepath.Join(r.folder, FileHistory), start.UnixNano())
	if err != nil {
		work.Close(clients)
		return worked{}, err
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
	done, err := r.endWork(ctx, file, stats, errors.Join(err, stopObserving(end)), now)
	done.started = start
	if done.unrecorded == nil { // they exceed such a history
		done.counted = &report.Counted{Outcomes: done.live.Outcomes, Attempts: done.live.Attempts}
	}
	return done, err
}

// beginWork creates the history's file; zero is its Header.Started.
func (r *run) beginWork(start time.Time, path string, zero int64) (*history.Writer, error) {
	r.result.Started = start.UTC()
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
	servers := r.system.Started
	stopAnnouncing := servers.Announce(mark)
	stopFaults := r.injector().beside(ctx, r.scenario.Load, file, start)
	stopWatching := r.watch(ctx, start, rounds)
	return func() {
		stopWatching()
		stopProgress()
		stopFaults()
		if servers != nil {
			r.options.Progress.Stage("waiting until all nodes hold the same data")
			servers.CatchUp(context.WithoutCancel(ctx), mark)
		}
		stopAnnouncing()
	}
}

// endWork waits until nothing is in flight and closes the history. err is the error of the
// work. A history that could not be written to its end is judged as far as it goes.
func (r *run) endWork(ctx context.Context, file *history.Writer, stats load.Stats, err error, now func() int64) (worked, error) {
	done := worked{stats: stats}
	if lost := r.lease.IsLost(); err == nil && lost != nil {
		return done, errors.Join(r.overtaken(lost), file.Close())
	}
	if err == nil {
		done.inFlight = r.settle(context.WithoutCancel(ctx), stats)
		if done.inFlight == "" {
			err = file.Mark(history.Event{At: now(), Name: history.EventQuiesced})
		}
	}
	err = errors.Join(err, file.Close()) // both fail for the same reason
	done.live = r.live.Snapshot()
	if unwritten, is := errors.AsType[*history.WriteError](err); is {
		r.endUnrecorded(ctx, &done, unwritten)
		return done, nil
	}
	return done, err
}

// settle waits until nothing is in flight. It says why something may still be.
func (r *run) settle(ctx context.Context, stats load.Stats) (inFlight string) {
	r.options.Progress.Stage("waiting until nothing is in flight")
	ctx, cancel := context.WithTimeout(ctx, readback.SettleTimeout)
	defer cancel()
	if err := r.store.Settle(ctx); err != nil {
		return fmt.Sprintf("operations may have been in flight when it was read: %v", err)
	}
	if stats.Hung > 0 {
		return check.Counted(stats.Hung, "client", "clients") + " never came back from the last operation"
	}
	return ""
}

type observed interface {
	// WithoutObservers adapts it to a database without observers. The note says what that means;
	// empty for nothing.
	WithoutObservers() (note string)
}
