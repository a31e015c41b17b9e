package load

import (
	"context"
	"errors"
	"math"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"assay/history"
	"assay/internal/expect"
)

// tape is a Recorder that keeps everything and checks the order of things.
type tape struct {
	mu       sync.Mutex
	ops      []history.Op
	events   []history.Event
	reserved map[int]uint64
	fail     error
}

func (t *tape) Reserve(r history.Reservation) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.reserved == nil {
		t.reserved = map[int]uint64{}
	}
	t.reserved[r.Client] = r.UpTo
	return t.fail
}

func (t *tape) Record(op *history.Op) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if op.Seq >= t.reserved[op.Client] {
		return errors.New("an operation was recorded that was not reserved")
	}
	t.ops = append(t.ops, *op)
	return t.fail
}

func (t *tape) Mark(e history.Event) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.events = append(t.events, e)
	return nil
}

// scripted is a Client that answers by a function.
type scripted struct {
	answer func(ctx context.Context, seq uint64, attempt int) Answer
	closed atomic.Bool
}

func (s *scripted) Attempt(ctx context.Context, seq uint64, attempt int) Answer {
	return s.answer(ctx, seq, attempt)
}
func (s *scripted) Close() { s.closed.Store(true) }

func commit(context.Context, uint64, int) Answer { return Answer{Outcome: history.Committed} }

func plan(change func(*Plan)) Plan {
	p := Defaults()
	p.Clients, p.Warmup, p.Duration, p.Timeout, p.Seed = 3, 0, 100*time.Millisecond, time.Second, 7
	change(&p)
	return p
}

func work(t *testing.T, ctx context.Context, p Plan, answer func(context.Context, uint64, int) Answer) (*tape, Stats, error) {
	t.Helper()
	var clients []Client
	for range p.Clients {
		clients = append(clients, &scripted{answer: answer})
	}
	rec, start := &tape{}, time.Now()
	stats, err := Run(ctx, p, clients, rec, func() int64 { return int64(time.Since(start)) })
	if stats.Hung == 0 {
		for i, c := range clients {
			if !c.(*scripted).closed.Load() {
				t.Errorf("client %d was not closed", i)
			}
		}
	}
	return rec, stats, err
}

func TestOpsAreExact(t *testing.T) {
	for _, p := range []Plan{
		plan(func(p *Plan) { p.Ops = 100 }),
		plan(func(p *Plan) { p.Ops, p.Rate, p.Arrivals = 100, 5000, Poisson }),
		plan(func(p *Plan) { p.Ops, p.Clients = 1, 8 }),
	} {
		rec, stats, err := work(t, t.Context(), p, commit)
		expect.NoError(t, err)
		if uint64(len(rec.ops)) != p.Ops {
			t.Errorf("%d operations, want %d", len(rec.ops), p.Ops)
		}
		last := int64(0)
		seen := map[int]map[uint64]bool{}
		for _, op := range rec.ops {
			last = max(last, op.End)
			if seen[op.Client] == nil {
				seen[op.Client] = map[uint64]bool{}
			}
			if seen[op.Client][op.Seq] {
				t.Errorf("operation %d of client %d twice", op.Seq, op.Client)
			}
			seen[op.Client][op.Seq] = true
		}
		if stats.MeasureEnd != last+1 || stats.Cut || stats.Unserved != 0 {
			t.Errorf("stats %+v, last end %d", stats, last)
		}
	}
}

