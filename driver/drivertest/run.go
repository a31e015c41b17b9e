package drivertest

import (
	"context"
	"errors"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"assay/check"
	"assay/history"
	"assay/load"
	"assay/workload"
	"assay/workload/availability"
	"assay/workload/bulkupdate"
	"assay/workload/candles"
	"assay/workload/definition"
	"assay/workload/entity"
	"assay/workload/isolation"
	"assay/workload/keyvalue"
)

// work is a workload's Work as far as a short run needs it.
type work interface {
	Rows() int64
	Create(ctx context.Context, marker workload.Marker) error
	Load(ctx context.Context, loaded func(done, total int64)) error
	Client(ctx context.Context, n int) (load.Client, error)
	Observers() (clients []load.Client, perSecond float64)
	Settle(ctx context.Context) error
	Save(ctx context.Context, folder string, read func(rows int64)) error
}

// planOf is a closed loop of so many clients that do so many operations each,
// in at most so many attempts of what failed.
func planOf(clients, each, attempts int, seed uint64) load.Plan {
	p := load.Defaults()
	p.Clients, p.Ops, p.Warmup, p.Seed = clients, uint64(clients)*uint64(each), 0, seed
	if p.MaxAttempts = attempts; attempts > 1 {
		p.Retry = load.RetryFailed
	}
	return p
}

// judged makes the schema anew, does the work by the load engine, in rounds if it has
// them, reads the database back and has that judged: by the files of the history and
// of the state, which is named file in its folder.
func judged[J any](ctx context.Context, t testing.TB, name string, w work, plan load.Plan, file string, judge func(recorded, state string) (J, error)) J {
	t.Helper()
	folder := t.TempDir()
	recorded := filepath.Join(folder, "history")
	if err := do(ctx, name, w, plan, recorded); err != nil {
		t.Fatalf("do the work: %v", err)
	}
	return judgedBack(ctx, t, w, folder, func() (J, error) { return judge(recorded, filepath.Join(folder, file)) })
}

// judgedBack is the second half of judged: the work is done.
func judgedBack[J any](ctx context.Context, t testing.TB, w work, folder string, judge func() (J, error)) J {
	t.Helper()
	if err := errors.Join(w.Settle(ctx), w.Save(ctx, folder, func(int64) {})); err != nil {
		t.Fatalf("Settle, Save: %v", err)
	}
	j, err := judge()
	if err != nil {
		t.Fatalf("Judge: %v", err)
	}
	return j
}

