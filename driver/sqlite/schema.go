package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	codes "modernc.org/sqlite/lib"

	"assay/workload"
)

// applicationID is in the header of every file that assay made ("Assy";
// https://www.sqlite.org/fileformat.html#application_id). The mark itself is
// in the table assay_mark.
const applicationID = 0x41737379

// Both tables are clustered by their id, which is the rowid, so that they need
// no index beside them.
const schema = `
CREATE TABLE assay_mark (
	run TEXT NOT NULL, workload TEXT NOT NULL, version TEXT NOT NULL,
	created TEXT NOT NULL, accounts INTEGER NOT NULL, loaded INTEGER NOT NULL
) STRICT;
CREATE TABLE assay_account (
	id INTEGER PRIMARY KEY, balance INTEGER NOT NULL, version INTEGER NOT NULL
) STRICT;
CREATE TABLE assay_transfer (
	id INTEGER PRIMARY KEY, source INTEGER NOT NULL, destination INTEGER NOT NULL, amount INTEGER NOT NULL,
	source_version INTEGER NOT NULL, destination_version INTEGER NOT NULL
) STRICT;`

// look reports whether the file carries our application id. It is false for a
// file that does not exist or is empty; anything else gives
// *workload.ForeignError.
//
// The file is opened as immutable: SQLite then takes no locks, recovers
// nothing and makes no other file beside it. It is not read past SQLite
// because closing the descriptor would drop the locks that SQLite's other
// connections of this process hold (https://www.sqlite.org/howtocorrupt.html,
// 2.2). Writable_schema makes SQLite bear with a file that is shorter than its
// header says, as it is when copying the log into it was cut short; the log has
// the rest.
func (s *store) look(ctx context.Context) (ours bool, err error) {
	info, err := os.Stat(s.path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return false, nil
	case err != nil:
		return false, fmt.Errorf("sqlite: look: %w; name another file", err)
	case !info.Mode().IsRegular():
		return false, s.foreign()
	case info.Size() == 0:
		// A log beside it holds somebody's data.
		if log, err := os.Stat(s.path + "-wal"); err == nil && log.Size() > 0 {
			return false, s.foreign()
		}
		return false, nil
	}
	var id int64
	dsn := s.dsn("ro", "immutable=1", "_pragma=writable_schema(on)")
	err = using(func() (*sql.DB, error) { return connect(dsn) }, func(db *sql.DB) error {
		return db.QueryRowContext(ctx, "PRAGMA application_id").Scan(&id)
	})
	switch {
	case primary(err) == codes.SQLITE_NOTADB, err == nil && id != applicationID:
		return false, s.foreign()
	case err != nil:
		return false, s.explain("look", err)
	}
	return true, nil
}

// Find implements bank.Store.
func (s *store) Find(ctx context.Context) (*workload.Remains, error) {
	ours, err := s.look(ctx)
	if err != nil || !ours {
		return nil, err
	}
	var remains *workload.Remains
	err = using(s.existing, func(db *sql.DB) error {
		remains, err = s.readMark(ctx, db)
		return err
	})
	return remains, s.explain("find", err)
}

// querier is a *sql.DB or *sql.Conn.
type querier interface {
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}

// readMark returns nil for a file whose making was cut short, which SQLite
// rolls back to nothing, and *workload.ForeignError for one that has our
// application id and no mark.
func (s *store) readMark(ctx context.Context, db querier) (*workload.Remains, error) {
	var tables, marks int
	err := db.QueryRowContext(ctx, "SELECT count(*), count(*) FILTER (WHERE name = 'assay_mark') FROM sqlite_schema").Scan(&tables, &marks)
	if err != nil || tables == 0 {
		return nil, err
	}
	if marks == 0 {
		return nil, s.foreign()
	}
	var r workload.Remains
	var created string
	err = db.QueryRowContext(ctx, `SELECT run, workload, version, created, accounts, loaded,
		(SELECT count(*) FROM assay_account) FROM assay_mark`).
		Scan(&r.Mark.Run, &r.Mark.Workload, &r.Mark.Version, &created, &r.Mark.Rows, &r.Mark.Loaded, &r.Rows)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, s.foreign()
	}
	if err != nil {
		return nil, err
	}
	if r.Mark.Created, err = time.Parse(time.RFC3339Nano, created); err != nil {
		return nil, fmt.Errorf("the mark's time: %w", err)
	}
	return &r, nil
}

