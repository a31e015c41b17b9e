// Package sqlite lets the workloads use SQLite, embedded in this process, on a
// file of its own.
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

// level is the only isolation level that SQLite has between connections that do
// not share a cache (https://www.sqlite.org/isolation.html).
const level = "serializable"

// lockTimeout is how long a transaction waits for one of another process.
const lockTimeout = 5 * time.Second

// file is one SQLite file, as all workloads use it.
//
// SQLite has one writer at a time, and who waits for it polls, with pauses
// that grow: under many clients some starve. So the writers of one file queue
// for their turn, which a channel gives in the order of asking, and only the one
// whose turn it is talks to SQLite. Writers of other processes are met by SQLite's
// own lock, up to lockTimeout.
type file struct {
	options
	// tables are the workload's own, by which it knows its file.
	tables      []string
	kind        store.Schema
	sql         sqldb.Dialect
	lockTimeout time.Duration
	// writer holds a token while somebody writes.
	writer chan struct{}
	// leftovers are the transactions whose callers have left. Those that write
	// keep the writer's turn as well; those that only read have none.
	leftovers leftovers
	// loader is the connection that loads, kept from the first batch to
	// FinishLoad because closing the last connection empties the write-ahead
	// log each time. It belongs to whoever is the writer.
	loader *connection
	// own is the file on disk that Create made; nil before.
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

// write waits for the writer's turn. The caller ends it with done.
func (f *file) write(ctx context.Context) error {
	// A select with both ready picks either; a context that is over is over.
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

// asWriter does work when it is the writer's turn, and explains its error.
func (f *file) asWriter(ctx context.Context, doing string, work func() error) error {
	err := f.write(ctx)
	if err == nil {
		defer f.done()
		err = work()
	}
	return f.explainOthers(doing, err)
}

// existingName opens the file, which must exist, without changing how it keeps its
// journal, and writingName as sessions do.
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

// Describe says what is in force. Before Create it tells what Create will set.
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
		// The defaults are those of SQLite's manual, "Pragma statements".
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

// closeLoader is for the writer.
func (f *file) closeLoader() error {
	if f.loader == nil {
		return nil
	}
	err := f.loader.release()
	f.loader = nil
	return err
}

// Settle waits for whoever is writing, and for the transactions that sessions
// abandoned, until SQLite is through with them.
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

// Close does not wait for a transaction that is still
// writing, which may wait for a broken disk.
func (f *file) Close() error {
	select {
	case f.writer <- struct{}{}:
		defer f.done()
		return f.explain("close", f.closeLoader())
	default:
		return fmt.Errorf("sqlite: close: %s: a transaction is still writing", f.name)
	}
}
