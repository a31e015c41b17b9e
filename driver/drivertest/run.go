package drivertest

import (
	"cmp"
	"context"
	"errors"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"assay/check"
	"assay/history"
	"assay/internal/expect"
	"assay/load"
	"assay/store"
	"assay/workload/definition"
)

// ShortRun is a short run of a workload, for tests.
type ShortRun struct {
	Workload definition.Workload
	Config   definition.Config
	Seed     uint64
	// Clients work at once. Each does so many operations, each in at most Attempts attempts
	// bounded by Limit (0 for the plan's). A run of one client can be repeated exactly.
	Clients, Each, Attempts int
	Limit                   time.Duration
	// Idempotent repeats unknown outcomes too, under the same id (load.RetryIdempotent).
	Idempotent bool
}

// Judge makes the schema anew, does the run with observers reading all the time, reads the
// database back and judges it by the store's promise, or by the model in Config.
func (run ShortRun) Judge(ctx context.Context, t testing.TB, db store.Database) definition.Judgement {
	t.Helper()
	return run.judge(ctx, t, run.Evidence(ctx, t, db))
}

// Valid is Judge, and fails the test unless every check is valid.
func (run ShortRun) Valid(ctx context.Context, t testing.TB, db store.Database) definition.Judgement {
	t.Helper()
	j := run.Judge(ctx, t, db)
	mustBeValid(t, j.Results)
	return j
}

// Evidence does the run as Judge does, and returns the evidence for the judgement.
func (run ShortRun) Evidence(ctx context.Context, t testing.TB, db store.Database) definition.Evidence {
	t.Helper()
	recorded := filepath.Join(t.TempDir(), "history")
	w, err := run.do(ctx, db, recorded)
	if err != nil {
		t.Fatalf("do the work: %v", err)
	}
	e := run.readBack(ctx, t, w, recorded)
	if examiner, ok := w.(definition.Examiner); ok {
		if err := examiner.Examine(ctx, filepath.Dir(e.State)); err != nil {
			t.Errorf("Examine: %v", err)
		}
	}
	return e
}

// Do makes the schema anew and does the run, recorded in a new file at path.
func (run ShortRun) Do(ctx context.Context, db store.Database, path string) error {
	_, err := run.do(ctx, db, path)
	return err
}

// JudgeDone reads the database back after Do, even if Do failed, and judges the history at path.
func (run ShortRun) JudgeDone(ctx context.Context, t testing.TB, db store.Database, path string) definition.Judgement {
	t.Helper()
	w, err := run.open(ctx, db)
	expect.NoError(t, err)
	return run.judge(ctx, t, run.readBack(ctx, t, w, path))
}

func (run ShortRun) open(ctx context.Context, db store.Database) (definition.Work, error) {
	return run.Config.Open(ctx, db, run.Seed, run.Clients)
}

func (run ShortRun) readBack(ctx context.Context, t testing.TB, w definition.Work, recorded string) definition.Evidence {
	t.Helper()
	folder := t.TempDir()
	if err := errors.Join(w.Settle(ctx), w.Save(ctx, folder, func(int64) {})); err != nil {
		t.Fatalf("Settle, Save: %v", err)
	}
	return definition.Evidence{Promise: w.Promise(), History: recorded, State: filepath.Join(folder, run.Workload.State)}
}

func (run ShortRun) judge(ctx context.Context, t testing.TB, e definition.Evidence) definition.Judgement {
	t.Helper()
	j, err := run.Config.Judge(ctx, run.Seed, e)
	if err != nil {
		t.Fatalf("Judge: %v", err)
	}
	return j
}

func (run ShortRun) plan() (load.Plan, error) {
	p := load.Defaults()
	p.Clients, p.Ops, p.Warmup, p.Seed = run.Clients, uint64(run.Clients)*uint64(run.Each), 0, run.Seed
	p.MaxAttempts = run.Attempts
	switch {
	case run.Attempts > 1 && run.Idempotent:
		p.Retry = load.RetryIdempotent
	case run.Attempts > 1:
		p.Retry = load.RetryFailed
	}
	p, err := run.Config.Plan(p)
	p.Timeout = cmp.Or(run.Limit, p.Timeout, patience) // a run by operations needs a limit
	return p, err
}

