package sqlite

import (
	"context"
	"database/sql"
	"os"

	"assay/driver/sqldb"
	"assay/store"
	"assay/workload"
)

// Driver opens a workload in the file that target.Address names, as sqlite:PATH with
// the optional parameters journal (wal, delete, truncate) and synchronous (full,
// normal, off, extra), by default wal and full: what is committed is on disk. The file
// must not hold another workload's run. It opens nothing yet, and returns
// *workload.OptionError.
func Driver() sqldb.Driver {
	return sqldb.DriverOf(func(_ context.Context, target workload.Target, of store.Schema) (*file, error) {
		return open(target, of)
	})
}

// open returns the file that the target names, for a workload.
func open(target workload.Target, kind store.Schema) (*file, error) {
	o, err := parse(target)
	if err != nil {
		return nil, err
	}
	if kind.Reads && target.Read != "" && target.Read != workload.ReadPrimary { // there is no other to answer them
		return nil, &workload.OptionError{Option: "--read", Value: target.Read, Want: workload.ReadPrimary}
	}
	return newFile(o, kind), nil
}

func (f *file) AuditView(ctx context.Context, read func(sqldb.Reader) error) error {
	return f.explain("audit", f.reading(ctx, read))
}

// PromiseLevel implements sqldb.Database. SQLite's documentation promises
// serializable isolation "by actually serializing the writes"
// (https://www.sqlite.org/isolation.html), and in real time: whoever writes
// holds the only write lock from its beginning, so that what it reads is what
// the last commit left; and whoever reads "remembers the location of the last
// valid commit record in the WAL" when it begins
// (https://www.sqlite.org/wal.html), so it sees all that was committed by
// then. With a rollback journal readers and writers lock each other out.
func (f *file) PromiseLevel() string { return "strict-serializable" }

// PromiseReads is so on the same grounds.
func (f *file) PromiseReads() string { return store.Linearizable }

func (f *file) ConnectApart(ctx context.Context, statements []sqldb.Statement) (sqldb.Connection, error) {
	return f.Connect(ctx, statements)
}

// Engines implements sqldb.Database: there is one way to store tables.
func (f *file) Engines(context.Context) ([]string, error) { return []string{"btree"}, nil }

func (f *file) CreateOn(ctx context.Context, mark workload.Marker, _ string, _ bool) error {
	return f.Create(ctx, mark)
}

// Waits implements sqldb.Database: SQLite counts none. Its writers stand in a queue of
// this driver's own.
func (f *file) Waits(context.Context) ([]store.Wait, error) { return nil, nil }

func (f *file) Levels() []store.Level { return []store.Level{{Name: level}} }

// Waiting implements sqldb.Connection: those who write queue for their turn, in this
// process.
func (l *connection) Waiting(context.Context) (waiting, known bool, err error) {
	return l.queued.Load(), true, nil
}

// FileSize implements sqldb.Database: the file as it is, after the log has been
// copied into it, with the pages that are free.
func (f *file) FileSize(ctx context.Context) (workload.Size, error) {
	size, err := f.Size(ctx)
	if err != nil {
		return size, err
	}
	info, err := os.Stat(f.path)
	if err != nil {
		return workload.Size{}, f.explain("size", err)
	}
	size.Bytes, size.Tables, size.Indexes = info.Size(), 0, 0
	return size, nil
}

func (f *file) Compactions() ([]string, error) { return []string{"VACUUM"}, nil }

// Compact implements sqldb.Database: VACUUM "rebuilds the database file, repacking
// it into a minimal amount of disk space"
// (https://www.sqlite.org/lang_vacuum.html), in the log first.
func (f *file) Compact(ctx context.Context, name string) error {
	if err := f.mustExist(ctx); err != nil {
		return err
	}
	return f.asWriter(ctx, "vacuum", func() error {
		return using(f.writing, func(db *sql.DB) error {
			return execute(ctx, db, name, "PRAGMA wal_checkpoint(TRUNCATE)")
		})
	})
}
