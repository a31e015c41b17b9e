package drivertest

import (
	"context"
	"errors"
	"math/rand/v2"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"assay/history"
	"assay/workload"
	"assay/workload/isolation"
)

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
	if err := w.Create(ctx, workload.Marker{Run: "judged", Workload: "isolation", Created: time.Now().UTC()}); err != nil {
		return err
	}
	writer, err := history.Create(path, history.Header{Run: "judged"})
	if err != nil {
		return err
	}
	return errors.Join(run.work(ctx, w, writer), writer.Close())
}

// JudgeDone reads the database back after Do, however that ended, and judges
// the run whose history is at path.
func (run IsolationRun) JudgeDone(ctx context.Context, t testing.TB, store isolation.Store, path string) isolation.Judgement {
	t.Helper()
	if err := store.Settle(ctx); err != nil {
		t.Fatalf("Settle: %v", err)
	}
	e := isolation.Evidence{History: path, State: filepath.Join(t.TempDir(), isolation.FileState), Promise: store.Promise()}
	if err := isolation.Save(ctx, store, e.State, func(int64) {}); err != nil {
		t.Fatalf("Save: %v", err)
	}
	judged, err := isolation.Judge(ctx, run.Config, run.Seed, e)
	if err != nil {
		t.Fatalf("Judge: %v", err)
	}
	return judged
}

// work has all clients do their operations, from the same moment on, and
// records them.
func (run IsolationRun) work(ctx context.Context, w *isolation.Work, writer *history.Writer) error {
	attempts := make([]attemptOf, run.Clients)
	for number := range attempts {
		client, err := w.Client(ctx, number)
		if err != nil {
			return err
		}
		defer client.Close()
		if err := writer.Reserve(history.Reservation{Client: number, UpTo: uint64(run.Each)}); err != nil {
			return err
		}
		attempts[number] = attemptBy(client)
	}
	now := sinceNow()
	failures := make([]error, run.Clients)
	var all sync.WaitGroup
	for number, attempt := range attempts {
		all.Go(func() { failures[number] = run.operations(ctx, number, attempt, writer, now) })
	}
	all.Wait()
	return errors.Join(failures...)
}

// operations does and records all operations of one client.
func (run IsolationRun) operations(ctx context.Context, number int, attempt attemptOf, writer *history.Writer, now func() int64) error {
	for seq := range uint64(run.Each) {
		op := history.Op{Client: number, Seq: seq}
		for op.Attempt = 1; !op.Last; op.Attempt++ {
			op.Start = now()
			attempt(ctx, &op)
			op.End = now()
			op.Final = op.Outcome
			op.Last = op.Outcome != history.Failed || op.Attempt >= run.Attempts
			if err := writer.Record(&op); err != nil {
				return err
			}
			if !op.Last {
				pause(ctx, time.Duration(rand.Int64N(int64(op.Attempt)*int64(time.Millisecond))))
			}
		}
	}
	return nil
}
