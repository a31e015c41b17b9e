// Package readback reads a run's database back into the run's folder when nothing of the run is in
// flight. The run is judged by this state alone. It distinguishes lost rows from a replaced schema
// and from emptied tables.
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

// File is the name of the file that tells how the database was read back. The run or a later assay
// check writes it after the state, so that all judgements know the same.
const File = "readback.json"

// FileRestored is the name of the file with the restored backups and the paths of their states.
const FileRestored = "restored.json"

// SettleTimeout bounds the wait for what is still in flight after the last client has ended. It is
// longer than MongoDB keeps an abandoned transaction (transactionLifetimeLimitSeconds, 60 s).
const SettleTimeout = 90 * time.Second

// Database is the part of a definition.Work that reading back needs.
type Database interface {
	Rows() int64
	Save(ctx context.Context, folder string, read func(rows int64)) error
	Find(ctx context.Context) (*store.Leftover, error)
	Size(ctx context.Context) (store.Size, error)
}

// Own tells whether the database holds this run: a lease.Lease.
type Own interface {
	// Confirm returns nil if it does, and otherwise why not.
	Confirm(ctx context.Context) error
	// Reading is the context for reading the run's data.
	Reading(ctx context.Context) context.Context
}

// Reading is how a database is read back.
type Reading struct {
	// Folder is the run's folder. State is the file that Save writes last.
	Folder, State string
	// Existing is for a user's tables: a missing table or an undecodable row is an error.
	Existing bool
	// MayBeEmpty means that the database itself may have lost all rows, so that no rows are no
	// sign of tampering.
	MayBeEmpty   bool
	Acknowledged int64
	Progress     func(rows int64)
}

// Save saves the state of the database if it is own's run's before and after the reading. A schema
// that is replaced or emptied meanwhile would look like lost rows. Only a good state replaces an
// earlier one. unread is what is there and cannot be read.
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

// read is db.Save. Except in a user's tables, it passes over rows that cannot be decoded, and over
// missing tables by reading again.
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

func removed(path string) error {
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// enough is the number of rows that must be gone, with none left, to call the tables emptied.
const enough = 20

// notEmptied returns an *EmptiedError if the mark is there and no row is left of all that were
// loaded or, if none were loaded, written. A database that loses everything loses the mark too.
// DELETE or TRUNCATE leaves the mark beside empty tables.
//
// Rows left in another table are evidence. Operations whose rows are gone, or earlier ones, wrote
// them, and they are judged together.
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

// EmptiedError means that all of our tables are empty.
type EmptiedError struct {
	// Expected is the number of loaded rows or, if larger, of acknowledged operations.
	Expected int64
}

func (e *EmptiedError) Error() string {
	return fmt.Sprintf("none of %s is left, though the mark beside them is; somebody emptied the tables while the run went on, "+
		"or the database lost all rows at once: its log says which", check.Counted(e.Expected, "loaded row or acknowledged operation", "loaded rows or acknowledged operations"))
}

// Instead says what is there instead of the run, if Save's error says that nothing is left of it;
// otherwise empty.
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
	Run string `json:"run"`
	// InFlight says why operations may still have been in flight; empty if all had settled.
	InFlight string `json:"in_flight"`
	// Gone is what was there instead of the run on its own servers; empty if it was there.
	Gone   string       `json:"gone,omitempty"`
	Unread store.Unread `json:"unread,omitzero"`
	// Size is the data's size on disk; nil if unknown.
	Size *store.Size `json:"size,omitempty"`
}

// Write writes the record into a run's folder, whole or not at all.
func (r Record) Write(folder string) error { return history.WriteJSON(filepath.Join(folder, File), r) }

// Load reads the record of a run's folder. known is false for earlier versions' folders without
// one. An unreadable record, or another run's, gives a *report.InputError.
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

// Restored are the states of restored backups in a run's folder.
func Restored(folder string) ([]definition.Restored, error) {
	all, err := definition.ReadJSON[[]definition.Restored](filepath.Join(folder, FileRestored))
	for i := range all {
		if all[i].State != "" {
			all[i].State = filepath.Join(folder, all[i].State)
		}
	}
	return all, err
}
