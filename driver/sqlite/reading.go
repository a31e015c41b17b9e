package sqlite

import (
	"context"
	"database/sql"
	"strings"

	"assay/workload"
)

// reading calls read in a read transaction on a connection of its own, which is
// closed when it returns. It sees one snapshot
// (https://www.sqlite.org/isolation.html); BEGIN is deferred, so that the first SELECT
// fixes it. With a rollback journal instead of the write-ahead log it holds up writers
// while it lasts.
func (f *file) reading(ctx context.Context, read func(tx *sql.Tx) error) error {
	return using(f.existing, func(db *sql.DB) error {
		// When ctx ends, database/sql rolls back in a goroutine of its own, and
		// only closing the connection waits for that.
		conn, err := db.Conn(ctx)
		if err != nil {
			return err
		}
		defer conn.Close()
		tx, err := conn.BeginTx(ctx, &sql.TxOptions{ReadOnly: true})
		if err != nil {
			return err
		}
		defer tx.Rollback()
		return read(tx)
	})
}

// mustExist gives *workload.NoSchemaError where there is nothing of ours.
func (f *file) mustExist(ctx context.Context) error {
	ours, err := f.look(ctx)
	if err == nil && !ours {
		err = &workload.NoSchemaError{Name: f.name}
	}
	return err
}

// Size empties the write-ahead log first, so that
// all is in the file, and then asks dbstat, which visits every page
// (https://www.sqlite.org/dbstat.html).
func (f *file) Size(ctx context.Context) (workload.Size, error) {
	if err := f.mustExist(ctx); err != nil {
		return workload.Size{}, err
	}
	if err := f.write(ctx); err != nil {
		return workload.Size{}, f.explain("size", err)
	}
	defer f.done()
	size := workload.Size{Rows: map[string]int64{}}
	err := using(f.existing, func(db *sql.DB) error {
		if _, err := db.ExecContext(ctx, "PRAGMA wal_checkpoint(TRUNCATE)"); err != nil {
			return err
		}
		err := db.QueryRowContext(ctx, `SELECT coalesce(sum(pgsize) FILTER (WHERE type = 'table'), 0),
			coalesce(sum(pgsize) FILTER (WHERE type = 'index'), 0)
			FROM dbstat JOIN sqlite_schema USING (name)
			WHERE aggregate = TRUE AND tbl_name IN ('`+strings.Join(f.tables, "', '")+`')`).Scan(&size.Tables, &size.Indexes)
		if err != nil {
			return err
		}
		for _, table := range f.tables {
			var n int64
			if err := db.QueryRowContext(ctx, "SELECT count(*) FROM "+table).Scan(&n); err != nil {
				return err
			}
			size.Rows[table] = n
		}
		return nil
	})
	size.Bytes = size.Tables + size.Indexes
	return size, f.explain("size", err)
}
