package load

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"assay/history"
	"assay/internal/expect"
)

// stepClock is a clock that moves only when somebody sleeps by its alarm or
// looks at it.
type stepClock struct {
	mu     sync.Mutex
	at     int64
	sleeps []time.Duration
	late   time.Duration // how much longer each sleep takes
}

func (c *stepClock) now() int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.at += 100
	return c.at
}

func (c *stepClock) sleep(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.sleeps = append(c.sleeps, d)
	c.at += int64(d + c.late)
}

func (c *stepClock) wake()  {}
func (c *stepClock) close() {}

// onStepClock is a dispatcher that lives by the clock.
func onStepClock(p Plan, c *stepClock) *dispatcher {
	d := newDispatcher(p, c.now)
	d.alarm.close()
	d.alarm = c
	return d
}

// No operation starts before it is due, and each wakes its client once.
func TestDispatchIsNeverEarly(t *testing.T) {
	c := &stepClock{late: 30 * time.Microsecond}
	p := Plan{Rate: 500, Arrivals: Poisson, Seed: 1, Duration: 20 * time.Second}
	want := allOf(newArrivals(p))
	d := onStepClock(p, c)
	var got []int64
	for a, ok := d.next(); ok; a, ok = d.next() {
		if c.at < a.due {
			t.Fatalf("the arrival of %d was handed out at %d", a.due, c.at)
		}
		got = append(got, a.due)
	}
	if !slices.Equal(got, want) {
		t.Errorf("%d arrivals were handed out, want the %d of the plan, in their order", len(got), len(want))
	}
	if n := len(c.sleeps); n > len(want) || n < len(want)/2 {
		t.Errorf("%d sleeps for %d arrivals", n, len(want))
	}
}

// Who sleeps too long is woken earlier, but never by more than the bound; and
// watching the clock takes no more than its share.
func TestDispatchWatchesTheClockBriefly(t *testing.T) {
	for _, late := range []time.Duration{0, 30 * time.Microsecond, 10 * time.Millisecond} {
		for _, rate := range []float64{50, 500, 5000, 200_000} {
			c := &stepClock{late: late}
			d := onStepClock(Plan{Rate: rate, Arrivals: Uniform, Ops: 20_000}, c)
			for _, ok := d.next(); ok; _, ok = d.next() {
				if early := time.Duration(d.early); early < 0 || early > maxEarly {
					t.Fatalf("%g/s: woken %v before due", rate, early)
				}
			}
			if share := float64(d.spun.Load()) / float64(c.at); share > spinShare+0.001 {
				t.Errorf("%g/s, sleeps %v too long: %.3f of a processor's time was spent watching the clock", rate, late, share)
			}
			if late == 30*time.Microsecond && rate == 500 && (d.early < 29_000 || d.early > 35_000) {
				t.Errorf("sleeps are 30 µs too long, and it wakes %.0f ns before due", d.early)
			}
		}
	}
}

// A backlog that the tester has made by waking late is its own, whichever
// client works it off; one that came because all clients were busy is not.
func TestOwnLatenessIsTold(t *testing.T) {
	const ms = int64(time.Millisecond)
	d := onStepClock(Plan{Rate: 1000, Arrivals: Uniform, Duration: time.Second}, &stepClock{})
	for i, x := range []struct {
		due, handed, idleSince int64 // in milliseconds
		slept                  bool
		own                    int64
	}{
		{due: 0, handed: 0, idleSince: 0, own: 0},
		{due: 1, handed: 5, idleSince: 0, slept: true, own: 4}, // woken late
		{due: 2, handed: 5, idleSince: 0, own: 3},              // by another client that was idle
		{due: 3, handed: 6, idleSince: 6, own: 3},              // by the first, after the others too had become busy
		{due: 4, handed: 10, idleSince: 10, own: 3},            // of its six, three are the database's
		{due: 5, handed: 12, idleSince: 12, own: 3},
		{due: 12, handed: 12, idleSince: 12, own: 0},
		{due: 13, handed: 13, idleSince: 12, slept: true, own: 0}, // the schedule is kept again
		{due: 14, handed: 30, idleSince: 30, own: 0},              // all were busy until 30
		{due: 15, handed: 33, idleSince: 32, own: 1},              // one was free at 32
		{due: 31, handed: 32, idleSince: 32, own: 1},
	} {
		if x.slept {
			d.behind = 0
		}
		if got := d.ownLateness(arrival{due: x.due * ms, handed: x.handed * ms}, x.idleSince*ms); got != x.own*ms {
			t.Errorf("arrival %d: %d ns are the tester's, want %d ms", i, got, x.own)
		}
	}
}

