package sqlite

import (
	"context"
	"database/sql"
	"errors"

	"assay/workload"
	"assay/workload/bank"
)

// callbackError carries what a callback of Read returned past the wrapping.
type callbackError struct{ err error }

func (e *callbackError) Error() string { return e.err.Error() }

// Read implements bank.Store, in one read transaction. With a rollback journal
// instead of the write-ahead log it holds up writers while it lasts.
func (s *store) Read(ctx context.Context, account func(bank.Account) error, entry func(bank.Entry) error) error {
	if err := s.mustExist(ctx); err != nil {
		return err
	}
	err := using(s.existing, func(db *sql.DB) error { return s.readAll(ctx, db, account, entry) })
	var stopped *callbackError
	if errors.As(err, &stopped) {
		return stopped.err
	}
	return s.explain("read", err)
}

// mustExist gives *workload.NoSchemaError where there is nothing of ours.
func (s *store) mustExist(ctx context.Context) error {
	ours, err := s.look(ctx)
	if err == nil && !ours {
		err = &workload.NoSchemaError{Name: s.name}
	}
	return err
}

func (s *store) readAll(ctx context.Context, db *sql.DB, account func(bank.Account) error, entry func(bank.Entry) error) error {
	// BEGIN is deferred: the first SELECT fixes the view that both see.
	tx, err := db.BeginTx(ctx, &sql.TxOptions{ReadOnly: true})
	if err != nil {
		return err
	}
	defer tx.Rollback()
	err = each(ctx, tx, "SELECT id, balance, version FROM assay_account ORDER BY id", func(rows *sql.Rows) error {
		var a bank.Account
		if err := rows.Scan(&a.ID, &a.Balance, &a.Version); err != nil {
			return err
		}
		return stopped(account(a))
	})
	if err != nil {
		return err
	}
	return each(ctx, tx, `SELECT id, source, destination, amount, source_version, destination_version
		FROM assay_transfer`, func(rows *sql.Rows) error {
		var e bank.Entry
		err := rows.Scan(&e.ID, &e.Source, &e.Destination, &e.Amount, &e.SourceVersion, &e.DestinationVersion)
		if err != nil {
			return err
		}
		return stopped(entry(e))
	})
}

func stopped(err error) error {
	if err == nil {
		return nil
	}
	return &callbackError{err}
}

func each(ctx context.Context, tx *sql.Tx, query string, row func(*sql.Rows) error) error {
	rows, err := tx.QueryContext(ctx, query)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		if err := row(rows); err != nil {
			return err
		}
	}
	return rows.Err()
}

// Size implements bank.Store. It empties the write-ahead log first, so that
// all is in the file, and then asks dbstat, which visits every page
// (https://www.sqlite.org/dbstat.html).
func (s *store) Size(ctx context.Context) (workload.Size, error) {
	if err := s.mustExist(ctx); err != nil {
		return workload.Size{}, err
	}
	if err := s.write(ctx); err != nil {
		return workload.Size{}, s.explain("size", err)
	}
	defer s.done()
	size := workload.Size{Rows: map[string]int64{}}
	err := using(s.existing, func(db *sql.DB) error {
		if _, err := db.ExecContext(ctx, "PRAGMA wal_checkpoint(TRUNCATE)"); err != nil {
			return err
		}
		err := db.QueryRowContext(ctx, `SELECT coalesce(sum(pgsize) FILTER (WHERE type = 'table'), 0),
			coalesce(sum(pgsize) FILTER (WHERE type = 'index'), 0)
			FROM dbstat JOIN sqlite_schema USING (name)
			WHERE aggregate = TRUE AND tbl_name IN ('assay_account', 'assay_transfer')`).Scan(&size.Tables, &size.Indexes)
		if err != nil {
			return err
		}
		for _, table := range []string{"assay_account", "assay_transfer"} {
			var n int64
			if err := db.QueryRowContext(ctx, "SELECT count(*) FROM "+table).Scan(&n); err != nil {
				return err
			}
			size.Rows[table] = n
		}
		return nil
	})
	size.Bytes = size.Tables + size.Indexes
	return size, s.explain("size", err)
}
