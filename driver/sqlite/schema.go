package sqlite

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	codes "modernc.org/sqlite/lib"

	"assay/driver/ownership"
	"assay/driver/sqldb"
	"assay/store"
)

// applicationID ("Assy") is in the header of every file that assay made
// (https://www.sqlite.org/fileformat.html#application_id).
const applicationID = 0x41737379

const markSchema = `
CREATE TABLE assay_mark (
	run TEXT NOT NULL, workload TEXT NOT NULL, version TEXT NOT NULL,
	created TEXT NOT NULL, accounts INTEGER NOT NULL, loaded INTEGER NOT NULL, made TEXT NOT NULL DEFAULT ''
) STRICT;`

// look reports whether the file has our application id. It is false for a missing or empty file.
// Other files give *store.ForeignError.
//
// The file is opened as immutable, so that SQLite takes no locks, recovers nothing and makes no
// other file. Reading without SQLite would drop the locks of this process's other connections on
// close (https://www.sqlite.org/howtocorrupt.html, 2.2). Writable_schema tolerates a file shorter
// than its header says, after an interrupted checkpoint; the log has the rest.
func (f *file) look(ctx context.Context) (ours bool, err error) {
	if f.kind.Existing {
		return true, nil // CheckShape has looked at it
	}
	info, err := os.Stat(f.path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return false, nil
	case err != nil:
		return false, fmt.Errorf("sqlite: look: %w; name another file", err)
	case !info.Mode().IsRegular():
		return false, f.foreign()
	case info.Size() == 0:
		// A log beside it holds somebody's data.
		if log, err := os.Stat(f.path + "-wal"); err == nil && log.Size() > 0 {
			return false, f.foreign()
		}
		return false, nil
	}
	var id int64
	err = within(ctx, f.dsn("ro", "immutable=1", "_pragma=writable_schema(on)"), func(h *handle) error {
		return sqldb.One(ctx, h, "PRAGMA application_id", nil, &id)
	})
	switch {
	case primary(err) == codes.SQLITE_NOTADB, err == nil && id != applicationID:
		return false, f.foreign()
	case err != nil:
		return false, f.explain("look", err)
	}
	return true, nil
}

func (f *file) Title() string { return f.name }

// Rows implements ownership.Place. It counts the first table's rows.
func (f *file) Rows(ctx context.Context, _ ownership.Direct) (rows int64, err error) {
	err = within(ctx, f.existingName(), func(h *handle) error {
		if !f.kind.Open {
			return sqldb.One(ctx, h, "SELECT count(*) FROM "+f.tables[0], nil, &rows)
		}
		all, err := f.countAll(ctx, h)
		for _, n := range all {
			rows += n
		}
		return err
	})
	if err != nil && isNoTable(err) {
		return 0, nil
	}
	return rows, f.explain("find", err)
}

func (f *file) ReadMark(ctx context.Context, _ ownership.Direct) (mark *store.Marker, err error) {
	ours, err := f.look(ctx)
	if err == nil && ours {
		err = within(ctx, f.existingName(), func(h *handle) error {
			mark, err = f.readMark(ctx, h)
			return err
		})
	}
	if err != nil {
		return nil, f.explainOthers("find", err)
	}
	return mark, f.mustBeOwn(mark)
}

type ownFile struct {
	file os.FileInfo
	run  string
}

// mustBeOwn returns an error if the name leads to another file than the one made here, as sessions
// would write to the old file. A file that another run made and marked is no error.
func (f *file) mustBeOwn(mark *store.Marker) error {
	own := f.own.Load()
	if own == nil || mark != nil && mark.Run != own.run {
		return nil
	}
	if info, err := os.Stat(f.path); err != nil || os.SameFile(own.file, info) {
		return nil // what is not there is missing
	}
	return fmt.Errorf("sqlite: %s is not the file any more that this run has worked on: somebody put another in its place; what is in it says nothing about the run", f.name)
}

func (f *file) WriteMark(ctx context.Context, _ ownership.Direct, mark store.Marker) error {
	return within(ctx, f.writingName(), func(h *handle) error {
		return h.changeBy(ctx, "UPDATE assay_mark SET loaded = $1", store.OfBool(mark.Loaded))
	})
}

// explainOthers explains all errors that do not explain themselves.
func (f *file) explainOthers(doing string, err error) error {
	if ownership.Explained(err) || errors.As(err, new(*store.OptionError)) {
		return err
	}
	return f.explain(doing, err)
}

// readMark returns nil for a file whose making was interrupted, which SQLite rolls back. It returns
// *store.ForeignError for a file with our id but no mark, and *store.OptionError for another
// workload's file, so that a run never costs another workload's data.
func (f *file) readMark(ctx context.Context, h *handle) (*store.Marker, error) {
	var tables, marks, own int
	known := []string{"assay_mark"}
	if !f.kind.Open { // of which some may have been dropped
		known = f.tables
	}
	err := sqldb.One(ctx, h, `SELECT count(*), count(*) FILTER (WHERE name = 'assay_mark'),
		count(*) FILTER (WHERE name IN ('`+strings.Join(known, "', '")+`')) FROM sqlite_schema`, nil, &tables, &marks, &own)
	if err != nil || tables == 0 {
		return nil, err
	}
	if marks == 0 {
		return nil, f.foreign()
	}
	if own == 0 {
		return nil, f.another()
	}
	var m store.Marker
	var created string
	marked := false
	err = h.Query(ctx, `SELECT run, workload, version, created, accounts, loaded FROM assay_mark`, func(row store.Row) error {
		marked = true
		return row.Scan(&m.Run, &m.Workload, &m.Version, &created, &m.Rows, &m.Loaded)
	})
	if err != nil {
		return nil, err
	}
	if !marked {
		return nil, f.foreign()
	}
	// Two workloads may have a table of one name.
	if named := m.Workload; named != "" && named != f.kind.Workload && f.kind.Workload != "" {
		return nil, f.another()
	}
	if m.Created, err = time.Parse(time.RFC3339Nano, created); err != nil {
		return nil, fmt.Errorf("the mark's time: %w", err)
	}
	return &m, nil
}