// An idle client is one that waits here, whoever else works.
func TestIdleSince(t *testing.T) {
	c := &stepClock{}
	d := onStepClock(Plan{Rate: 1000, Arrivals: Uniform, Duration: time.Second}, c)
	d.enter() // at 100
	d.enter()
	if since := d.leave(); since != 100 {
		t.Errorf("with one left, idle since %d, want 100", since)
	}
	d.leave()
	d.now()
	d.enter() // the clock stands at 200, and moves by 100 at each look
	if since := d.leave(); since != 300 {
		t.Errorf("after all were busy, idle since %d, want 300", since)
	}
}

// Many clients get each arrival once, on the real clock.
func TestDispatchHandsOutEachArrivalOnce(t *testing.T) {
	start := time.Now()
	p := Plan{Rate: 20_000, Arrivals: Poisson, Seed: 9, Ops: 4000}
	d := newDispatcher(p, func() int64 { return int64(time.Since(start)) })
	defer d.alarm.close()
	var (
		mu  sync.Mutex
		got []int64
		all sync.WaitGroup
	)
	for range 100 {
		all.Go(func() {
			for a, ok := d.next(); ok; a, ok = d.next() {
				mu.Lock()
				got = append(got, a.due)
				mu.Unlock()
			}
		})
	}
	all.Wait()
	slices.Sort(got)
	if !slices.Equal(got, allOf(newArrivals(p))) {
		t.Errorf("%d arrivals were handed out, want the 4000 of the plan once each", len(got))
	}
}

// Idle clients, of which one waits for an arrival in an hour's time, go at once
// when the run is cut, with either alarm.
func TestDispatchEndsWhenItIsStopped(t *testing.T) {
	for name, made := range map[string]alarm{"the system's": newAlarm(), "Go's": newTimerAlarm()} {
		start := time.Now()
		d := newDispatcher(Plan{Rate: 1.0 / 3600, Arrivals: Uniform, Duration: 24 * time.Hour}, func() int64 { return int64(time.Since(start)) })
		d.alarm.close()
		d.alarm = made
		if _, ok := d.next(); !ok { // the arrival at 0
			t.Fatalf("%s: no first arrival", name)
		}
		var all sync.WaitGroup
		for range 1000 {
			all.Go(func() {
				if a, ok := d.next(); ok {
					t.Errorf("%s: an arrival of %d was handed out", name, a.due)
				}
			})
		}
		for len(d.turn) > 0 { // until one of them waits for the arrival
			time.Sleep(time.Millisecond)
		}
		d.stop()
		d.stop()
		all.Wait() // or the test runs out of time
		if _, ok := d.next(); ok {
			t.Errorf("%s: an arrival was handed out after the end", name)
		}
		made.close()
	}
}