// Create implements bank.Store.
func (s *store) Create(ctx context.Context, mark workload.Mark) error {
	if err := s.write(ctx); err != nil {
		return s.explain("create", err)
	}
	defer s.done()
	if err := s.remove(ctx); err != nil {
		return err
	}
	directory := filepath.Dir(s.path)
	if info, err := os.Stat(directory); err != nil || !info.IsDir() {
		return fmt.Errorf("sqlite: create: there is no directory %s; make it or name another file", directory)
	}
	err := using(func() (*sql.DB, error) { return connect(s.dsn("rwc", s.pragmas()...)) }, func(db *sql.DB) error {
		return s.make(ctx, db, mark)
	})
	var foreign *workload.ForeignError
	if errors.As(err, &foreign) {
		return err
	}
	return s.explain("create", err)
}

// make puts everything into the file in one transaction, still with a rollback
// journal: so the application id is in the file itself, where look finds it,
// and there is never a file of ours without its mark.
func (s *store) make(ctx context.Context, db *sql.DB, mark workload.Mark) error {
	conn, err := db.Conn(ctx)
	if err != nil {
		return err
	}
	defer conn.Close()
	if _, err := conn.ExecContext(ctx, "BEGIN EXCLUSIVE"); err != nil {
		return err
	}
	var tables int
	if err := conn.QueryRowContext(ctx, "SELECT count(*) FROM sqlite_schema").Scan(&tables); err != nil {
		return err
	}
	if tables > 0 { // somebody was faster
		return s.foreign()
	}
	if _, err := conn.ExecContext(ctx, fmt.Sprintf("PRAGMA application_id = %d; %s", applicationID, schema)); err != nil {
		return err
	}
	_, err = conn.ExecContext(ctx, `INSERT INTO assay_mark (run, workload, version, created, accounts, loaded)
		VALUES (?, ?, ?, ?, ?, ?)`, mark.Run, mark.Workload, mark.Version, mark.Created.UTC().Format(time.RFC3339Nano), mark.Rows, mark.Loaded)
	if err != nil {
		return err
	}
	if _, err := conn.ExecContext(ctx, "COMMIT"); err != nil {
		return err
	}
	var journal string
	if err := conn.QueryRowContext(ctx, "PRAGMA journal_mode = "+s.journal).Scan(&journal); err != nil {
		return err
	}
	if journal != s.journal {
		return &workload.OptionError{Option: "journal", Value: s.journal, Want: journal + " on this file system"}
	}
	return nil
}

// Drop implements bank.Store.
func (s *store) Drop(ctx context.Context) error {
	if err := s.write(ctx); err != nil {
		return s.explain("drop", err)
	}
	defer s.done()
	return s.remove(ctx)
}

// remove deletes the file if it carries our mark. It is for the writer.
//
// Whoever still had the file open would go on with a file without a name, and
// be told that everything is committed. So the file is deleted only when no
// other connection is left, which SQLite tells by granting the change out of
// the write-ahead log, and under an exclusive lock; with a rollback journal an
// idle connection is not seen, but it is then refused its next transaction
// (SQLITE_READONLY_DBMOVED).
func (s *store) remove(ctx context.Context) error {
	if err := s.closeLoader(); err != nil {
		return s.explain("drop", err)
	}
	ours, err := s.look(ctx)
	if err != nil || !ours {
		return err
	}
	err = using(s.existing, func(db *sql.DB) error {
		conn, err := db.Conn(ctx)
		if err != nil {
			return err
		}
		defer conn.Close()
		if _, err := s.readMark(ctx, conn); err != nil {
			return err
		}
		if _, err := conn.ExecContext(ctx, "PRAGMA journal_mode = delete; BEGIN EXCLUSIVE"); err != nil {
			return err
		}
		for _, tail := range []string{"", "-journal", "-wal", "-shm"} {
			if err := os.Remove(s.path + tail); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return err
			}
		}
		_, err = conn.ExecContext(ctx, "ROLLBACK")
		return err
	})
	var foreign *workload.ForeignError
	if errors.As(err, &foreign) {
		return foreign
	}
	return s.explain("drop", err)
}