func (f *file) another() error {
	return &store.OptionError{Option: "file", Value: f.name,
		Want: "a file of this workload's own; this one holds a run of another workload of assay's and was left untouched"}
}

// Create makes the file anew.
func (f *file) Create(ctx context.Context, mark store.Marker) error {
	if err := f.Held(ctx, ownership.Direct{}); err != nil {
		return err
	}
	if err := f.write(ctx); err != nil {
		return f.explain("create", err)
	}
	defer f.done()
	if err := f.remove(ctx); err != nil {
		return err
	}
	if err := f.inDirectory("create"); err != nil {
		return err
	}
	err := within(ctx, f.dsn("rwc", f.pragmas()...), func(h *handle) error { return f.make(ctx, h, mark) })
	if info, missing := os.Stat(f.path); err == nil && missing == nil {
		f.own.Store(&ownFile{info, mark.Run})
	}
	return f.explainOthers("create", err)
}

func (f *file) inDirectory(doing string) error {
	directory := filepath.Dir(f.path)
	if info, err := os.Stat(directory); err != nil || !info.IsDir() {
		return fmt.Errorf("sqlite: %s: there is no directory %s; make it or name another file", doing, directory)
	}
	return nil
}

// make fills the file in one transaction, with a rollback journal. So the application id is in the
// file itself, where look finds it, and a file of assay's always has its mark.
func (f *file) make(ctx context.Context, h *handle, mark store.Marker) error {
	if err := h.change(ctx, "BEGIN EXCLUSIVE"); err != nil {
		return err
	}
	var tables int
	if err := sqldb.One(ctx, h, "SELECT count(*) FROM sqlite_schema", nil, &tables); err != nil {
		return err
	}
	if tables > 0 { // somebody was faster
		return f.foreign()
	}
	if err := h.change(ctx, append([]string{fmt.Sprintf("PRAGMA application_id = %d", applicationID), markSchema}, f.sql.Create(f.kind.Tables)...)...); err != nil {
		return err
	}
	err := h.changeBy(ctx, `INSERT INTO assay_mark (run, workload, version, created, accounts, loaded) VALUES ($1, $2, $3, $4, $5, $6)`,
		store.OfText(mark.Run), store.OfText(mark.Workload), store.OfText(mark.Version), store.OfText(mark.Created.UTC().Format(time.RFC3339Nano)),
		store.OfInt(mark.Rows), store.OfBool(mark.Loaded))
	if err != nil {
		return err
	}
	if err := h.change(ctx, "COMMIT"); err != nil {
		return err
	}
	var journal string
	if err := sqldb.One(ctx, h, "PRAGMA journal_mode = "+f.journal, nil, &journal); err != nil {
		return err
	}
	if journal != f.journal {
		return &store.OptionError{Option: "journal", Value: f.journal, Want: journal + " on this file system"}
	}
	return nil
}

// Drop deletes the workload's file, if it is this workload's, and the lease's.
func (f *file) Drop(ctx context.Context) error {
	if err := f.Held(ctx, ownership.Direct{}); err != nil {
		return err
	}
	if err := f.write(ctx); err != nil {
		return f.explain("drop", err)
	}
	defer f.done()
	if err := f.remove(ctx); err != nil {
		return err
	}
	return f.EndLease(ctx, ownership.Direct{})
}

// remove deletes the file if it carries our mark. It needs the writer's turn.
//
// A connection that still had the file open would go on without a name and be told that all is
// committed. So the file is deleted under an exclusive lock after leaving WAL mode, which SQLite
// only grants to the last connection. With a rollback journal an idle connection is not seen, but
// its next transaction is refused (SQLITE_READONLY_DBMOVED). SQLite does not wait for others when
// it changes the journal, whatever busy_timeout is, so remove first waits for our own connections.
func (f *file) remove(ctx context.Context) error {
	if f.kind.Existing {
		return &store.NotOursError{Doing: "remove " + f.name}
	}
	f.own.Store(nil)
	if err := f.leftovers.wait(ctx); err != nil {
		return f.explain("drop", err)
	}
	if err := f.closeLoader(); err != nil {
		return f.explain("drop", err)
	}
	ours, err := f.look(ctx)
	if err != nil || !ours {
		return err
	}
	err = within(ctx, f.existingName(), func(h *handle) error {
		mark, err := f.readMark(ctx, h)
		if err == nil && mark != nil {
			err = f.unowned(ctx, h)
		}
		if err != nil {
			return err
		}
		if err := h.change(ctx, "PRAGMA journal_mode = delete", "BEGIN EXCLUSIVE"); err != nil {
			return err
		}
		for _, tail := range []string{"", "-journal", "-wal", "-shm"} {
			if err := os.Remove(f.path + tail); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return err
			}
		}
		return h.change(ctx, "ROLLBACK")
	})
	return f.explainOthers("drop", err)
}