func (run ShortRun) do(ctx context.Context, db store.Database, path string) (definition.Work, error) {
	plan, err := run.plan()
	if err != nil {
		return nil, err
	}
	w, err := run.open(ctx, db)
	if err != nil {
		return nil, err
	}
	if err := w.Create(ctx, store.Marker{Run: "judged", Workload: run.Workload.Name, Created: time.Now().UTC(), Rows: w.Rows()}); err != nil {
		return nil, err
	}
	if err := w.Load(ctx, func(int64, int64) {}); err != nil {
		return nil, err
	}
	writer, err := history.Create(path, history.Header{Run: "judged", Workload: run.Workload.Name})
	if err != nil {
		return nil, err
	}
	began := time.Now()
	now := func() int64 { return time.Since(began).Nanoseconds() }
	rounds := []load.Round{{Clients: plan.Clients, Ops: plan.Ops, Client: w.Client}}
	if r, ok := w.(definition.Rounds); ok {
		rounds = r.Rounds()
	}
	stop := observe(ctx, w, &following{Writer: writer, first: plan.Clients}, now)
	first := 0
	for _, round := range rounds {
		plan.Clients, plan.Ops = round.Clients, round.Ops
		if err = doRound(ctx, round, plan, &following{Writer: writer, first: first}, now); err != nil {
			break
		}
		first += round.Clients
	}
	return w, errors.Join(err, stop(), writer.Close())
}

// observe has the observers read until stop is called, and once more then, to see the end.
func observe(ctx context.Context, w definition.Work, recorder *following, now func() int64) (stop func() error) {
	clients, _ := w.Observers()
	if len(clients) == 0 {
		return func() error { return nil }
	}
	plan := load.Defaults()
	plan.Clients, plan.Warmup, plan.Duration = len(clients), 0, patience
	plan.Arrivals, plan.Rate = load.Uniform, 5000
	reading, end := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() {
		_, err := load.Run(reading, plan, clients, recorder, now)
		ended <- err
	}()
	return func() error {
		enough := max(recorder.count.Load()+4*int64(len(clients)), 100*int64(len(clients)))
		for recorder.count.Load() < enough && ctx.Err() == nil {
			pause(ctx, time.Millisecond)
		}
		end()
		return <-ended
	}
}

func doRound(ctx context.Context, round load.Round, plan load.Plan, recorder load.Recorder, now func() int64) error {
	if round.Ready != nil {
		if err := round.Ready(ctx); err != nil {
			return err
		}
	}
	clients := make([]load.Client, round.Clients)
	for n := range clients {
		client, err := round.Client(ctx, n)
		if err != nil {
			for _, opened := range clients[:n] {
				opened.Close()
			}
			return err
		}
		clients[n] = prompt{client}
	}
	_, err := load.Run(ctx, plan, clients, recorder, now)
	return err
}

// prompt hides lost connections from the engine, which would wait after one. The tests'
// databases are back at once.
type prompt struct{ load.Client }

func (p prompt) Attempt(ctx context.Context, seq uint64, attempt int) load.Answer {
	a := p.Client.Attempt(ctx, seq, attempt)
	a.Disconnected = false
	return a
}

// following offsets the clients' numbers and records no marks.
type following struct {
	*history.Writer
	first int
	count atomic.Int64
}

func (f *following) Reserve(r history.Reservation) error {
	r.Client += f.first
	return f.Writer.Reserve(r)
}

func (f *following) Record(op *history.Op) error {
	f.count.Add(1)
	moved := *op
	moved.Client += f.first
	return f.Writer.Record(&moved)
}

func (f *following) Mark(history.Event) error { return nil }

// mustBeValid accepts findings that the isolation level allows.
func mustBeValid(t testing.TB, results []check.Result) {
	t.Helper()
	for _, r := range results {
		if r.Verdict != check.Allowed && (r.Verdict != check.Valid || r.Found != 0) {
			t.Errorf("%s is %v: %s %+v", r.Name, r.Verdict, r.Detail, r.Evidence)
		}
	}
}
