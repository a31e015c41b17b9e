// Package sqlite lets the workloads use SQLite, embedded in this process, on a
// file of its own.
//
// It must not know the load engine, the checks or any other driver.
package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strconv"
	"time"

	library "modernc.org/sqlite"

	"assay/workload"
	"assay/workload/bank"
)

// isolation is the only level that SQLite has between connections that do not
// share a cache (https://www.sqlite.org/isolation.html).
const isolation = "serializable"

// lockTimeout is how long a transaction waits for one of another process.
const lockTimeout = 5 * time.Second

// store is a bank.Store on one file.
//
// SQLite has one writer at a time, and who waits for it polls, with pauses
// that grow: under many clients some starve. So the writers of one store queue
// for a place, which a channel gives in the order of asking, and only the one
// that has it talks to SQLite. Writers of other processes are met by SQLite's
// own lock, up to lockTimeout.
type store struct {
	options
	lockTimeout time.Duration
	// writer holds a token while somebody writes.
	writer chan struct{}
	// loader is the connection that loads, kept from the first batch to
	// FinishLoad because closing the last connection empties the write-ahead
	// log each time. It belongs to whoever is the writer.
	loader *sql.DB
}

// OpenBank returns the Store of the file that target.Address names, as
// sqlite:PATH with the optional parameters journal (wal, delete, truncate) and
// synchronous (full, normal, off, extra), by default wal and full: what is
// committed is on disk. It opens nothing yet. It returns
// *workload.OptionError.
func OpenBank(_ context.Context, target workload.Target) (bank.Store, error) {
	o, err := parse(target)
	if err != nil {
		return nil, err
	}
	return &store{options: o, lockTimeout: lockTimeout, writer: make(chan struct{}, 1)}, nil
}

// write waits for the writer's place. The caller gives it back with done.
func (s *store) write(ctx context.Context) error {
	// A select with both ready picks either; a context that is over is over.
	if err := ctx.Err(); err != nil {
		return err
	}
	select {
	case s.writer <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (s *store) done() { <-s.writer }

// connect returns a pool that keeps no idle connection: what it opened for one
// call is closed after it, and then the file can be dropped.
func connect(dsn string) (*sql.DB, error) {
	connector, err := library.NewConnector(dsn)
	if err != nil {
		return nil, err
	}
	db := sql.OpenDB(connector)
	db.SetMaxIdleConns(0)
	return db, nil
}

// existing opens the file, which must exist, without changing how it keeps its
// journal.
func (s *store) existing() (*sql.DB, error) { return connect(s.dsn("rw", s.pragmas()...)) }

// writing opens the file, which must exist, as sessions do.
func (s *store) writing() (*sql.DB, error) {
	return connect(s.dsn("rw", append(s.pragmas(), "_pragma=journal_mode("+s.journal+")")...))
}

func (s *store) pragmas() []string {
	return []string{
		"_pragma=busy_timeout(" + strconv.FormatInt(s.lockTimeout.Milliseconds(), 10) + ")",
		"_pragma=synchronous(" + s.synchronous + ")",
	}
}

// Describe implements bank.Store. Before Create it tells what Create will set.
func (s *store) Describe(ctx context.Context) (workload.Product, error) {
	journal, pageSize := s.journal, ""
	found, err := s.look(ctx)
	if err != nil {
		return workload.Product{}, err
	}
	open := func() (*sql.DB, error) { return connect("file::memory:") }
	if found {
		open = s.existing
	}
	var version string
	err = using(open, func(db *sql.DB) error {
		if found {
			if err := db.QueryRowContext(ctx, "PRAGMA journal_mode").Scan(&journal); err != nil {
				return err
			}
			if journal != "wal" && s.journal != "wal" {
				journal = s.journal // only wal is kept in the file, the others are each connection's own
			}
		}
		return errors.Join(db.QueryRowContext(ctx, "SELECT sqlite_version()").Scan(&version),
			db.QueryRowContext(ctx, "PRAGMA page_size").Scan(&pageSize))
	})
	if err != nil {
		return workload.Product{}, s.explain("describe", err)
	}
	return workload.Product{
		Name: "SQLite", Version: version, Embedded: true,
		Settings: []workload.Setting{
			{Name: "isolation", Value: isolation},
			{Name: "journal_mode", Value: journal},
			{Name: "synchronous", Value: s.synchronous},
			{Name: "page_size", Value: pageSize},
			{Name: "transaction", Value: "begin immediate"},
			{Name: "busy_timeout", Value: s.lockTimeout.String()},
		},
		Topology: workload.Topology{Nodes: 1},
	}, nil
}

// using opens a pool for one call.
func using(open func() (*sql.DB, error), call func(*sql.DB) error) (err error) {
	db, err := open()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	return call(db)
}

// LoadAccounts implements bank.Store.
func (s *store) LoadAccounts(ctx context.Context, batch []bank.Account) error {
	if err := s.write(ctx); err != nil {
		return s.explain("load accounts", err)
	}
	defer s.done()
	return s.explain("load accounts", s.insert(ctx, batch))
}

func (s *store) insert(ctx context.Context, batch []bank.Account) (err error) {
	if s.loader == nil {
		if s.loader, err = s.writing(); err != nil {
			return err
		}
		s.loader.SetMaxIdleConns(1)
	}
	tx, err := s.loader.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, rolledBack(tx.Rollback()))
		}
	}()
	insert, err := tx.PrepareContext(ctx, "INSERT INTO assay_account (id, balance, version) VALUES (?, ?, ?)")
	if err != nil {
		return err
	}
	defer insert.Close()
	for _, a := range batch {
		if _, err := insert.ExecContext(ctx, a.ID, a.Balance, a.Version); err != nil {
			return fmt.Errorf("account %d: %w", a.ID, err)
		}
	}
	return tx.Commit()
}

// rolledBack forgives the rollback of what had ended already.
func rolledBack(err error) error {
	if errors.Is(err, sql.ErrTxDone) {
		return nil
	}
	return err
}

// FinishLoad implements bank.Store. There is nothing to build late: both
// tables are their own index.
func (s *store) FinishLoad(ctx context.Context) error {
	if err := s.write(ctx); err != nil {
		return s.explain("finish load", err)
	}
	defer s.done()
	err := using(s.writing, func(db *sql.DB) error {
		if _, err := db.ExecContext(ctx, "UPDATE assay_mark SET loaded = 1"); err != nil {
			return err
		}
		_, err := db.ExecContext(ctx, "PRAGMA wal_checkpoint(TRUNCATE)")
		return err
	})
	return s.explain("finish load", errors.Join(err, s.closeLoader()))
}

// closeLoader is for the writer.
func (s *store) closeLoader() error {
	if s.loader == nil {
		return nil
	}
	err := s.loader.Close()
	s.loader = nil
	return err
}

// Settle implements bank.Store. A transaction that a session abandoned keeps
// the writer's place until SQLite is through with it.
func (s *store) Settle(ctx context.Context) error {
	if err := s.write(ctx); err != nil {
		return fmt.Errorf("sqlite: settle: %s: a transaction is still writing: %w", s.name, err)
	}
	s.done()
	return nil
}

// Close implements bank.Store. It does not wait for a transaction that is still
// writing, which may wait for a broken disk.
func (s *store) Close() error {
	select {
	case s.writer <- struct{}{}:
		defer s.done()
		return s.explain("close", s.closeLoader())
	default:
		return fmt.Errorf("sqlite: close: %s: a transaction is still writing", s.name)
	}
}
