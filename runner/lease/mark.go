package lease

import (
	"context"
	"fmt"

	"assay/store"
)

// ReplacedError means that the database no longer holds this run's data. Somebody dropped,
// renamed or replaced the schema, or the database itself lost it, such as one in memory that was
// killed. Since the cause is unknown, its state says nothing about the database's promises.
type ReplacedError struct {
	Found string
	By    string
}

func (e *ReplacedError) Error() string {
	return e.Found + "; either somebody dropped, renamed or replaced it while the run went on, or the database itself lost it, " +
		"which one that does not keep its data on disk does when it is killed"
}

// HoldsRun returns nil if the database still holds this run's data. Otherwise it returns a
// *ReplacedError, or the error of asking.
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
