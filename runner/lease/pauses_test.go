package lease

import (
	"context"
	"errors"
	"os/exec"
	"testing"
	"time"

	"assay/history"
	"assay/internal/expect"
	"assay/load"
	"assay/store"
)

// TestTheProcessIsSeenToRun: a pause is seen without clients or answers, and a standstill of the
// database is no pause.
func TestTheProcessIsSeenToRun(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	l := &Lease{Holder: NewHolder("one")}
	l.pauses.last.Store(time.Now().Add(-time.Hour).UnixNano())
	done := make(chan struct{})
	go func() { l.watchPauses(ctx); close(done) }()
	for end := time.Now().Add(10 * time.Second); !l.pauses.doubtful() && time.Now().Before(end); {
		time.Sleep(time.Millisecond)
	}
	if !l.pauses.doubtful() || time.Since(time.Unix(0, l.pauses.last.Load())) > pauseLimit {
		t.Errorf("an hour's pause was not seen: %d", l.pauses.seen.Load())
	}
	cancel()
	<-done
}

// renewals is a Database that answers renewals alone.
type renewals struct {
	store.Administration
	answers []error
}

func (r *renewals) RenewLease(context.Context, string, time.Duration) error {
	answer := r.answers[0]
	r.answers = r.answers[1:]
	return answer
}

// attemptCounter counts a client's operations and succeeds.
type attemptCounter struct{ count int }

func (a *attemptCounter) Attempt(context.Context, uint64, int) load.Answer {
	a.count++
	return load.Answer{Outcome: history.Committed}
}

func (a *attemptCounter) Close() {}

// TestAPausedRunAsksBeforeItGoesOn: stopped for longer than its lease, it sends nothing before it
// knows that no run took over.
func TestAPausedRunAsksBeforeItGoesOn(t *testing.T) {
	away := errors.New("no answer")
	held := &store.HeldError{Name: "x", Lease: store.Lease{Holder: NewHolder("other")}}
	for name, c := range map[string]struct {
		pause   time.Duration
		answers []error
		want    []history.Outcome // of attempts, one after the other
	}{
		"no pause":          {pauseLimit - 5*time.Second, nil, []history.Outcome{history.Committed, history.Committed}},
		"nobody took it":    {pauseLimit + time.Second, []error{nil}, []history.Outcome{history.Committed, history.Committed}},
		"it is not known":   {pauseLimit + time.Second, []error{away, nil}, []history.Outcome{history.Failed, history.Committed}},
		"another took over": {pauseLimit + time.Second, []error{held, held}, []history.Outcome{history.Failed, history.Failed}},
	} {
		db := &renewals{answers: c.answers}
		l := New(db, "this", Terms{})
		l.pauses.look(time.Now().Add(-c.pause))
		sent := &attemptCounter{}
		client := Guard(sent, l)
		committed := 0
		for i, want := range c.want {
			got := client.Attempt(t.Context(), uint64(i), 1)
			if got.Outcome != want || (want == history.Failed) != (got.Class == errorPaused) {
				t.Errorf("%s: attempt %d ended %+v, want %v", name, i, got, want)
			}
			if want == history.Committed {
				committed++
			}
		}
		if sent.count != committed || len(db.answers) != 0 {
			t.Errorf("%s: %d attempts were sent, want %d; %d answers are left", name, sent.count, committed, len(db.answers))
		}
	}
	var none *Lease
	if none.doubt(t.Context()) != "" {
		t.Error("a run without a lease is kept from working")
	}
}

// TestAnAgentThatIsNotLedSendsNothing, though it holds the lease.
func TestAnAgentThatIsNotLedSendsNothing(t *testing.T) {
	l, sent, led := New(&renewals{}, "this", Terms{}), &attemptCounter{}, false
	l.Led = func() bool { return led }
	client := Guard(sent, l)
	if got := client.Attempt(t.Context(), 0, 1); got.Outcome != history.Failed || got.Class != errorNotLed || sent.count != 0 {
		t.Errorf("it sent %d: %+v", sent.count, got)
	}
	led = true
	if got := client.Attempt(t.Context(), 1, 1); got.Outcome != history.Committed || sent.count != 1 {
		t.Errorf("it sent %d: %+v", sent.count, got)
	}
}

// thoughtful pauses before each operation.
type thoughtful struct{ attemptCounter }