// do makes the schema anew and does the work, recorded in a new file at path.
func do(ctx context.Context, name string, w work, plan load.Plan, path string) error {
	if err := w.Create(ctx, workload.Marker{Run: "judged", Workload: name, Created: time.Now().UTC(), Rows: w.Rows()}); err != nil {
		return err
	}
	if err := w.Load(ctx, func(int64, int64) {}); err != nil {
		return err
	}
	writer, err := history.Create(path, history.Header{Run: "judged", Workload: name})
	if err != nil {
		return err
	}
	began := time.Now()
	now := func() int64 { return time.Since(began).Nanoseconds() }
	rounds := []load.Round{{Clients: plan.Clients, Ops: plan.Ops, Client: w.Client}}
	if r, ok := w.(interface{ Rounds() []load.Round }); ok {
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
	return errors.Join(err, stop(), writer.Close())
}

// observe has the work's observers read until stop is called, and then a last
// time each, so that the state at the end was seen.
func observe(ctx context.Context, w work, recorder *following, now func() int64) (stop func() error) {
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

// prompt is a client for which the engine does not wait after a connection was
// lost: the tests' databases are back at once.
type prompt struct{ load.Client }

// Attempt implements load.Client.
func (p prompt) Attempt(ctx context.Context, seq uint64, attempt int) load.Answer {
	a := p.Client.Attempt(ctx, seq, attempt)
	a.Disconnected = false
	return a
}

// following records clients behind so many others, and nothing but what they do.
type following struct {
	*history.Writer
	first int
	count atomic.Int64
}

// Reserve implements load.Recorder.
func (f *following) Reserve(r history.Reservation) error {
	r.Client += f.first
	return f.Writer.Reserve(r)
}

// Record implements load.Recorder.
func (f *following) Record(op *history.Op) error {
	f.count.Add(1)
	moved := *op
	moved.Client += f.first
	return f.Writer.Record(&moved)
}

// Mark implements load.Recorder.
func (f *following) Mark(history.Event) error { return nil }

// mustBeValid fails the test unless every check is valid.
func mustBeValid(t testing.TB, results []check.Result) {
	t.Helper()
	for _, r := range results {
		if r.Verdict != check.Valid || r.Found != 0 {
			t.Errorf("%s is %v: %s %+v", r.Name, r.Verdict, r.Detail, r.Evidence)
		}
	}
}

// AvailabilityRun is a short run of the workload, for tests.
type AvailabilityRun struct {
	Config availability.Config
	Seed   uint64
	// Clients is how many insert at once, and Each how many operations each of
	// them does, in at most Attempts attempts, of which none takes longer than
	// Limit (0 for no limit).
	Clients, Each, Attempts int
	Limit                   time.Duration
}

// Judge makes the schema anew, does the run, with the readers reading all the
// time and at its end, reads the database back and judges it.
func (run AvailabilityRun) Judge(ctx context.Context, t testing.TB, store keyvalue.Store) availability.Judgement {
	t.Helper()
	w, err := availability.NewWork(store, run.Config, run.Seed)
	if err != nil {
		t.Fatal(err)
	}
	plan := availability.Plan(run.Config, planOf(run.Clients, run.Each, run.Attempts, run.Seed))
	if plan.Timeout = run.Limit; run.Limit == 0 {
		plan.Timeout = patience // a run by operations needs a limit
	}
	return judged(ctx, t, availability.Name, w, plan, availability.FileState, func(recorded, state string) (availability.Judgement, error) {
		return availability.Judge(run.Config, run.Seed, definition.Evidence{Promise: w.Promise(), History: recorded, State: state})
	})
}

// Valid is Judge, and fails the test unless every check is valid.
func (run AvailabilityRun) Valid(ctx context.Context, t testing.TB, store keyvalue.Store) availability.Judgement {
	t.Helper()
	j := run.Judge(ctx, t, store)
	mustBeValid(t, j.Results)
	return j
}

// EntityRun is a short run of the workload, for tests.
type EntityRun struct {
	Config entity.Config
	Seed   uint64
	// Clients is how many work at once, and Each how many operations each of
	// them does, in at most Attempts attempts.
	Clients, Each, Attempts int
}

// Judge makes the schema anew, does the run, reads the database back and judges
// it.
func (run EntityRun) Judge(ctx context.Context, t testing.TB, store keyvalue.Store) entity.Judgement {
	t.Helper()
	w, err := entity.NewWork(store, run.Config, run.Seed)
	if err != nil {
		t.Fatal(err)
	}
	plan := planOf(run.Clients, run.Each, run.Attempts, run.Seed)
	if run.Attempts > 1 {
		plan.Retry = load.RetryIdempotent
	}
	return judged(ctx, t, entity.Name, w, plan, entity.FileState, func(recorded, state string) (entity.Judgement, error) {
		return entity.Judge(run.Config, run.Seed, definition.Evidence{Promise: w.Promise(), History: recorded, State: state})
	})
}

// Valid is Judge, and fails the test unless every check is valid.
func (run EntityRun) Valid(ctx context.Context, t testing.TB, store keyvalue.Store) entity.Judgement {
	t.Helper()
	j := run.Judge(ctx, t, store)
	mustBeValid(t, j.Results)
	return j
}

// IsolationRun is a short run of the workload, for tests.
type IsolationRun struct {
	Config isolation.Config
	Seed   uint64
	// Clients is how many work at once, and Each how many operations each of
	// them does. One client alone makes a run that can be repeated exactly.
	Clients, Each int
	// Attempts is the most that are made of an operation that failed.
	Attempts int
}

// Judge makes the schema anew, does the run, reads the database back and
// judges it by the store's promise, or by Config.Model.
func (run IsolationRun) Judge(ctx context.Context, t testing.TB, store isolation.Store) isolation.Judgement {
	t.Helper()
	path := filepath.Join(t.TempDir(), "history")
	if err := run.Do(ctx, store, path); err != nil {
		t.Fatal(err)
	}
	return run.JudgeDone(ctx, t, store, path)
}

// Do makes the schema anew and does the run, recorded in a new file at path.
func (run IsolationRun) Do(ctx context.Context, store isolation.Store, path string) error {
	w, err := isolation.NewWork(store, run.Config, run.Seed)
	if err != nil {
		return err
	}
	return do(ctx, "isolation", w, planOf(run.Clients, run.Each, run.Attempts, run.Seed), path)
}

// JudgeDone reads the database back after Do, however that ended, and judges
// the run whose history is at path.
func (run IsolationRun) JudgeDone(ctx context.Context, t testing.TB, store isolation.Store, path string) isolation.Judgement {
	t.Helper()
	w, err := isolation.NewWork(store, run.Config, run.Seed)
	if err != nil {
		t.Fatal(err)
	}
	folder := t.TempDir()
	return judgedBack(ctx, t, w, folder, func() (isolation.Judgement, error) {
		return isolation.Judge(ctx, run.Config, run.Seed,
			definition.Evidence{History: path, State: filepath.Join(folder, isolation.FileState), Promise: store.Promise()})
	})
}

// BulkUpdateRun is a short run of the workload, for tests. Failed attempts are
// made again, Attempts times at most.
type BulkUpdateRun struct {
	Config   bulkupdate.Config
	Seed     uint64
	Attempts int
}

// Judge makes the schema anew, does the rounds, reads the database back and
// judges it.
func (run BulkUpdateRun) Judge(ctx context.Context, t testing.TB, store bulkupdate.Store) definition.Judgement {
	t.Helper()
	w, err := bulkupdate.NewWork(store, run.Config, run.Seed)
	if err != nil {
		t.Fatal(err)
	}
	plan := planOf(1, 1, run.Attempts, run.Seed)
	return judged(ctx, t, bulkupdate.Name, w, plan, bulkupdate.FileState, func(recorded, state string) (definition.Judgement, error) {
		return bulkupdate.Judge(run.Config, run.Seed, definition.Evidence{Promise: w.Promise(), History: recorded, State: state})
	})
}

// Valid is Judge, and fails the test unless every check is valid.
func (run BulkUpdateRun) Valid(ctx context.Context, t testing.TB, store bulkupdate.Store) definition.Judgement {
	t.Helper()
	j := run.Judge(ctx, t, store)
	mustBeValid(t, j.Results)
	return j
}

// JudgeCandles does the rounds of a run on the store and judges its files.
func JudgeCandles(ctx context.Context, t testing.TB, store candles.Store, config candles.Config, seed uint64) candles.Judgement {
	t.Helper()
	w, err := candles.NewWork(ctx, store, config, seed, 2)
	if err != nil {
		t.Fatal(err)
	}
	return judged(ctx, t, candles.Name, w, planOf(1, 1, 1, seed), candles.FileState, func(recorded, state string) (candles.Judgement, error) {
		return candles.Judge(config, seed, candles.Evidence{History: recorded, State: state})
	})
}

// ShortRun is a short run of a workload, by its definition, for tests.
type ShortRun struct {
	Workload definition.Workload
	Config   definition.Config
	Seed     uint64
	// Clients is how many work at once, and Each how many operations each of them does,
	// in at most Attempts attempts.
	Clients, Each, Attempts int
}

// Judge makes the schema anew, does the run, reads the database back and judges it by the
// store's promise, or by the model in Config.
func (run ShortRun) Judge(ctx context.Context, t testing.TB, store workload.Store) definition.Judgement {
	t.Helper()
	w, err := run.Config.Open(ctx, store, run.Seed, run.Clients)
	if err != nil {
		t.Fatal(err)
	}
	plan := planOf(run.Clients, run.Each, run.Attempts, run.Seed)
	return judged(ctx, t, run.Workload.Name, w, plan, run.Workload.State, func(recorded, state string) (definition.Judgement, error) {
		return run.Config.Judge(ctx, run.Seed, definition.Evidence{Promise: w.Promise(), History: recorded, State: state})
	})
}
