package drivertest

import (
	"context"
	"errors"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"assay/history"
	"assay/workload"
	"assay/workload/availability"
)

// AvailabilityRun is a short run of the workload, for tests.
type AvailabilityRun struct {
	Config availability.Config
	Seed   uint64
	// Clients is how many insert at once, and Each how many operations each of
	// them does, in at most Attempts attempts, of which none takes longer than
	// Limit (0 for no limit).
	Clients, Each, Attempts int
	Limit                   time.Duration
	// Reads is how many reads each reader makes at least.
	Reads uint64
}

// Judge makes the schema anew, does the run, with the readers reading all the
// time and once more at its end, reads the database back and judges it.
func (run AvailabilityRun) Judge(ctx context.Context, t testing.TB, store availability.Store) availability.Judgement {
	t.Helper()
	folder := t.TempDir()
	e := availability.Evidence{History: filepath.Join(folder, "history"), State: filepath.Join(folder, availability.FileState)}
	w, err := availability.NewWork(store, run.Config, run.Seed)
	if err != nil {
		t.Fatal(err)
	}
	e.Promise = w.Promise()
	if err := w.Create(ctx, workload.Mark{Run: "judged", Workload: "availability", Created: time.Now().UTC()}); err != nil {
		t.Fatalf("Create: %v", err)
	}
	writer, err := history.Create(e.History, history.Header{Run: "judged"})
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(run.work(ctx, w, writer), writer.Close()); err != nil {
		t.Fatal(err)
	}
	if err := w.Settle(ctx); err != nil {
		t.Fatalf("Settle: %v", err)
	}
	if err := w.Save(ctx, folder, func(int64) {}); err != nil {
		t.Fatalf("Save: %v", err)
	}
	judged, err := availability.Judge(run.Config, run.Seed, e)
	if err != nil {
		t.Fatalf("Judge: %v", err)
	}
	return judged
}

// Valid is Judge, and fails the test unless every check is valid.
func (run AvailabilityRun) Valid(ctx context.Context, t testing.TB, store availability.Store) availability.Judgement {
	t.Helper()
	j := run.Judge(ctx, t, store)
	for _, r := range j.Results {
		if r.Verdict.String() != "valid" || r.Found != 0 {
			t.Errorf("%s: %s is %v: %s %+v", run.Config.Policy, r.Name, r.Verdict, r.Detail, r.Evidence)
		}
	}
	return j
}

// attemptOf does one attempt of an operation and enters its answer.
type attemptOf func(ctx context.Context, op *history.Op) (done bool)

// work has all clients do their operations and records them.
func (run AvailabilityRun) work(ctx context.Context, w *availability.Work, writer *history.Writer) error {
	start := time.Now()
	now := func() int64 { return time.Since(start).Nanoseconds() }
	var writers, readers sync.WaitGroup
	over := make(chan struct{})
	observers, _ := w.Observers()
	failures := make([]error, run.Clients+len(observers))
	for number := range run.Clients {
		client, err := w.Client(ctx, number)
		if err != nil {
			return err
		}
		defer client.Close()
		attempt := func(ctx context.Context, op *history.Op) bool {
			a := client.Attempt(ctx, op.Seq, op.Attempt)
			op.Kind, op.Outcome, op.Error, op.Values = a.Kind, a.Outcome, a.Class, a.Values
			return a.Done
		}
		writers.Go(func() { failures[number] = run.inserts(ctx, number, attempt, writer, now) })
	}
	for i, client := range observers {
		defer client.Close()
		attempt := func(ctx context.Context, op *history.Op) bool {
			a := client.Attempt(ctx, op.Seq, op.Attempt)
			op.Kind, op.Outcome, op.Error, op.Values = a.Kind, a.Outcome, a.Class, a.Values
			return false
		}
		readers.Go(func() {
			failures[run.Clients+i] = run.gets(ctx, run.Clients+i, over, attempt, writer, now)
		})
	}
	writers.Wait()
	close(over)
	readers.Wait()
	return errors.Join(failures...)
}

func (run AvailabilityRun) limited(ctx context.Context) (context.Context, context.CancelFunc) {
	if run.Limit == 0 {
		return context.WithCancel(ctx)
	}
	return context.WithTimeout(ctx, run.Limit)
}

// inserts does and records all operations of one writer, with the repetitions
// of the policy.
func (run AvailabilityRun) inserts(ctx context.Context, number int, attempt attemptOf, writer *history.Writer, now func() int64) error {
	if err := writer.Reserve(history.Reservation{Client: number, UpTo: uint64(run.Each)}); err != nil {
		return err
	}
	policy := run.Config.Policy
	repeats := policy == availability.PolicyRetry || policy == availability.PolicyIdempotent
	for seq := range uint64(run.Each) {
		op := history.Op{Client: number, Seq: seq, First: now()}
		op.Due = op.First
		for op.Attempt = 1; !op.Last; op.Attempt++ {
			limited, cancel := run.limited(ctx)
			op.Start = now()
			done := attempt(limited, &op)
			op.End = now()
			cancel()
			switch {
			case done:
				op.Final = history.Committed
			case op.Attempt == 1:
				op.Final = op.Outcome
			default:
				op.Final = op.Final.Then(op.Outcome)
			}
			op.Last = !repeats || op.Final == history.Committed || op.Attempt >= run.Attempts
			if err := writer.Record(&op); err != nil {
				return err
			}
			if !op.Last {
				pause(ctx, 2*time.Millisecond)
			}
		}
	}
	return nil
}

// gets reads until the writers are done, and a last time.
func (run AvailabilityRun) gets(ctx context.Context, number int, over <-chan struct{}, attempt attemptOf, writer *history.Writer, now func() int64) error {
	for seq := uint64(0); ; seq++ {
		last := false
		select {
		case <-over:
			last = seq+1 >= run.Reads
		default:
		}
		if seq%1024 == 0 {
			if err := writer.Reserve(history.Reservation{Client: number, UpTo: seq + 1024}); err != nil {
				return err
			}
		}
		limited, cancel := run.limited(ctx)
		op := history.Op{Client: number, Seq: seq, Attempt: 1, Last: true, Start: now()}
		attempt(limited, &op)
		cancel()
		op.End, op.First, op.Due, op.Final = now(), op.Start, op.Start, op.Outcome
		if err := writer.Record(&op); err != nil || last {
			return err
		}
		if seq%16 == 15 { // leave the writers room
			pause(ctx, time.Millisecond)
		}
	}
}