func TestRetryPolicies(t *testing.T) {
	type step = Answer
	failed := step{Outcome: history.Failed, Class: "deadlock"}
	unknown := step{Outcome: history.Unknown, Class: "timeout"}
	rejected := step{Outcome: history.Rejected}
	committed := step{Outcome: history.Committed}
	done, confirmed := step{Outcome: history.Failed, Done: true}, step{Outcome: history.Failed, Done: true, Confirmed: true}
	tests := []struct {
		mode     RetryMode
		script   []step
		attempts int
		final    history.Outcome
	}{
		{RetryNone, []step{failed}, 1, history.Failed},
		{RetryNone, []step{unknown}, 1, history.Unknown},
		{RetryFailed, []step{failed, failed, committed}, 3, history.Committed},
		{RetryFailed, []step{failed, rejected}, 2, history.Rejected},
		{RetryFailed, []step{unknown, committed}, 1, history.Unknown},
		{RetryFailed, []step{failed, unknown, committed}, 2, history.Unknown},
		{RetryFailed, []step{failed, failed, failed, failed, committed}, 4, history.Failed},
		{RetryIdempotent, []step{unknown, committed}, 2, history.Committed},
		{RetryIdempotent, []step{unknown, done}, 2, history.Unknown},
		{RetryIdempotent, []step{unknown, failed, done}, 3, history.Unknown},
		{RetryIdempotent, []step{unknown, confirmed}, 2, history.Committed},
		{RetryBlind, []step{unknown, done}, 2, history.Unknown},
		{RetryIdempotent, []step{unknown, rejected, rejected, rejected}, 4, history.Unknown},
		{RetryIdempotent, []step{unknown, failed, failed, failed}, 4, history.Unknown},
		{RetryIdempotent, []step{failed, rejected}, 2, history.Rejected},
		{RetryIdempotent, []step{rejected}, 1, history.Rejected},
		{RetryBlind, []step{committed}, 1, history.Committed},
		{RetryBlind, []step{unknown, committed}, 2, history.Committed},
		{RetryBlind, []step{failed, unknown, failed, committed}, 4, history.Committed},
		{RetryBlind, []step{unknown, failed, failed, failed, committed}, 4, history.Unknown},
		{RetryBlind, []step{rejected, committed}, 1, history.Rejected},
		{RetryBlind, []step{unknown, rejected, committed}, 2, history.Unknown},
	}
	for i, test := range tests {
		p := plan(func(p *Plan) { p.Clients, p.Ops, p.Retry, p.MaxAttempts = 1, 1, test.mode, 4 })
		rec, _, err := work(t, t.Context(), p, func(_ context.Context, _ uint64, attempt int) Answer {
			return test.script[attempt-1]
		})
		expect.NoError(t, err)
		if len(rec.ops) != test.attempts {
			t.Errorf("case %d: %d attempts, want %d", i, len(rec.ops), test.attempts)
			continue
		}
		for n, op := range rec.ops {
			if op.Attempt != n+1 || op.Last != (n == len(rec.ops)-1) || op.Outcome != test.script[n].Outcome ||
				op.Seq != 0 || op.First != rec.ops[0].Start || op.Due != rec.ops[0].Due {
				t.Errorf("case %d: attempt %d recorded as %+v", i, n+1, op)
			}
		}
		if got := rec.ops[len(rec.ops)-1].Final; got != test.final {
			t.Errorf("case %d: final %v, want %v", i, got, test.final)
		}
	}
}

// In an open loop a stall must show in every operation that was due meanwhile.
func TestOpenLoopTimesFromDue(t *testing.T) {
	var calls atomic.Int64
	p := plan(func(p *Plan) { p.Clients, p.Rate, p.Arrivals, p.Ops = 1, 1000, Uniform, 100 })
	rec, _, err := work(t, t.Context(), p, func(context.Context, uint64, int) Answer {
		if calls.Add(1) == 10 {
			time.Sleep(60 * time.Millisecond)
		}
		return Answer{Outcome: history.Committed}
	})
	expect.NoError(t, err)
	waited := 0
	for i, op := range rec.ops {
		if want := int64(i) * int64(time.Millisecond); op.Due != want {
			t.Fatalf("operation %d was due at %d, want %d", i, op.Due, want)
		}
		if op.Start < op.Due {
			t.Fatalf("operation %d started before it was due", i)
		}
		if op.Latency() > op.ServiceTime()+int64(5*time.Millisecond) {
			waited++
		}
	}
	if waited < 40 {
		t.Errorf("the stall of 60 ms shows in %d operations, want about 55", waited)
	}
}