func (*thoughtful) Think(seq uint64) time.Duration { return time.Duration(seq) * time.Second }

// TestALeasedClientPausesAsItsClientDoes: think times are the workload's.
func TestALeasedClientPausesAsItsClientDoes(t *testing.T) {
	held := New(&renewals{}, "this", Terms{})
	thinker, pauses := Guard(&thoughtful{}, held).(load.Thinker)
	if !pauses || thinker.Think(7) != 7*time.Second {
		t.Errorf("%T does not pause as its client does", thinker)
	}
	if _, pauses := Guard(&attemptCounter{}, held).(load.Thinker); pauses {
		t.Error("a client that does not pause is asked for its pauses")
	}
}

// A renewal answered before the pause proves nothing later.
func TestARenewalBeforeThePauseIsNoAnswer(t *testing.T) {
	var p pauses
	start := time.Now()
	before := p.look(start)
	p.look(start.Add(2 * TTL))
	p.settle(before)
	if !p.doubtful() {
		t.Error("a renewal from before the pause counts")
	}
	p.settle(p.look(start.Add(2*TTL + time.Second)))
	if p.doubtful() {
		t.Error("a renewal after the pause does not count")
	}
}

// TestEndedHolder: only a local process that is surely gone, or whose id is reused, has ended.
func TestEndedHolder(t *testing.T) {
	gone := exec.Command("true")
	expect.NoError(t, gone.Run())
	me := NewHolder("run")
	for name, c := range map[string]struct {
		change func(*store.Holder)
		want   bool
	}{
		"this process":    {func(*store.Holder) {}, false},
		"a process gone":  {func(h *store.Holder) { h.PID = gone.Process.Pid }, true},
		"a number reused": {func(h *store.Holder) { h.Started = "1" }, true},
		"another machine": {func(h *store.Holder) { h.PID, h.Machine = gone.Process.Pid, "other" }, false},
		"unknown machine": {func(h *store.Holder) { h.PID, h.Machine = gone.Process.Pid, "" }, false},
		"unknown start":   {func(h *store.Holder) { h.PID, h.Started = gone.Process.Pid, "" }, false},
		"another process": {func(h *store.Holder) { h.PID = 1 }, true}, // begun long before
	} {
		h := me
		c.change(&h)
		if got := ended(h); got != c.want {
			t.Errorf("%s: %v, want %v (%+v)", name, got, c.want, h)
		}
	}
}

// TestClientsDoNotContendForTheClock: an immediate second look writes nothing, even if the wall
// clock was set back, and hides no pause.
func TestClientsDoNotContendForTheClock(t *testing.T) {
	var p pauses
	start := time.Now()
	p.look(start)
	p.look(start.Add(lookInterval))
	if got := p.last.Load(); got != start.UnixNano() {
		t.Errorf("a look after %v moved the time by %v", lookInterval, time.Duration(got-start.UnixNano()))
	}
	if n := p.look(start.Add(lookInterval + TTL + 1)); n != 1 {
		t.Errorf("%d pauses were seen, want 1", n)
	}
	p.look(start)
	if n := p.look(start.Add(TTL + 1)); n != 2 {
		t.Errorf("after the clock was set back, %d pauses were seen, want 2", n)
	}
}

// unmarked is a Database whose schema is just made anew: it has neither lease nor mark.
type unmarked struct{ store.Administration }

func (unmarked) RenewLease(context.Context, string, time.Duration) error {
	return &store.NoSchemaError{}
}
func (unmarked) Marker(context.Context) (*store.Marker, error) { return nil, &store.ForeignError{} }

// TestWhatIsSeenOnTheWayIsNoNote: Keep asks beside whoever reads back, and what it finds while the
// schema is made anew says nothing of the state that is read.
func TestWhatIsSeenOnTheWayIsNoNote(t *testing.T) {
	l := New(unmarked{}, "this", Terms{Alone: true})
	asked := make(chan error, 1)
	go func() { _, err := l.confirm(t.Context()); asked <- err }()
	reading := l.Reading(t.Context())
	expect.NoError(t, <-asked)
	if notes := l.Notes(); len(notes) != 0 || reading != t.Context() {
		t.Errorf("noted %q", notes)
	}
	expect.NoError(t, l.Confirm(t.Context()))
	if notes := l.Notes(); len(notes) != 1 || notes[0] != NoteUnmarked {
		t.Errorf("noted %q", notes)
	}
}
