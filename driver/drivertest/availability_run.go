package drivertest

import (
	"context"
	"errors"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"assay/history"
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
	w, err := availability.NewWork(store, run.Config, run.Seed)
	if err != nil {
		t.Fatal(err)
	}
	e := availability.Evidence{Promise: w.Promise()}
	folder, recorded := carryOut(ctx, t, "availability", w, func(writer *history.Writer) error { return run.work(ctx, w, writer) })
	e.History, e.State = recorded, filepath.Join(folder, availability.FileState)
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
	mustBeValid(t, j.Results)
	return j
}

// work has all clients do their operations and records them.
func (run AvailabilityRun) work(ctx context.Context, w *availability.Work, writer *history.Writer) error {
	now := sinceNow()
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
		x := turn{client: number, operations: run.Each, attempts: run.attempts(), limit: run.Limit, attempt: attemptBy(client)}
		writers.Go(func() { failures[number] = x.do(ctx, writer, now) })
	}
	for i, client := range observers {
		defer client.Close()
		readers.Go(func() {
			failures[run.Clients+i] = run.gets(ctx, run.Clients+i, over, attemptBy(client), writer, now)
		})
	}
	writers.Wait()
	close(over)
	readers.Wait()
	return errors.Join(failures...)
}

// attempts is the most that are made of an insert: one, if the policy does not
// repeat it.
func (run AvailabilityRun) attempts() int {
	switch run.Config.Policy {
	case availability.PolicyRetry, availability.PolicyIdempotent:
		return run.Attempts
	default:
		return 1
	}
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
		limited, cancel := within(ctx, run.Limit)
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