// An open loop serves all that is due before its end, and nothing after it.
func TestOpenLoopServesWhatIsDueBeforeTheEnd(t *testing.T) {
	for _, p := range []Plan{
		plan(func(p *Plan) { p.Rate, p.Arrivals, p.Duration = 10, Uniform, 500*time.Millisecond }),
		plan(func(p *Plan) { p.Rate, p.Arrivals, p.Duration = 500, Uniform, 200*time.Millisecond }),
		plan(func(p *Plan) {
			p.Rate, p.Arrivals, p.Warmup, p.Duration = 100, Uniform, 100*time.Millisecond, 200*time.Millisecond
		}),
		plan(func(p *Plan) { p.Rate, p.Arrivals, p.Duration, p.Ramp = 200, Uniform, 200*time.Millisecond, 100 }),
	} {
		rec, stats, err := work(t, t.Context(), p, commit)
		expect.NoError(t, err)
		end := int64(p.Warmup + p.Duration)
		if stats.MeasureStart != int64(p.Warmup) || stats.MeasureEnd != end || stats.Unserved != 0 {
			t.Errorf("%g/s: %+v, want the measured part of the plan and nothing unserved", p.Rate, stats)
		}
		var due []int64
		for _, op := range rec.ops {
			due = append(due, op.Due)
		}
		slices.Sort(due)
		if !slices.Equal(due, allOf(newArrivals(p))) {
			t.Errorf("%g/s for %v: %d operations, want all of the plan's arrivals", p.Rate, p.Warmup+p.Duration, len(due))
		}
	}
}

// The share of idle clients makes no difference: ten thousand serve as three
// do, and all of them end.
func TestIdleClientsDoNothing(t *testing.T) {
	p := plan(func(p *Plan) {
		p.Clients, p.Rate, p.Arrivals, p.Duration = MaxClients, 1000, Uniform, 200*time.Millisecond
	})
	rec, stats, err := work(t, t.Context(), p, commit)
	if err != nil || stats.Hung != 0 {
		t.Fatalf("%+v, %v", stats, err)
	}
	if got := int64(len(rec.ops)) + stats.Unserved; got != 200 {
		t.Errorf("%d served and %d unserved, want 200 together", len(rec.ops), stats.Unserved)
	}
	if len(rec.reserved) > len(rec.ops) {
		t.Errorf("%d clients reserved operations, and %d worked", len(rec.reserved), len(rec.ops))
	}
}

// With a warm-up too the measured part holds exactly the operations asked for.
func TestOpsAreExactBehindAWarmup(t *testing.T) {
	for _, p := range []Plan{
		plan(func(p *Plan) { p.Clients, p.Ops, p.Warmup = 8, 100, 20*time.Millisecond }),
		plan(func(p *Plan) {
			p.Clients, p.Ops, p.Warmup, p.Rate, p.Arrivals = 8, 100, 20*time.Millisecond, 2000, Poisson
		}),
	} {
		rec, stats, err := work(t, t.Context(), p, commit)
		expect.NoError(t, err)
		measured := 0
		for _, op := range rec.ops {
			if op.Due >= stats.MeasureStart && op.Due < stats.MeasureEnd {
				measured++
			}
		}
		if measured != 100 {
			t.Errorf("%g/s: %d operations are due in the measured part, want 100", p.Rate, measured)
		}
	}
}

// A cut wakes the client that waits for an arrival, and no operation follows.
func TestCutOfAnOpenLoop(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	p := plan(func(p *Plan) { p.Rate, p.Arrivals, p.Duration = 1.0/3600, Uniform, 24*time.Hour })
	var calls atomic.Int64
	rec, stats, err := work(t, ctx, p, func(context.Context, uint64, int) Answer {
		calls.Add(1)
		cancel()
		return Answer{Outcome: history.Committed}
	})
	if err != nil || !stats.Cut || stats.Hung != 0 || calls.Load() != 1 || len(rec.ops) != 1 || stats.Unserved != 0 {
		t.Errorf("%+v, %d calls, %d records, %v", stats, calls.Load(), len(rec.ops), err)
	}
	if stats.MeasureEnd >= int64(p.Duration) {
		t.Errorf("the measured part of a run that was cut ends at %d", stats.MeasureEnd)
	}
}
