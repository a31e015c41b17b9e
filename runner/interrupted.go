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

// InterruptedError is a run that was asked to end before its work began. Nothing was measured
// or judged.
type InterruptedError struct {
	// During is the stage: "loading, with 1,200 of 5,000 rows in".
	During string
	Left   string
	Err    error
}

func (e *InterruptedError) Error() string {
	return fmt.Sprintf("interrupted while %s: nothing was measured or judged, and %s", e.During, e.Left)
}

func (e *InterruptedError) Unwrap() error { return e.Err }

// loading counts loaded rows and passes them on. It is safe for concurrent use.
type loading struct {
	done     atomic.Int64
	progress Progress
}

func (l *loading) rows(done, total int64) {
	l.done.Store(done)
	l.progress.Rows(done, total)
}

// interrupted returns err or, if ctx ended before the first operation, an *InterruptedError. It
// removes the data if the scenario says so, and writes the result.
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

func (r *run) loadingWords(l *loading) string {
	return fmt.Sprintf("loading, with %s of %s in", check.Count(l.done.Load()), check.Counted(r.store.Rows(), "row", "rows"))
}

// overtaken is the error of a run whose schema another run has taken. It writes the result,
// whose verdict stays unknown.
func (r *run) overtaken(lost error) error {
	err := fmt.Errorf("another run has taken the database from run %s, which is not judged: %w", r.id, lost)
	if r.result == nil {
		return err
	}
	r.result.Measurement = report.Measurement{Verdict: invalid, Reasons: []string{err.Error()}}
	return errors.Join(err, writeResult(r.folder, r.result))
}
