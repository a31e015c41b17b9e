package drivertest

import (
	"context"
	"errors"
	"path/filepath"
	"sync"
	"testing"

	"assay/history"
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
	w, err := entity.NewWork(store, run.Config, run.Seed)
	if err != nil {
		t.Fatal(err)
	}
	e := entity.Evidence{Promise: w.Promise()}
	folder, recorded := carryOut(ctx, t, "entity", w, func(writer *history.Writer) error { return run.work(ctx, w, writer) })
	e.History, e.State = recorded, filepath.Join(folder, entity.FileState)
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
	mustBeValid(t, j.Results)
	return j
}

// work has all clients do their operations and records them.
func (run EntityRun) work(ctx context.Context, w *entity.Work, writer *history.Writer) error {
	now := sinceNow()
	var all sync.WaitGroup
	failures := make([]error, run.Clients)
	for number := range run.Clients {
		client, err := w.Client(ctx, number)
		if err != nil {
			return err
		}
		defer client.Close()
		x := turn{client: number, operations: run.Each, attempts: run.Attempts, attempt: attemptBy(client)}
		all.Go(func() { failures[number] = x.do(ctx, writer, now) })
	}
	all.Wait()
	return errors.Join(failures...)
}
