package runner

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"assay/check"
	"assay/report"
	"assay/runner/lease"
	"assay/store"
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
	// Gone is what there was instead of the run on servers of its own; empty if it was there.
	Gone string `json:"gone,omitempty"`
	// Unread is what was there and could not be read.
	Unread store.Unread `json:"unread,omitzero"`
	// Size is what the data took on disk; nil if the database did not tell.
	Size *store.Size `json:"size,omitempty"`
}

// readBack saves the state of the database in the run's folder, if it is own's
// run's before and after it is read: a schema that is replaced meanwhile would
// be taken for one that has lost its rows. So would one that somebody emptied;
// written is how many operations were acknowledged. A state that was saved earlier is
// replaced by a good one only.
//
// unread gets what is there and cannot be read.
func readBack(ctx context.Context, db definition.Work, folder string, s Scenario, own *lease.Lease, written int64, unread *store.Unread, p Progress) error {
	p.Stage("reading everything back")
	if err := own.Confirm(ctx); err != nil {
		return err
	}
	state := filepath.Join(folder, s.definition().State)
	earlier := state + ".earlier"
	if err := os.Rename(state, earlier); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("keep the state that was read earlier: %w", err)
	}
	reading := own.Reading(ctx)
	err := save(reading, db, folder, s, unread, func(rows int64) { p.Rows(rows, 0) })
	if err == nil {
		err = own.Confirm(ctx)
	}
	// Rows that are gone after a fault on servers that nobody else knows were lost by it.
	if err == nil && !s.cutsPower() && !s.UseExisting && !(own.Terms.Alone && len(s.Faults) > 0) {
		err = notEmptied(reading, db, written)
	}
	if err == nil {
		return removed(earlier)
	}
	if restored := os.Rename(earlier, state); restored == nil || !errors.Is(restored, fs.ErrNotExist) {
		return errors.Join(err, restored)
	}
	return errors.Join(err, removed(state))
}

// save is db.Save. A table that is not there is passed over by another reading, and a row that
// cannot be decoded, unless it is one of a user's.
func save(ctx context.Context, db definition.Work, folder string, s Scenario, unread *store.Unread, rows func(int64)) error {
	if s.UseExisting {
		return db.Save(ctx, folder, rows)
	}
	for known := []string(nil); ; {
		reading, found := store.WithUnread(ctx, known)
		err := db.Save(reading, folder, rows)
		missing := (*store.NoTableError)(nil)
		if errors.As(err, &missing) && len(found.Tables) > len(known) {
			known = found.Tables
			continue
		}
		*unread = *found
		return err
	}
}

// readApart is what a run's folder tells of what was restored, and of what could not be read.
func readApart(folder, run string) (restored []definition.Restored, unread store.Unread, err error) {
	if restored, err = restoredStates(folder); err != nil {
		return nil, unread, err
	}
	record, _, err := loadReadBack(folder, run)
	return restored, record.Unread, err
}

// checkReadable is the check of a run of which rows could not be read.
const checkReadable = "readable"

// readable is the check that all rows could be read; none if they could.
func readable(unread store.Unread) []check.Result {
	if unread.Rows == 0 {
		return nil
	}
	return []check.Result{{Name: checkReadable, Verdict: check.Violated, Found: unread.Rows,
		Detail:   fmt.Sprintf("%s cannot be read: %s", check.Counted(unread.Rows, "row", "rows"), unread.First),
		Findings: []check.Finding{{Kind: "unreadable row", Found: unread.Rows}}}}
}

// notesOf say which tables are not there.
func notesOf(unread store.Unread) (notes []string) {
	for _, table := range unread.Tables {
		notes = append(notes, fmt.Sprintf("table %s is not there any more: what was in it counts as lost", table))
	}
	return notes
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
// run, gives an *report.InputError.
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
		return record, false, &report.InputError{Path: path, Err: fmt.Errorf("cannot be read: %w", err)}
	}
	if record.Run != run {
		return record, false, &report.InputError{Path: path, Err: fmt.Errorf("is that of run %s, not %s", record.Run, run)}
	}
	return record, true, nil
}

// enough is how many rows must be gone at once, and none left, to call their table
// emptied.
const enough = 20

// notEmptied returns an *EmptiedError if the mark is there and not one row of
// all that were loaded or, if nothing is loaded, of all that the clients were
// told to be written. A database that loses rows loses those that a failure
// caught, and its mark with them where it loses everything; that all rows of all tables
// are gone and the mark beside them is not is what DELETE or TRUNCATE leaves.
//
// Rows that are left in another table are evidence: what they hold was written by the
// operations whose rows are gone, or before these, and is judged with them.
func notEmptied(ctx context.Context, db definition.Work, written int64) error {
	loaded := db.Rows()
	if max(loaded, written) < enough {
		return nil
	}
	found, err := db.Find(ctx)
	if err != nil || found == nil || found.Rows > 0 {
		return err
	}
	// Find may count one table of several.
	size, err := db.Size(ctx)
	if err != nil || len(size.Rows) == 0 && loaded < enough {
		return err
	}
	for name, rows := range size.Rows {
		if rows > 0 && !strings.HasPrefix(name, store.StrikesPrefix) {
			return nil
		}
	}
	return &EmptiedError{Expected: max(loaded, written)}
}

// EmptiedError means that no table of ours holds anything any more.
type EmptiedError struct {
	// Expected is how many rows were loaded, or else how many operations were
	// acknowledged.
	Expected int64
}

func (e *EmptiedError) Error() string {
	return fmt.Sprintf("none of %s is left, though the mark beside them is; somebody emptied the tables while the run went on, "+
		"or the database lost all rows at once: its log says which", check.Counted(e.Expected, "loaded row or acknowledged operation", "loaded rows or acknowledged operations"))
}

// withhold takes back the convictions of a run whose database could not be read
// back. What its clients were told may be of another schema than the one that
// the run made, since nobody knows when that was replaced. The evidence stays.
func withhold(results []check.Result, why string) {
	for i := range results {
		if r := &results[i]; r.Verdict == check.Violated || r.Verdict == check.Allowed {
			r.Verdict = check.Unknown
			r.Detail = "not judged: " + why + "; the history alone shows: " + r.Detail
		}
	}
}
