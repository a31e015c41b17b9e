package study

import (
	"context"
	"fmt"

	"assay/check"
	"assay/workload"
)

// ReplacedError means that the database does not hold what this run made any
// more: its schema was dropped, renamed or made anew by somebody else. What is
// read there says nothing about the promises of the database.
type ReplacedError struct {
	// Found says what is there instead.
	Found string
}

func (e *ReplacedError) Error() string {
	return e.Found + "; somebody dropped, renamed or replaced it while the run went on, so nothing can be said of the database's promises"
}

// holdsRun returns nil if the database still holds what this run made, and else
// a *ReplacedError, or why it could not be asked.
func holdsRun(ctx context.Context, store workload.Store, run string) error {
	mark, err := store.Mark(ctx)
	switch {
	case err != nil:
		return fmt.Errorf("look for the mark of this run: %w", err)
	case mark == nil:
		return &ReplacedError{Found: "nothing that carries assay's mark is left of this run"}
	case mark.Run != run:
		return &ReplacedError{Found: fmt.Sprintf("the database holds run %s, and no longer %s", mark.Run, run)}
	}
	return nil
}

// withhold takes back the convictions of a run whose database could not be read
// back. What its clients were told may be of another schema than the one that
// the run made, since nobody knows when that was replaced. The evidence stays.
func withhold(results []check.Result, why string) {
	for i := range results {
		if r := &results[i]; r.Verdict == check.Violated {
			r.Verdict = check.Unknown
			r.Detail = "not judged: " + why + "; the history alone shows: " + r.Detail
		}
	}
}
