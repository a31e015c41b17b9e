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
	"assay/workload/entity"
)

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
func (run EntityRun) Judge(ctx context.Context, t testing.TB, store entity.Store) entity.Judgement {
	t.Helper()
	folder := t.TempDir()
	e := entity.Evidence{History: filepath.Join(folder, "history"), State: filepath.Join(folder, entity.FileState)}
	w, err := entity.NewWork(store, run.Config, run.Seed)
	if err != nil {
		t.Fatal(err)
	}
	e.Promise = w.Promise()
	mark := workload.Mark{Run: "judged", Workload: "entity", Created: time.Now().UTC(), Rows: w.Rows()}
	if err := errors.Join(w.Create(ctx, mark), w.Load(ctx, func(int64, int64) {})); err != nil {
		t.Fatalf("Create and Load: %v", err)
	}
	writer, err := history.Create(e.History, history.Header{Run: "judged"})
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(run.work(ctx, w, writer), writer.Close()); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(w.Settle(ctx), w.Save(ctx, folder, func(int64) {})); err != nil {
		t.Fatalf("Settle and Save: %v", err)
	}
	judged, err := entity.Judge(run.Config, run.Seed, e)
	if err != nil {
		t.Fatalf("Judge: %v", err)
	}
	return judged
}

// Valid is Judge, and fails the test unless every check is valid.
func (run EntityRun) Valid(ctx context.Context, t testing.TB, store entity.Store) entity.Judgement {
	t.Helper()
	j := run.Judge(ctx, t, store)
	for _, r := range j.Results {
		if r.Verdict.String() != "valid" || r.Found != 0 {
			t.Errorf("%s is %v: %s %+v", r.Name, r.Verdict, r.Detail, r.Evidence)
		}
	}
	return j
}

// work has all clients do their operations and records them.
func (run EntityRun) work(ctx context.Context, w *entity.Work, writer *history.Writer) error {
	start := time.Now()
	now := func() int64 { return time.Since(start).Nanoseconds() }
	var all sync.WaitGroup
	failures := make([]error, run.Clients)
	for number := range run.Clients {
		client, err := w.Client(ctx, number)
		if err != nil {
			return err
		}
		defer client.Close()
		attempt := func(op *history.Op) (done bool) {
			a := client.Attempt(ctx, op.Seq, op.Attempt)
			op.Kind, op.Outcome, op.Error, op.Values = a.Kind, a.Outcome, a.Class, a.Values
			return a.Done
		}
		all.Go(func() { failures[number] = run.operations(number, attempt, writer, now) })
	}
	all.Wait()
	return errors.Join(failures...)
}

// operations does and records all operations of one client.
func (run EntityRun) operations(number int, attempt func(*history.Op) bool, writer *history.Writer, now func() int64) error {
	if err := writer.Reserve(history.Reservation{Client: number, UpTo: uint64(run.Each)}); err != nil {
		return err
	}
	for seq := range uint64(run.Each) {
		op := history.Op{Client: number, Seq: seq, First: now()}
		op.Due = op.First
		for op.Attempt = 1; !op.Last; op.Attempt++ {
			op.Start = now()
			done := attempt(&op)
			op.End = now()
			switch {
			case done:
				op.Final = history.Committed
			case op.Attempt == 1:
				op.Final = op.Outcome
			default:
				op.Final = op.Final.Then(op.Outcome)
			}
			op.Last = op.Final == history.Committed || op.Attempt >= run.Attempts
			if err := writer.Record(&op); err != nil {
				return err
			}
		}
	}
	return nil
}
