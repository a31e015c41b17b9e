package drivertest

import (
	"context"
	"errors"
	"path/filepath"
	"testing"
	"time"

	"assay/check"
	"assay/history"
	"assay/load"
	"assay/workload"
)

// phases are those of a workload's Work that a short run goes through.
type phases interface {
	Rows() int64
	Create(ctx context.Context, mark workload.Marker) error
	Load(ctx context.Context, loaded func(done, total int64)) error
	Settle(ctx context.Context) error
	Save(ctx context.Context, folder string, read func(rows int64)) error
}

// carryOut makes the schema anew, does the work, recorded in a file of the
// returned folder, and reads the database back into that folder.
func carryOut(ctx context.Context, t testing.TB, name string, w phases, work func(*history.Writer) error) (folder, recorded string) {
	t.Helper()
	must := func(doing string, err error) {
		t.Helper()
		if err != nil {
			t.Fatalf("%s: %v", doing, err)
		}
	}
	folder = t.TempDir()
	recorded = filepath.Join(folder, "history")
	must("Create", w.Create(ctx, workload.Marker{Run: "judged", Workload: name, Created: time.Now().UTC(), Rows: w.Rows()}))
	must("Load", w.Load(ctx, func(int64, int64) {}))
	writer, err := history.Create(recorded, history.Header{Run: "judged", Workload: name})
	must("create the history", err)
	must("work", errors.Join(work(writer), writer.Close()))
	must("Settle", w.Settle(ctx))
	must("Save", w.Save(ctx, folder, func(int64) {}))
	return folder, recorded
}

// mustBeValid fails the test unless every check is valid.
func mustBeValid(t testing.TB, results []check.Result) {
	t.Helper()
	for _, r := range results {
		if r.Verdict != check.Valid || r.Found != 0 {
			t.Errorf("%s is %v: %s %+v", r.Name, r.Verdict, r.Detail, r.Evidence)
		}
	}
}

// attemptOf does one attempt of an operation and enters its answer.
type attemptOf func(ctx context.Context, op *history.Op) (done bool)

func attemptBy(client load.Client) attemptOf {
	return func(ctx context.Context, op *history.Op) bool {
		a := client.Attempt(ctx, op.Seq, op.Attempt)
		op.Kind, op.Outcome, op.Error, op.Values = a.Kind, a.Outcome, a.Class, a.Values
		return a.Done
	}
}

// turn is what one client does of a run: so many operations, each in at most so
// many attempts, of which none takes longer than limit (0 for no limit).
type turn struct {
	client, operations, attempts int
	limit                        time.Duration
	attempt                      attemptOf
}

// do does and records all operations, in the time that now tells.
func (x turn) do(ctx context.Context, writer *history.Writer, now func() int64) error {
	if err := writer.Reserve(history.Reservation{Client: x.client, UpTo: uint64(x.operations)}); err != nil {
		return err
	}
	for seq := range uint64(x.operations) {
		op := history.Op{Client: x.client, Seq: seq, First: now()}
		op.Due = op.First
		for op.Attempt = 1; !op.Last; op.Attempt++ {
			limited, cancel := within(ctx, x.limit)
			op.Start = now()
			done := x.attempt(limited, &op)
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
			op.Last = op.Final == history.Committed || op.Attempt >= x.attempts
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

// within bounds a context by a limit, 0 for none.
func within(ctx context.Context, limit time.Duration) (context.Context, context.CancelFunc) {
	if limit == 0 {
		return context.WithCancel(ctx)
	}
	return context.WithTimeout(ctx, limit)
}

// sinceNow tells the nanoseconds since it was called.
func sinceNow() func() int64 {
	start := time.Now()
	return func() int64 { return time.Since(start).Nanoseconds() }
}
