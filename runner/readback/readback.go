// Package readback reads a run's database back into the run's folder, once nothing of the run is in
// flight: what it has saved is all that the run is judged by. It tells rows that a database lost
// from a schema that somebody replaced, and from tables that somebody emptied.
//
// It must not know what the rows mean, nor how the run went.
package readback

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"assay/check"
	"assay/history"
	"assay/report"
	"assay/runner/lease"
	"assay/store"
	"assay/workload/definition"
)

// File is the name of the file that tells, beside the saved state, how
// the database was read back. It is written after the state, whether the run
// itself or a later assay check has read it, so that every judgement of the
// folder knows the same.
const File = "readback.json"

// FileRestored is the name of the file that tells of the backups that were restored, and
// where the state of each is in the run's folder.
const FileRestored = "restored.json"

// SettleTimeout bounds the wait for what the database still has in flight
// after the last client has gone. It is longer than MongoDB keeps a
// transaction that nobody ends (transactionLifetimeLimitSeconds, 60 s).
const SettleTimeout = 90 * time.Second

// Database is what a run has worked on, as far as it is read back: a definition.Work.
type Database interface {
	// Rows is how many rows were loaded.
	Rows() int64
	// Save reads all of it into the folder.
	Save(ctx context.Context, folder string, read func(rows int64)) error
	Find(ctx context.Context) (*store.Leftover, error)
	Size(ctx context.Context) (store.Size, error)
}

// Own tells whether the database holds what the run has made: a lease.Lease.
type Own interface {
	// Confirm returns nil if it does, and else why not.
	Confirm(ctx context.Context) error
	// Reading is the context with which that is read.
	Reading(ctx context.Context) context.Context
}

// Reading is how a database is read back.
type Reading struct {
	// Folder is the run's, and State the name of the file that Save writes last into it.
	Folder, State string
	// Existing is true of tables that are a user's: that one is not there, or a row that cannot
	// be decoded, is an error.
	Existing bool
	// MayBeEmpty is true where the database itself may have lost all rows: no rows are no sign
	// of somebody who emptied the tables.
	MayBeEmpty bool
	// Acknowledged is how many operations the database has told clients to be committed.
	Acknowledged int64
	// Progress is told how many rows were read.
	Progress func(rows int64)
}

// Save saves the state of the database in the run's folder, if it is own's
// run's before and after it is read: a schema that is replaced meanwhile would
// be taken for one that has lost its rows. So would one that somebody emptied.
// A state that was saved earlier is replaced by a good one only. unread is what
// is there and cannot be read.
//
// Errors are those of own and of the database, and *EmptiedError.
func (o Reading) Save(ctx context.Context, db Database, own Own) (unread store.Unread, err error) {
	if err := own.Confirm(ctx); err != nil {
		return unread, err
	}
	state := filepath.Join(o.Folder, o.State)
	earlier := state + ".earlier"
	if err := os.Rename(state, earlier); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return unread, fmt.Errorf("keep the state that was read earlier: %w", err)
	}
	reading := own.Reading(ctx)
	unread, err = o.read(reading, db)
	if err == nil {
		err = own.Confirm(ctx)
	}
	if err == nil && !o.Existing && !o.MayBeEmpty {
		err = notEmptied(reading, db, o.Acknowledged)
	}
	if err == nil {
		return unread, removed(earlier)
	}
	if restored := os.Rename(earlier, state); restored == nil || !errors.Is(restored, fs.ErrNotExist) {
		return unread, errors.Join(err, restored)
	}
	return unread, errors.Join(err, removed(state))
}

// read is db.Save. A table that is not there is passed over by another reading, and a row that
// cannot be decoded, unless it is one of a user's.
func (o Reading) read(ctx context.Context, db Database) (unread store.Unread, err error) {
	if o.Existing {
		return unread, db.Save(ctx, o.Folder, o.Progress)
	}
	for known := []string(nil); ; {
		reading, found := store.WithUnread(ctx, known)
		err := db.Save(reading, o.Folder, o.Progress)
		missing := (*store.NoTableError)(nil)
		if errors.As(err, &missing) && len(found.Tables) > len(known) {
			known = found.Tables
			continue
		}
		return *found, err
	}
}

// removed removes a file that may not be there.
func removed(path string) error {
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
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
func notEmptied(ctx context.Context, db Database, written int64) error {
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

// Instead says what there is instead of the run, if the error of Save says that nothing is left of
// it; empty if it does not say so.
func Instead(err error) string {
	replaced, emptied := (*lease.ReplacedError)(nil), (*EmptiedError)(nil)
	switch {
	case errors.As(err, &replaced):
		return replaced.Found
	case errors.As(err, &emptied):
		return "the tables hold nothing"
	}
	return ""
}

// Record tells how a database was read back.
type Record struct {
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

// Write writes the record into a run's folder, whole or not at all.
func (r Record) Write(folder string) error { return history.WriteJSON(filepath.Join(folder, File), r) }

// Load reads the record of a run's folder; known is false if the folder has none, as
// those of earlier versions have. A record that cannot be read, or of another
// run, gives an *report.InputError.
func Load(folder, run string) (record Record, known bool, err error) {
	path := filepath.Join(folder, File)
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
		return record, false, &report.InputError{Path: path, Err: fmt.Errorf("belongs to run %s, not %s", record.Run, run)}
	}
	return record, true, nil
}

// Restored are the states of restored backups that a run's folder holds.
func Restored(folder string) ([]definition.Restored, error) {
	all, err := definition.ReadJSON[[]definition.Restored](filepath.Join(folder, FileRestored))
	for i := range all {
		if all[i].State != "" {
			all[i].State = filepath.Join(folder, all[i].State)
		}
	}
	return all, err
}
