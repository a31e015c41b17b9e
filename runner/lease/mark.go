package lease

import (
	"context"
	"fmt"

	"assay/store"
)

// ReplacedError means that the database does not hold what this run made any
// more: its schema was dropped, renamed or made anew by somebody else, or the database
// itself has lost it, as one does that keeps its data in memory and is killed. Which of
// these is not known, so that what is read there says nothing about the promises of the
// database.
type ReplacedError struct {
	// Found says what is there instead.
	Found string
	// By is the run that is there instead, if one is.
	By string
}

func (e *ReplacedError) Error() string {
	return e.Found + "; either somebody dropped, renamed or replaced it while the run went on, or the database itself lost it, " +
		"which one that does not keep its data on disk does when it is killed"
}

// HoldsRun returns nil if the database still holds what this run made, and else
// a *ReplacedError, or why it could not be asked.
func HoldsRun(ctx context.Context, db store.Administration, run string) error {
	mark, err := db.Marker(ctx)
	switch {
	case err != nil:
		return fmt.Errorf("look for the mark of this run: %w", err)
	case mark == nil:
		return &ReplacedError{Found: "nothing that carries assay's mark is left of this run"}
	case mark.Run != run:
		return &ReplacedError{Found: fmt.Sprintf("the database holds run %s, and no longer %s", mark.Run, run), By: mark.Run}
	}
	return nil
}