func TestUnservedArrivalsAreCounted(t *testing.T) {
	for _, arrivals := range []Arrivals{Uniform, Poisson} {
		p := plan(func(p *Plan) {
			p.Clients, p.Rate, p.Arrivals, p.Duration = 2, 10_000, arrivals, 200*time.Millisecond
		})
		rec, stats, err := work(t, t.Context(), p, func(context.Context, uint64, int) Answer {
			time.Sleep(10 * time.Millisecond)
			return Answer{Outcome: history.Committed}
		})
		expect.NoError(t, err)
		offered := p.Rate * float64(stats.MeasureEnd) / 1e9
		total := float64(len(rec.ops)) + float64(stats.Unserved)
		if math.Abs(total-offered) > 6*math.Sqrt(offered) {
			t.Errorf("%s: %d served and %d unserved, offered %.0f", arrivals, len(rec.ops), stats.Unserved, offered)
		}
	}
}

// TestWhatIsNotAttemptedIsNotRecorded: an operation begins when its client may. If it may not until
// the run ends, there is none. Where an earlier attempt was made, the operation ends as that says.
func TestWhatIsNotAttemptedIsNotRecorded(t *testing.T) {
	unmade := Answer{Outcome: history.Failed, Class: "not sure", Unmade: true}
	var asked atomic.Int64
	to, _, err := work(t, t.Context(), plan(func(p *Plan) { p.Clients, p.Ops = 1, 5 }), func(context.Context, uint64, int) Answer {
		if asked.Add(1)%3 != 0 {
			return unmade
		}
		return Answer{Outcome: history.Committed, Kind: 7}
	})
	expect.NoError(t, err)
	if len(to.ops) != 5 || slices.ContainsFunc(to.ops, func(op history.Op) bool { return op.Final != history.Committed || op.Kind != 7 || op.Attempt != 1 }) {
		t.Errorf("recorded %+v", to.ops)
	}
	to, _, err = work(t, t.Context(), plan(func(p *Plan) { p.Clients, p.Duration, p.Ops = 2, 50*time.Millisecond, 0 }), func(context.Context, uint64, int) Answer { return unmade })
	expect.NoError(t, err)
	if len(to.ops) != 0 {
		t.Errorf("recorded %+v of clients that attempted nothing", to.ops)
	}
	to, _, err = work(t, t.Context(), plan(func(p *Plan) { p.Clients, p.Duration, p.Ops, p.Retry = 1, 3*time.Second, 0, RetryFailed }), func(_ context.Context, _ uint64, attempt int) Answer {
		if attempt > 1 {
			return unmade
		}
		return Answer{Outcome: history.Failed, Class: "deadlock", Kind: 7}
	})
	expect.NoError(t, err)
	if n := len(to.ops); n != 2 || !to.ops[1].Last || to.ops[1].Final != history.Failed || to.ops[1].Kind != 7 {
		t.Errorf("recorded %+v", to.ops)
	}
}

// TestAPlanWithoutATimeEndsWhenNothingMayBeAttempted: nothing else would end it. The run was cut then,
// and says why.
func TestAPlanWithoutATimeEndsWhenNothingMayBeAttempted(t *testing.T) {
	impatient := graces{cut: time.Minute, end: time.Minute, hung: time.Minute, unmade: 50 * time.Millisecond}
	for _, rate := range []float64{0, 1000} {
		p := plan(func(p *Plan) { p.Clients, p.Ops, p.Duration = 2, 50, 0 })
		if p.Rate = rate; rate > 0 {
			p.Arrivals = Uniform
		}
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
		defer cancel()
		rec, start := &tape{}, time.Now()
		answer := func(_ context.Context, seq uint64, _ int) Answer {
			if seq < 5 {
				return Answer{Outcome: history.Committed}
			}
			return Answer{Outcome: history.Failed, Class: "not sure", Unmade: true}
		}
		stats, err := run(ctx, p, []Client{&scripted{answer: answer}, &scripted{answer: answer}}, rec, func() int64 { return int64(time.Since(start)) }, impatient)
		expect.NoError(t, err)
		if ctx.Err() != nil {
			t.Fatalf("rate %g: it did not end by itself", rate)
		}
		last := rec.events[len(rec.events)-1]
		if !stats.Cut || len(rec.ops) < 5 || len(rec.ops) > 10 || last.Name != history.EventCut || !strings.Contains(last.Detail, "not sure") {
			t.Errorf("rate %g: cut %v, %d operations, events %+v", rate, stats.Cut, len(rec.ops), rec.events)
		}
		if due := min(int64(float64(stats.MeasureEnd)/1e9*rate)+1, 50); rate > 0 && int64(len(rec.ops))+stats.Unserved != due {
			t.Errorf("%d begun and %d unserved, %d were due", len(rec.ops), stats.Unserved, due)
		}
	}
}

