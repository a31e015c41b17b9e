package runner

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"assay/workload"
	"assay/workload/definition"
)

// FileReadBack is the name of the file that tells, beside the saved state, how
// the database was read back. It is written after the state, whether the run
// itself or a later assay check has read it, so that every judgement of the
// folder knows the same.
const FileReadBack = "readback.json"

// readBackRecord is what FileReadBack holds.
type readBackRecord struct {
	// Run is the run whose state was read.
	Run string `json:"run"`
	// InFlight says why operations may still have been in flight; empty if all
	// had settled.
	InFlight string `json:"in_flight"`
	// Size is what the data took on disk; nil if the database did not tell.
	Size *workload.Size `json:"size,omitempty"`
}

// readBack saves the state of the database in the run's folder, if it is own's
// run's before and after it is read: a schema that is replaced meanwhile would
// be taken for one that has lost its rows. So would one that somebody emptied;
// written is how many operations were acknowledged. A state that was saved earlier is
// replaced by a good one only.
func readBack(ctx context.Context, store definition.Work, folder string, s Scenario, own *lease, written int64, p Progress) error {
	p.Stage("reading everything back")
	if err := own.confirm(ctx); err != nil {
		return err
	}
	state := filepath.Join(folder, s.definition().State)
	earlier := state + ".earlier"
	if err := os.Rename(state, earlier); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("keep the state that was read earlier: %w", err)
	}
	err := store.Save(ctx, folder, func(rows int64) { p.Rows(rows, 0) })
	if err == nil {
		err = own.confirm(ctx)
	}
	if err == nil && !s.cutsPower() {
		err = notEmptied(ctx, store, written)
	}
	if err == nil {
		return removed(earlier)
	}
	if restored := os.Rename(earlier, state); restored == nil || !errors.Is(restored, fs.ErrNotExist) {
		return errors.Join(err, restored)
	}
	return errors.Join(err, removed(state))
}

// removed removes a file that may not be there.
func removed(path string) error {
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

func writeReadBack(folder string, record readBackRecord) error {
	return WriteJSON(filepath.Join(folder, FileReadBack), "the record of reading back", record)
}

// loadReadBack reads the record; known is false if the folder has none, as
// those of earlier versions have. A record that cannot be read, or of another
// run, gives an *InputError.
func loadReadBack(folder, run string) (record readBackRecord, known bool, err error) {
	path := filepath.Join(folder, FileReadBack)
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return record, false, nil
	}
	if err == nil {
		err = json.Unmarshal(text, &record)
	}
	if err != nil {
		return record, false, &InputError{Path: path, Err: fmt.Errorf("cannot be read: %w", err)}
	}
	if record.Run != run {
		return record, false, &InputError{Path: path, Err: fmt.Errorf("is that of run %s, not %s", record.Run, run)}
	}
	return record, true, nil
}
