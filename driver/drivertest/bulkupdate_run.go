package drivertest

import (
	"context"
	"errors"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"assay/history"
	"assay/load"
	"assay/workload"
	"assay/workload/bulkupdate"
)

// BulkUpdateRun is a short run of the workload, for tests. Failed attempts are
// made again, Attempts times at most.
type BulkUpdateRun struct {
	Config   bulkupdate.Config
	Seed     uint64
	Attempts int
}

// Judge makes the schema anew, does the rounds, reads the database back and
// judges it.
func (run BulkUpdateRun) Judge(ctx context.Context, t testing.TB, store bulkupdate.Store) bulkupdate.Judgement {
	t.Helper()
	folder := t.TempDir()
	e := bulkupdate.Evidence{History: filepath.Join(folder, "history"),
		State: filepath.Join(folder, bulkupdate.FileState), Waits: filepath.Join(folder, bulkupdate.FileWaits)}
	w, err := bulkupdate.NewWork(store, run.Config, run.Seed)
	if err != nil {
		t.Fatal(err)
	}
	e.Promise = w.Promise()
	if err := w.Create(ctx, workload.Mark{Run: "judged", Workload: "bulkupdate", Created: time.Now().UTC()}); err != nil {
		t.Fatalf("Create: %v", err)
	}
	if err := w.Load(ctx, func(int64, int64) {}); err != nil {
		t.Fatalf("Load: %v", err)
	}
	writer, err := history.Create(e.History, history.Header{Run: "judged"})
	if err != nil {
		t.Fatal(err)
	}
	start, first := time.Now(), 0
	for _, round := range w.Rounds() {
		if err == nil {
			err = run.round(ctx, round, first, writer, start)
		}
		first += round.Clients
	}
	if err := errors.Join(err, writer.Close()); err != nil {
		t.Fatal(err)
	}
	if err := w.Settle(ctx); err != nil {
		t.Fatalf("Settle: %v", err)
	}
	if err := w.Save(ctx, folder, func(int64) {}); err != nil {
		t.Fatalf("Save: %v", err)
	}
	judged, err := bulkupdate.Judge(run.Config, run.Seed, e)
	if err != nil {
		t.Fatalf("Judge: %v", err)
	}
	return judged
}

// Valid is Judge, and fails the test unless every check is valid.
func (run BulkUpdateRun) Valid(ctx context.Context, t testing.TB, store bulkupdate.Store) bulkupdate.Judgement {
	t.Helper()
	j := run.Judge(ctx, t, store)
	for _, r := range j.Results {
		if r.Verdict.String() != "valid" || r.Found != 0 {
			t.Errorf("%s is %v: %s %+v", r.Name, r.Verdict, r.Detail, r.Evidence)
		}
	}
	return j
}

// round does and records the operations of one round.
func (run BulkUpdateRun) round(ctx context.Context, round load.Round, first int, writer *history.Writer, start time.Time) error {
	if err := round.Ready(ctx); err != nil {
		return err
	}
	var taken atomic.Uint64
	var group errgroup.Group
	for n := range round.Clients {
		client, err := round.Client(ctx, n)
		if err != nil {
			return errors.Join(err, group.Wait())
		}
		group.Go(func() error {
			defer client.Close()
			if err := writer.Reserve(history.Reservation{Client: first + n, UpTo: round.Ops}); err != nil {
				return err
			}
			for seq := uint64(0); taken.Add(1) <= round.Ops; seq++ {
				op := history.Op{Client: first + n, Seq: seq}
				for op.Attempt = 1; !op.Last; op.Attempt++ {
					op.Start = time.Since(start).Nanoseconds()
					a := client.Attempt(ctx, seq, op.Attempt)
					op.End = time.Since(start).Nanoseconds()
					op.Kind, op.Outcome, op.Error, op.Values = a.Kind, a.Outcome, a.Class, a.Values
					if op.Final = op.Final.Then(op.Outcome); op.Attempt == 1 {
						op.Final, op.First, op.Due = op.Outcome, op.Start, op.Start
					}
					op.Last = op.Outcome != history.Failed || op.Attempt >= run.Attempts
					if err := writer.Record(&op); err != nil {
						return err
					}
				}
			}
			return nil
		})
	}
	return group.Wait()
}
