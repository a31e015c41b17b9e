package load

import (
	"cmp"
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"assay/history"
)

const (
	// reserveStep is the number of operation numbers that a client reserves at once.
	reserveStep = 1024
	// CutGrace is how long attempts in flight may take after the run was cut.
	CutGrace = 5 * time.Second
	// endGrace is the same after the run's own end, for attempts without a time limit.
	endGrace = 5 * time.Second
	// hungGrace is how long after its time limit an attempt may return before its client is given
	// up.
	hungGrace = 10 * time.Second
	// unmadeGrace is how long no attempt may be made (Answer.Unmade) until a run ends early that
	// otherwise only its number of operations ends. A restart of a server takes less.
	unmadeGrace = 2 * time.Minute
)

// EndedEarly is why a run was cut that somebody else ended.
const EndedEarly = "it was ended before its time"

type graces struct{ cut, end, hung, unmade time.Duration }

// Run works the plan with these connected clients, and returns when nothing is in flight. The run
// starts at the call. now gives nanoseconds since then, in which all times of the record are.
//
// After ctx ends, no operation starts. Attempts in flight have a grace, and are recorded. The run
// ends in time whatever its clients do: it leaves a client that does not come back behind, and
// counts it. The error is the recorder's; failures of the database are no errors here.
func Run(ctx context.Context, plan Plan, clients []Client, rec Recorder, now func() int64) (Stats, error) {
	return run(ctx, plan, clients, rec, now, graces{cut: CutGrace, end: endGrace, hung: hungGrace, unmade: unmadeGrace})
}

func run(ctx context.Context, plan Plan, clients []Client, rec Recorder, now func() int64, g graces) (Stats, error) {
	if err := plan.Validate(); err != nil {
		return Stats{}, err
	}
	if len(clients) != plan.Clients {
		return Stats{}, fmt.Errorf("load: %d clients where the plan has %d", len(clients), plan.Clients)
	}
	e := &engine{plan: plan, rec: rec, now: now, graces: g, lags: newLags(), stop: make(chan struct{})}
	if plan.Rate > 0 {
		e.dispatcher = newDispatcher(plan, now)
		defer e.dispatcher.alarm.close()
	}
	if plan.Warmup == 0 {
		e.recordStart(0)
	}
	e.clock = startOwnClock(now, e.stalled) // when all that it reads is set
	return e.run(ctx, clients)
}

type engine struct {
	plan       Plan
	rec        Recorder
	now        func() int64
	graces     graces
	dispatcher *dispatcher // nil in a closed loop
	lags       *lags
	clock      *ownClock

	stop     chan struct{} // closed when no operation may start any more
	stopOnce sync.Once
	failure  error  // of the recorder; read after all clients ended
	why      string // it was cut by a client; read after the stop

	taken   atomic.Uint64 // operations of the measured part of a closed loop, with Plan.Ops
	lastEnd atomic.Int64
	cut     atomic.Bool
	busy    atomic.Int64
	said    sync.Map // classes of errors with a recorded first error
}

func (e *engine) run(ctx context.Context, clients []Client) (Stats, error) {
	work, abandon := context.WithCancel(context.WithoutCancel(ctx))
	defer abandon()
	unhook := context.AfterFunc(ctx, func() {
		e.cut.Store(true)
		e.abort(nil)
		time.AfterFunc(e.graces.cut, abandon)
	})
	defer unhook()

	done := make(chan struct{})
	var all sync.WaitGroup
	loops := newLoops(e.plan)
	for i, client := range clients {
		e.busy.Add(1)
		all.Add(1)
		loops.Start(work, i, func(ctx context.Context) {
			defer all.Done()
			defer e.busy.Add(-1)
			w := worker{engine: e, id: i, client: client}
			w.run(ctx)
		})
	}
	loops.Release()
	go func() { all.Wait(); close(done) }()

	stats := e.phases(done)
	e.end(nil)
	stats.Hung = e.drain(ctx, done, abandon)
	stats.Cut, stats.WhyCut = e.cut.Load(), e.why
	e.clock.stop()
	stats.Late, stats.OwnLag = e.lags.merged()
	if e.plan.Ops > 0 && !stats.Cut {
		// The measured part excludes its end but includes the last operation.
		stats.MeasureEnd = max(e.lastEnd.Load()+1, stats.MeasureEnd)
	}
	if e.dispatcher != nil {
		stats.Unserved = e.dispatcher.unserved(stats.MeasureStart, stats.MeasureEnd)
	}
	if stats.Hung == 0 && e.failure != nil {
		return stats, e.failure
	}
	return stats, e.marks(stats)
}