// TestEachArrivalIsBegunOrUnserved: one that was taken and never begun is counted too.
func TestEachArrivalIsBegunOrUnserved(t *testing.T) {
	for _, limit := range []uint64{0, 1_000_000} {
		p := plan(func(p *Plan) {
			p.Clients, p.Rate, p.Arrivals, p.Duration, p.Ops, p.Limited = 3, 1000, Uniform, 100*time.Millisecond, limit, limit > 0
		})
		rec, stats, err := work(t, t.Context(), p, func(_ context.Context, seq uint64, _ int) Answer {
			return Answer{Outcome: history.Committed, Unmade: seq >= 2}
		})
		expect.NoError(t, err)
		if n := int64(len(rec.ops)); n > 6 || n+stats.Unserved != 100 {
			t.Errorf("%d operations: %d begun and %d unserved, want at most 6, and 100 in all", limit, len(rec.ops), stats.Unserved)
		}
	}
}

func TestOneErrorNeverEndsAClient(t *testing.T) {
	var calls atomic.Int64
	p := plan(func(p *Plan) { p.Clients, p.Ops = 2, 200 })
	rec, _, err := work(t, t.Context(), p, func(context.Context, uint64, int) Answer {
		switch calls.Add(1) % 3 {
		case 0:
			return Answer{Outcome: history.Unknown, Class: "connection lost"}
		case 1:
			return Answer{Outcome: history.Failed, Class: "deadlock"}
		}
		return Answer{Outcome: history.Committed}
	})
	if err != nil || len(rec.ops) != 200 {
		t.Fatalf("%d operations, %v", len(rec.ops), err)
	}
}

func TestCutEndsInOrder(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	p := plan(func(p *Plan) { p.Duration = time.Hour })
	time.AfterFunc(50*time.Millisecond, cancel)
	rec, stats, err := work(t, ctx, p, func(ctx context.Context, _ uint64, _ int) Answer {
		if ctx.Err() != nil {
			t.Error("what is in flight must not be cut off at once")
		}
		time.Sleep(time.Millisecond)
		return Answer{Outcome: history.Committed}
	})
	if err != nil || !stats.Cut || len(rec.ops) == 0 {
		t.Fatalf("%+v, %d operations, %v", stats, len(rec.ops), err)
	}
	if rec.events[len(rec.events)-1].Name != history.EventCut {
		t.Errorf("events %+v", rec.events)
	}
}

func TestAttemptsAreBoundedInTime(t *testing.T) {
	p := plan(func(p *Plan) { p.Clients, p.Ops, p.Timeout = 1, 1, 20*time.Millisecond })
	rec, _, err := work(t, t.Context(), p, func(ctx context.Context, _ uint64, _ int) Answer {
		<-ctx.Done()
		return Answer{Class: "timeout"}
	})
	if err != nil || len(rec.ops) != 1 || rec.ops[0].Final != history.Unknown {
		t.Fatalf("%+v %v", rec.ops, err)
	}
}

func TestRecorderErrorEndsTheRun(t *testing.T) {
	full := errors.New("disk full")
	p := plan(func(p *Plan) { p.Duration = time.Hour })
	var clients []Client
	for range p.Clients {
		clients = append(clients, &scripted{answer: commit})
	}
	start := time.Now()
	_, err := Run(t.Context(), p, clients, &tape{fail: full}, func() int64 { return int64(time.Since(start)) })
	if !errors.Is(err, full) {
		t.Fatalf("got %v", err)
	}
}

