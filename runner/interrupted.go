package runner

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"

	"assay/check"
	"assay/report"
	"assay/store"
)

// InterruptedError is a run that was asked to end before its work began:
// nothing was measured, and there is nothing to judge. What it had made is gone
// or is named.
type InterruptedError struct {
	// During is what the run was doing: "loading, with 1,200 of 5,000 rows in".
	During string
	// Left says what there still is of the run.
	Left string
	// Err is what the interrupted stage returned.
	Err error
}

func (e *InterruptedError) Error() string {
	return fmt.Sprintf("interrupted while %s: nothing was measured or judged, and %s", e.During, e.Left)
}

func (e *InterruptedError) Unwrap() error { return e.Err }

// loading counts the rows that are in while it hands them on. It is safe for
// concurrent use.
type loading struct {
	done     atomic.Int64
	progress Progress
}

func (l *loading) rows(done, total int64) {
	l.done.Store(done)
	l.progress.Rows(done, total)
}

// interrupted is err, or, if ctx has ended before the first operation, the
// *InterruptedError of a run whose data stays or, if that was asked for, is
// removed. The folder's result says the same.
func (r *run) interrupted(ctx context.Context, err error, during string) error {
	if lost := r.lease.IsLost(); lost != nil && err != nil {
		return r.overtaken(lost)
	}
	if ctx.Err() == nil || err == nil {
		return err
	}
	e := &InterruptedError{During: during, Err: err}
	switch {
	case r.result == nil:
		e.Left = "nothing was made in the database"
	case r.scenario.Drop:
		e.Left = "what was loaded was removed again"
		if failed := r.store.Drop(context.WithoutCancel(ctx)); failed != nil {
			e.Left = fmt.Sprintf("what was loaded could not be removed (%v)", failed)
		}
	case r.scenario.Cluster != "":
		e.Left = "its servers and what was loaded into them are gone"
	case r.driver.Name == "mem":
		e.Left = "what was loaded is gone"
	default:
		e.Left = fmt.Sprintf("what was loaded stays in %s with assay's mark until the next run of %s replaces it", store.Redact(r.address), r.scenario.Workload)
	}
	if r.result == nil {
		return e
	}
	r.result.Measurement = report.Measurement{Verdict: invalid, Reasons: []string{e.Error()}}
	if failed := writeResult(r.folder, r.result); failed != nil {
		e.Left += fmt.Sprintf(" (%v)", failed)
	}
	return e
}

// loadingWords says how far loading has come.
func (r *run) loadingWords(l *loading) string {
	return fmt.Sprintf("loading, with %s of %s in", check.Count(l.done.Load()), check.Counted(r.store.Rows(), "row", "rows"))
}

// overtaken is the error of a run whose schema another has taken, and enters it in
// the run's result, which keeps the verdict unknown.
func (r *run) overtaken(lost error) error {
	err := fmt.Errorf("another run has taken the database from run %s, which is not judged: %w", r.id, lost)
	if r.result == nil {
		return err
	}
	r.result.Measurement = report.Measurement{Verdict: invalid, Reasons: []string{err.Error()}}
	return errors.Join(err, writeResult(r.folder, r.result))
}
