package sqlite

import (
	"context"
	"os"
	"strings"

	"assay/driver/sqldb"
	"assay/store"
)

// Open is a store.Opener for the file in target.Address: sqlite:PATH with the optional parameters
// journal (wal, delete, truncate) and synchronous (full, normal, off, extra). The defaults wal and
// full put every commit on disk. The file must not hold another workload's run. Open opens nothing
// yet and returns *store.OptionError.
func Open(_ context.Context, target store.Target, of store.Schema) (store.Database, error) {
	f, err := open(target, of)
	if err != nil {
		return nil, err // and not a typed nil
	}
	return f, nil
}

func open(target store.Target, kind store.Schema) (*file, error) {
	o, err := parse(target)
	if err != nil {
		return nil, err
	}
	if kind.Reads && target.Read != "" && target.Read != store.ReadPrimary { // there is no other to answer them
		return nil, &store.OptionError{Option: "--read", Value: target.Read, Want: store.ReadPrimary}
	}
	if kind.Existing && strings.Contains(target.Address, "journal=") {
		return nil, &store.OptionError{Option: "the address's option", Value: "journal", Want: "none with --use-existing: it stays as the file has it"}
	}
	return newFile(o, kind), nil
}

func (f *file) Audit(ctx context.Context, read func(store.Reader) error) error {
	return f.explain("audit", f.reading(ctx, read))
}

// Promises implements store.Database. SQLite serializes writes
// (https://www.sqlite.org/isolation.html), and in real time. A writer holds the only write lock
// from its beginning, so it reads the last commit's state. A reader begins at the last commit in
// the log (https://www.sqlite.org/wal.html). With a rollback journal readers and writers exclude
// each other.
func (f *file) Promises() store.Promises {
	return sqldb.Promises("strict-serializable", store.Linearizable)
}

func (f *file) Lacks() store.Lacks { return sqldb.Lacks() }

// Engines implements store.Database. SQLite has one.
func (f *file) Engines(context.Context) ([]string, error) { return []string{"btree"}, nil }

func (f *file) CreateOn(ctx context.Context, mark store.Marker, _ string, _ bool) error {
	return f.Create(ctx, mark)
}

func (f *file) Levels() []store.Level { return []store.Level{{Name: level}} }

// Waiting implements sqldb.Connection. Writers wait for their turn, in this process.
func (l *connection) Waiting(context.Context) (waiting, known bool, err error) {
	return l.queued.Load(), true, nil
}

// FileSize implements store.Database: the file, including free pages, after a checkpoint of the
// log.
func (f *file) FileSize(ctx context.Context) (store.Size, error) {
	size, err := f.Size(ctx)
	if err != nil {
		return size, err
	}
	info, err := os.Stat(f.path)
	if err != nil {
		return store.Size{}, f.explain("size", err)
	}
	size.Bytes, size.Tables, size.Indexes = info.Size(), 0, 0
	return size, nil
}

func (f *file) Compactions() ([]string, error) { return []string{"VACUUM"}, nil }

// Compact implements store.Database. VACUUM rewrites the file, first in the log
// (https://www.sqlite.org/lang_vacuum.html).
func (f *file) Compact(ctx context.Context, name string) error {
	if err := f.mustExist(ctx); err != nil {
		return err
	}
	return f.asWriter(ctx, "vacuum", func() error {
		return within(ctx, f.writingName(), func(h *handle) error { return h.change(ctx, name, "PRAGMA wal_checkpoint(TRUNCATE)") })
	})
}
