package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"maps"
	"slices"
	"strings"

	"assay/driver/sqldb"
	"assay/store"
	"assay/workload"
)

// reading calls read in a read transaction on a connection of its own, which is
// closed when it returns. It sees one snapshot
// (https://www.sqlite.org/isolation.html); BEGIN is deferred, so that the first SELECT
// fixes it. With a rollback journal instead of the write-ahead log it holds up writers
// while it lasts.
func (f *file) reading(ctx context.Context, read func(store.Reader) error) (err error) {
	h, err := openHandle(ctx, f.existingName())
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, h.close()) }()
	if err := h.run("BEGIN"); err != nil {
		return err
	}
	return errors.Join(read(sqldb.ReaderOf(reader{h}, &f.sql, &f.kind)), h.run("ROLLBACK"))
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
	var size workload.Size
	err := using(f.existing, func(db *sql.DB) error {
		rows, err := f.countAll(ctx, db)
		if err != nil {
			return err
		}
		size.Rows = rows
		if _, err := db.ExecContext(ctx, "PRAGMA wal_checkpoint(TRUNCATE)"); err != nil {
			return err
		}
		return db.QueryRowContext(ctx, `SELECT coalesce(sum(pgsize) FILTER (WHERE type = 'table'), 0),
			coalesce(sum(pgsize) FILTER (WHERE type = 'index'), 0)
			FROM dbstat JOIN sqlite_schema USING (name)
			WHERE aggregate = TRUE AND tbl_name IN ('`+strings.Join(slices.Sorted(maps.Keys(rows)), "', '")+`')`).Scan(&size.Tables, &size.Indexes)
	})
	size.Bytes = size.Tables + size.Indexes
	return size, f.explain("size", err)
}

// allTables are the workload's tables, those that are not known beforehand included. One
// whose name would have to be quoted is left out.
func (f *file) allTables(ctx context.Context, db *sql.DB) ([]string, error) {
	if !f.kind.Open {
		return f.tables, nil
	}
	rows, err := db.QueryContext(ctx, `SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT GLOB 'sqlite_*'
		AND name <> 'assay_mark' AND name NOT GLOB '*[^A-Za-z0-9_]*' AND name NOT GLOB '[0-9]*' ORDER BY name`)
	if err != nil {
		return nil, err
	}
	var names []string
	defer rows.Close()
	for rows.Next() {
		names = append(names, "")
		if err := rows.Scan(&names[len(names)-1]); err != nil {
			return nil, err
		}
	}
	return names, rows.Err()
}

// countAll counts the rows of these tables.
func (f *file) countAll(ctx context.Context, db *sql.DB) (map[string]int64, error) {
	tables, err := f.allTables(ctx, db)
	if err != nil {
		return nil, err
	}
	rows := make(map[string]int64, len(tables))
	for _, table := range tables {
		var n int64
		if err := db.QueryRowContext(ctx, "SELECT count(*) FROM "+table).Scan(&n); err != nil {
			return nil, err
		}
		rows[table] = n
	}
	return rows, nil
}