func TestWarmupIsMarked(t *testing.T) {
	p := plan(func(p *Plan) { p.Warmup, p.Duration = 30*time.Millisecond, 30*time.Millisecond })
	rec, stats, err := work(t, t.Context(), p, func(context.Context, uint64, int) Answer {
		time.Sleep(time.Millisecond)
		return Answer{Outcome: history.Committed}
	})
	expect.NoError(t, err)
	if stats.MeasureStart < int64(p.Warmup) || stats.MeasureEnd-stats.MeasureStart < int64(p.Duration) {
		t.Errorf("measured from %d to %d", stats.MeasureStart, stats.MeasureEnd)
	}
	if rec.ops[0].End > stats.MeasureStart {
		t.Error("nothing was done in the warm-up")
	}
	marks := slices.DeleteFunc(rec.events, func(e history.Event) bool { return e.Name == history.EventStalled }) // of a busy machine
	if len(marks) != 2 || marks[0].At != stats.MeasureStart || marks[1].At != stats.MeasureEnd {
		t.Errorf("events %+v", marks)
	}
}

func TestRampStartsClientsOneByOne(t *testing.T) {
	p := plan(func(p *Plan) { p.Clients, p.Ramp, p.Duration = 4, 20, 260*time.Millisecond })
	rec, _, err := work(t, t.Context(), p, func(context.Context, uint64, int) Answer {
		time.Sleep(time.Millisecond)
		return Answer{Outcome: history.Committed}
	})
	expect.NoError(t, err)
	first := map[int]int64{}
	for _, op := range rec.ops {
		if _, seen := first[op.Client]; !seen {
			first[op.Client] = op.Start
		}
	}
	for client, start := range first {
		if earliest := int64(client) * int64(50*time.Millisecond); start < earliest {
			t.Errorf("client %d started at %d, before %d", client, start, earliest)
		}
	}
	if len(first) != 4 {
		t.Errorf("%d clients started, want 4", len(first))
	}
}

func TestPlanValidate(t *testing.T) {
	bad := map[string]func(*Plan){
		"--clients":      func(p *Plan) { p.Clients = 0 },
		"--rate":         func(p *Plan) { p.Rate = math.NaN() },
		"--arrivals":     func(p *Plan) { p.Arrivals = "burst" },
		"--warmup":       func(p *Plan) { p.Warmup = -1 },
		"--duration":     func(p *Plan) { p.Duration = 0 },
		"--ramp":         func(p *Plan) { p.Ramp = -1 },
		"--timeout":      func(p *Plan) { p.Timeout = -1 },
		"--retry":        func(p *Plan) { p.Retry = "always" },
		"--max-attempts": func(p *Plan) { p.MaxAttempts = -1 },

		// What only the end of the run would end, in a run that has no end of
		// its own.
		"--timeout 0":      func(p *Plan) { p.Timeout, p.Ops = 0, 1 },
		"--max-attempts 0": func(p *Plan) { p.MaxAttempts, p.Ops, p.Retry = 0, 1, RetryBlind },
	}
	good := map[string]func(*Plan){
		"no limit of time":               func(p *Plan) { p.Timeout = 0 },
		"no limit of attempts":           func(p *Plan) { p.MaxAttempts, p.Retry = 0, RetryBlind },
		"no attempts to limit":           func(p *Plan) { p.MaxAttempts, p.Ops = 0, 1 },
		"the limits with a count of ops": func(p *Plan) { p.Timeout, p.MaxAttempts, p.Ops, p.Retry = 1, 1000, 1, RetryBlind },
	}
	for name, change := range good {
		p := Defaults()
		change(&p)
		if err := p.Validate(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	for option, spoil := range bad {
		option, _, _ = strings.Cut(option, " ")
		p := Defaults()
		spoil(&p)
		var refused *PlanError
		if err := p.Validate(); !errors.As(err, &refused) || refused.Option != option {
			t.Errorf("%s: got %v", option, err)
		}
	}
	if err := Defaults().Validate(); err != nil {
		t.Errorf("the defaults: %v", err)
	}
	p := Defaults()
	p.Arrivals = Poisson
	if p.Validate() == nil {
		t.Error("an open loop without a rate was accepted")
	}
}
