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
			err = round.Ready(ctx)
		}
		open := func(n int) (attempt attemptOf, end func(), err error) {
			client, err := round.Client(ctx, n)
			if err != nil {
				return nil, nil, err
			}
			return func(ctx context.Context, op *history.Op) bool {
				a := client.Attempt(ctx, op.Seq, op.Attempt)
				op.Kind, op.Outcome, op.Error, op.Values = a.Kind, a.Outcome, a.Class, a.Values
				return a.Done
			}, client.Close, nil
		}
		if err == nil {
			err = run.round(ctx, stretch{first: first, clients: round.Clients, ops: round.Ops, open: open}, writer, start)
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

// stretch is one round: the number of its first client, how many there are, how
// many operations they do together, and how a client is opened.
type stretch struct {
	first, clients int
	ops            uint64
	open           func(n int) (attempt attemptOf, end func(), err error)
}

// round does and records the operations of one round.
func (run BulkUpdateRun) round(ctx context.Context, s stretch, writer *history.Writer, start time.Time) error {
	var taken atomic.Uint64
	var group errgroup.Group
	for n := range s.clients {
		attempt, end, err := s.open(n)
		if err != nil {
			return errors.Join(err, group.Wait())
		}
		group.Go(func() error {
			defer end()
			if err := writer.Reserve(history.Reservation{Client: s.first + n, UpTo: s.ops}); err != nil {
				return err
			}
			for seq := uint64(0); taken.Add(1) <= s.ops; seq++ {
				op := history.Op{Client: s.first + n, Seq: seq}
				for op.Attempt = 1; !op.Last; op.Attempt++ {
					op.Start = time.Since(start).Nanoseconds()
					attempt(ctx, &op)
					op.End = time.Since(start).Nanoseconds()
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
