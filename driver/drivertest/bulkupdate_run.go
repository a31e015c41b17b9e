package drivertest

import (
	"context"
	"errors"
	"path/filepath"
	"sync/atomic"
	"testing"

	"golang.org/x/sync/errgroup"

	"assay/history"
	"assay/load"
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
	w, err := bulkupdate.NewWork(store, run.Config, run.Seed)
	if err != nil {
		t.Fatal(err)
	}
	e := bulkupdate.Evidence{Promise: w.Promise()}
	folder, recorded := carryOut(ctx, t, "bulkupdate", w, func(writer *history.Writer) error { return run.work(ctx, w, writer) })
	e.History, e.State = recorded, filepath.Join(folder, bulkupdate.FileState)
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
	mustBeValid(t, j.Results)
	return j
}

// work does and records the rounds.
func (run BulkUpdateRun) work(ctx context.Context, w *bulkupdate.Work, writer *history.Writer) error {
	now, first := sinceNow(), 0
	for _, round := range w.Rounds() {
		if err := round.Ready(ctx); err != nil {
			return err
		}
		if err := run.round(ctx, round, first, writer, now); err != nil {
			return err
		}
		first += round.Clients
	}
	return nil
}

// round does and records the operations of one round, whose clients have the
// numbers from first on.
func (run BulkUpdateRun) round(ctx context.Context, round load.Round, first int, writer *history.Writer, now func() int64) error {
	var taken atomic.Uint64
	var group errgroup.Group
	for n := range round.Clients {
		client, err := round.Client(ctx, n)
		if err != nil {
			return errors.Join(err, group.Wait())
		}
		attempt := attemptBy(client)
		group.Go(func() error {
			defer client.Close()
			if err := writer.Reserve(history.Reservation{Client: first + n, UpTo: round.Ops}); err != nil {
				return err
			}
			for seq := uint64(0); taken.Add(1) <= round.Ops; seq++ {
				op := history.Op{Client: first + n, Seq: seq}
				for op.Attempt = 1; !op.Last; op.Attempt++ {
					op.Start = now()
					attempt(ctx, &op)
					op.End = now()
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