// phases waits through warm-up and measured part. Both begin and end at the plan's moments, not
// when this goroutine wakes.
func (e *engine) phases(done <-chan struct{}) Stats {
	var stats Stats
	if !e.sleepUntil(int64(e.plan.Warmup)) { // cut in the warm-up
		stats.MeasureStart = e.now()
		stats.MeasureEnd = stats.MeasureStart
		e.recordStart(stats.MeasureStart)
		return stats
	}
	probe, whole := startUsage(e.clock), false
	stats.MeasureStart = int64(e.plan.Warmup)
	if e.plan.Warmup > 0 {
		e.recordStart(stats.MeasureStart)
	}
	if e.plan.Ops > 0 {
		var over <-chan time.Time
		if e.plan.Limited {
			over = time.After(time.Duration(measureEnd(e.plan) - e.now()))
		}
		select {
		case <-done:
			whole = true
		case <-e.stop:
		case <-over:
		}
	} else {
		e.sleepUntil(measureEnd(e.plan))
	}
	if stats.MeasureEnd = min(e.now(), measureEnd(e.plan)); whole { // the last operation ends it
		stats.MeasureEnd = stats.MeasureStart
	}
	stats.Self = probe.since()
	return stats
}

// drain waits for the clients and returns how many did not come back. It calls abandon to end
// attempts without a time limit.
func (e *engine) drain(ctx context.Context, done <-chan struct{}, abandon func()) int {
	patience := e.plan.Timeout + e.graces.hung
	if e.plan.Timeout == 0 {
		defer time.AfterFunc(e.graces.end, abandon).Stop()
		patience = e.graces.end + e.graces.hung
	}
	select {
	case <-done:
		return 0
	case <-ctx.Done():
		patience = min(patience, e.graces.cut+e.graces.hung)
	case <-time.After(patience):
		return int(e.busy.Load())
	}
	select {
	case <-done:
		return 0
	case <-time.After(patience):
		return int(e.busy.Load())
	}
}

// recordStart records the start of the measured part at once, so that it survives a kill.
func (e *engine) recordStart(at int64) {
	if err := e.rec.Mark(history.Event{At: at, Name: history.EventMeasureStart}); err != nil {
		e.abort(err)
	}
}

// stalled records that the process did not run. A closed loop's clients were all held up; an open
// loop's lateness of arrivals shows it.
func (e *engine) stalled(s history.Stall) {
	if e.dispatcher == nil && e.measured(s.To) {
		for client := range e.plan.Clients {
			e.lags.add(client, 0, s.To-s.From)
		}
	}
	event, err := s.Event()
	if err == nil {
		err = e.rec.Mark(event)
	}
	if err != nil {
		e.abort(err)
	}
}

func (e *engine) marks(stats Stats) error {
	err := e.rec.Mark(history.Event{At: stats.MeasureEnd, Name: history.EventMeasureEnd})
	if !stats.Cut || err != nil {
		return err
	}
	return e.rec.Mark(history.Event{At: e.now(), Name: history.EventCut, Detail: cmp.Or(stats.WhyCut, EndedEarly)})
}

// end stops the run. A working client starts nothing more. A client that waits for arrivals still
// takes those due before the end, so that the last are served.
func (e *engine) end(err error) {
	e.stopOnce.Do(func() {
		e.failure = err
		close(e.stop)
	})
}

// giveUp cuts a run that would not end.
func (e *engine) giveUp(why string) {
	e.stopOnce.Do(func() {
		e.why = why
		e.cut.Store(true)
		close(e.stop)
	})
	e.abort(nil)
}

// abort stops the run early. The first error given to abort or end is kept.
func (e *engine) abort(err error) {
	e.end(err)
	if e.dispatcher != nil {
		e.dispatcher.stop()
	}
}

func (e *engine) measured(at int64) bool {
	return at >= int64(e.plan.Warmup) && at < measureEnd(e.plan)
}

func (e *engine) stopped() bool {
	select {
	case <-e.stop:
		return true
	default:
		return false
	}
}

// sleepUntil returns at the moment, in nanoseconds since the start, or false if the run is stopped
// earlier.
func (e *engine) sleepUntil(moment int64) bool {
	return e.sleep(time.Duration(moment - e.now()))
}

func (e *engine) sleep(d time.Duration) bool {
	if d <= 0 {
		return !e.stopped()
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return !e.stopped()
	case <-e.stop:
		return false
	}
}

// Round is one stretch of a run. The next round begins when the last operation has ended.
type Round struct {
	// Name is unique in a run, such as "15 workers".
	Name string
	// Clients work at once and do Ops operations together.
	Clients int
	Ops     uint64
	// Ready prepares the round before its clock starts, such as by emptying caches; nil for
	// nothing.
	Ready func(ctx context.Context) error
	// Client opens the session of client n of the round, from 0.
	Client func(ctx context.Context, n int) (Client, error)
	// Tasks are what its clients take; nil if they take none.
	Tasks *Tasks
	// Elsewhere, if not nil, is told when the round's clients in other processes begin and end.
	Elsewhere func(working bool)
	// Apart excludes the round from the run's own throughput and latency. It still has its figures
	// and is checked.
	Apart bool
}
