package load

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"assay/history"
)

const (
	// reserveStep is how many operation numbers a client reserves at once.
	reserveStep = 1024
	// cutGrace is how long attempts in flight may still take after the run was cut.
	cutGrace = 5 * time.Second
	// endGrace is the same after the run's own end, for attempts that have no
	// time limit.
	endGrace = 5 * time.Second
	// hungGrace is how long after its time limit an attempt may still return
	// before its client is given up.
	hungGrace = 10 * time.Second
)

// graces are how long the end of the run waits for attempts in flight.
type graces struct{ cut, end, hung time.Duration }

// Run works the plan with these clients, which are connected already, and
// returns when nothing is in flight any more. The run starts at the call; now
// gives nanoseconds since then, and all times of the record are in it.
//
// When ctx ends no operation starts any more. Attempts in flight have a grace, and
// their records are kept. The run ends in time whatever its clients do: a client that
// does not come back is counted and left behind. The error is the recorder's; an unhappy
// database is not an error here.
func Run(ctx context.Context, plan Plan, clients []Client, rec Recorder, now func() int64) (Stats, error) {
	return run(ctx, plan, clients, rec, now, graces{cut: cutGrace, end: endGrace, hung: hungGrace})
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
		e.recordEvent(history.EventMeasureStart, 0)
	}
	e.clock = startOwnClock(now, e.stalled) // when all that it reads is set
	return e.run(ctx, clients)
}

// engine is one run in progress.
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
	failure  error // of the recorder; read after all clients ended

	taken   atomic.Uint64 // operations of the measured part of a closed loop, with Plan.Ops
	lastEnd atomic.Int64
	cut     atomic.Bool
	busy    atomic.Int64
	said    sync.Map // the classes of errors of which the first was kept
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
	stats.Cut = e.cut.Load()
	e.clock.stop()
	stats.Late, stats.OwnLag = e.lags.merged()
	if e.plan.Ops > 0 {
		// The end is excluded from the measured part, the last operation not.
		stats.MeasureEnd = max(e.lastEnd.Load()+1, stats.MeasureStart)
	}
	if e.dispatcher != nil && e.plan.Ops == 0 {
		stats.Unserved = e.dispatcher.unserved(stats.MeasureStart, stats.MeasureEnd)
	}
	if stats.Hung == 0 && e.failure != nil {
		return stats, e.failure
	}
	return stats, e.marks(stats)
}

// phases waits through warm-up and measured part, which begins and ends at the
// moments of the plan and not when this goroutine happens to be woken.
func (e *engine) phases(done <-chan struct{}) Stats {
	var stats Stats
	if !e.sleepUntil(int64(e.plan.Warmup)) { // cut in the warm-up
		stats.MeasureStart = e.now()
		stats.MeasureEnd = stats.MeasureStart
		e.recordEvent(history.EventMeasureStart, stats.MeasureStart)
		return stats
	}
	probe := startUsage(e.clock)
	stats.MeasureStart = int64(e.plan.Warmup)
	if e.plan.Warmup > 0 {
		e.recordEvent(history.EventMeasureStart, stats.MeasureStart)
	}
	if e.plan.Ops > 0 {
		var over <-chan time.Time
		if e.plan.Limited {
			over = time.After(time.Duration(measureEnd(e.plan) - e.now()))
		}
		select {
		case <-done:
		case <-e.stop:
		case <-over:
		}
	} else {
		e.sleepUntil(measureEnd(e.plan))
	}
	stats.MeasureEnd = min(e.now(), measureEnd(e.plan))
	stats.Self = probe.since()
	return stats
}

// drain waits for the clients and returns how many never came back. It calls
// abandon to end attempts that nothing else would end.
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

// recordEvent records an event at once, so that it is there after a kill too.
func (e *engine) recordEvent(name string, at int64) {
	if err := e.rec.Mark(history.Event{At: at, Name: name}); err != nil {
		e.abort(err)
	}
}

// stalled records that the process did not run. In a closed loop it held up every client; an
// open loop has it in the lateness of the arrivals.
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

// marks records how the run ended.
func (e *engine) marks(stats Stats) error {
	err := e.rec.Mark(history.Event{At: stats.MeasureEnd, Name: history.EventMeasureEnd})
	if !stats.Cut || err != nil {
		return err
	}
	return e.rec.Mark(history.Event{At: e.now(), Name: history.EventCut, Detail: "it was ended before its time"})
}

// end stops the run at its end: a client that is at work starts nothing after
// it. One that waits for arrivals still takes those that were due before the
// end, so that none of them goes unserved for being the last.
func (e *engine) end(err error) {
	e.stopOnce.Do(func() {
		e.failure = err
		close(e.stop)
	})
}

// abort stops the run before its end. The first error given to it or to end is
// kept.
func (e *engine) abort(err error) {
	e.end(err)
	if e.dispatcher != nil {
		e.dispatcher.stop()
	}
}

// measured reports whether a moment belongs to the measured part of the plan.
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

// sleepUntil returns at the moment, in nanoseconds since the start, or with
// false when the run is stopped earlier.
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

// Round is one stretch of a run that is worked in several: so many clients do
// so many operations, and the next round begins when the last of them has
// ended.
type Round struct {
	// Name describes what the round is, such as "15 workers"; it is unique in a run.
	Name string
	// Clients is how many work at once, Ops how many operations they do
	// together.
	Clients int
	Ops     uint64
	// Ready prepares the round before its clock starts, such as by emptying
	// caches; nil if nothing is to be prepared.
	Ready func(ctx context.Context) error
	// Client opens the session of client n of the round, from 0.
	Client func(ctx context.Context, n int) (Client, error)
	// Tasks has those that its clients take; nil if they take none.
	Tasks *Tasks
	// Elsewhere is told when clients of the round in other processes begin to work and
	// when they have ended; nil if nobody asks.
	Elsewhere func(working bool)
	// Apart keeps the round out of the run's own throughput and latency; it
	// still has its figures and is checked.
	Apart bool
}
