// Package sqlite is SQLite, embedded in this process, on a file of its own.
//
// It must not know the load engine, the checks or any other driver.
package sqlite

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync/atomic"
	"time"

	"assay/driver/ownership"
	"assay/driver/sqldb"
	"assay/store"
)

// level is SQLite's only level between connections without a shared cache
// (https://www.sqlite.org/isolation.html).
const level = "serializable"

// lockTimeout bounds the wait for another process's transaction.
const lockTimeout = 5 * time.Second

// file is one SQLite file.
//
// SQLite has one writer at a time. Waiting writers poll with growing pauses, so that some starve
// under many clients. Therefore this process's writers queue for a turn, in the order of asking.
// Other processes' writers meet SQLite's own lock, up to lockTimeout.
type file struct {
	options
	// tables are the workload's own, which identify its file.
	tables      []string
	kind        store.Schema
	sql         sqldb.Dialect
	lockTimeout time.Duration
	// writer holds a token during a writer's turn.
	writer chan struct{}
	// leftovers are the transactions without callers. Writing ones also keep the writer's turn.
	leftovers leftovers
	// loader is the loading connection, kept until FinishLoad: closing the last connection would
	// empty the write-ahead log each time. It needs the writer's turn.
	loader *connection
	// own is the file that Create made on disk, or nil.
	own atomic.Pointer[ownFile]
	ownership.Direct
	*ownership.Schema[ownership.Direct]
}

func newFile(o options, kind store.Schema) *file {
	f := &file{options: o, kind: kind, sql: dialect(), lockTimeout: lockTimeout, writer: make(chan struct{}, 1)}
	f.Schema = ownership.New(f, kind)
	if kind.Open || kind.Existing {
		f.sql.Prefix = "" // names are the user's
	}
	for _, t := range kind.Tables {
		f.tables = append(f.tables, f.sql.Table(t.Name))
	}
	return f
}

func (f *file) write(ctx context.Context) error {
	// select may choose the turn even if ctx has ended.
	if err := ctx.Err(); err != nil {
		return err
	}
	select {
	case f.writer <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (f *file) done() { <-f.writer }

func (f *file) asWriter(ctx context.Context, doing string, work func() error) error {
	err := f.write(ctx)
	if err == nil {
		defer f.done()
		err = work()
	}
	return f.explainOthers(doing, err)
}

// existingName opens an existing file and keeps its journal mode. writingName opens it as sessions
// do.
func (f *file) existingName() string { return f.dsn("rw", f.pragmas()...) }

func (f *file) writingName() string {
	if f.kind.Existing { // the way of its journal is kept in the file
		return f.existingName()
	}
	return f.dsn("rw", append(f.pragmas(), "_pragma=journal_mode("+f.journal+")")...)
}

func (f *file) pragmas() []string {
	return []string{
		"_pragma=busy_timeout(" + strconv.FormatInt(f.lockTimeout.Milliseconds(), 10) + ")",
		"_pragma=synchronous(" + f.synchronous + ")",
	}
}

// Describe reports what is in force or, before Create, what Create will set.
func (f *file) Describe(ctx context.Context) (store.Product, error) {
	journal, pageSize := f.journal, ""
	found, err := f.look(ctx)
	if err != nil {
		return store.Product{}, err
	}
	name := "file::memory:"
	if found {
		name = f.existingName()
	}
	var version string
	changed := map[string]string{}
	err = within(ctx, name, func(h *handle) error {
		if found {
			if err := sqldb.One(ctx, h, "PRAGMA journal_mode", nil, &journal); err != nil {
				return err
			}
			if journal != "wal" && f.journal != "wal" {
				journal = f.journal // only wal is kept in the file, the others are each connection's own
			}
		}
		// Defaults of SQLite's manual, "Pragma statements".
		for pragma, standard := range map[string]string{"page_size": "4096", "cache_size": "-2000", "auto_vacuum": "0", "mmap_size": "0", "secure_delete": "0"} {
			var value string
			if err := sqldb.One(ctx, h, "PRAGMA "+pragma, nil, &value); err == nil && value != standard {
				changed[pragma] = value
			}
		}
		return errors.Join(sqldb.One(ctx, h, "SELECT sqlite_version()", nil, &version), sqldb.One(ctx, h, "PRAGMA page_size", nil, &pageSize))
	})
	if err != nil {
		return store.Product{}, f.explain("describe", err)
	}
	return store.Product{
		Name: "SQLite", Version: version, Embedded: true,
		Settings: []store.Setting{
			{Name: "isolation", Value: level},
			{Name: "journal_mode", Value: journal},
			{Name: "synchronous", Value: f.synchronous},
			{Name: "page_size", Value: pageSize},
			{Name: "transaction", Value: "begin immediate; begin, if it only reads"},
			{Name: "busy_timeout", Value: f.lockTimeout.String()},
		},
		Changed:  store.Changed(changed),
		Topology: store.Topology{Nodes: 1},
	}, nil
}

func (f *file) closeLoader() error {
	if f.loader == nil {
		return nil
	}
	err := f.loader.release()
	f.loader = nil
	return err
}

// Settle waits for the current writer and for abandoned transactions.
func (f *file) Settle(ctx context.Context) error {
	if err := f.write(ctx); err != nil {
		return fmt.Errorf("sqlite: settle: %s: a transaction is still writing: %w", f.name, err)
	}
	f.done()
	if err := f.leftovers.wait(ctx); err != nil {
		return fmt.Errorf("sqlite: settle: %s: a transaction is still reading: %w", f.name, err)
	}
	return nil
}

// Close does not wait for a running write, which may hang on a broken disk.
func (f *file) Close() error {
	select {
	case f.writer <- struct{}{}:
		defer f.done()
		return f.explain("close", f.closeLoader())
	default:
		return fmt.Errorf("sqlite: close: %s: a transaction is still writing", f.name)
	}
}
