package sqlite

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"

	"assay/driver/sqldb"
	"assay/store"
)

// reading calls read in a transaction on a connection of its own. It sees one snapshot
// (https://www.sqlite.org/isolation.html), fixed by the first SELECT. With a rollback journal it
// holds up writers.
func (f *file) reading(ctx context.Context, read func(store.Reader) error) error {
	return within(ctx, f.existingName(), func(h *handle) error {
		if err := h.change(context.Background(), "BEGIN"); err != nil {
			return err
		}
		return errors.Join(read(sqldb.ReaderOf(h, &f.sql, &f.kind, isNoTable)), h.change(context.Background(), "ROLLBACK"))
	})
}

// isNoTable looks at the text, since SQLite has no code for a missing table.
func isNoTable(err error) bool { return strings.Contains(err.Error(), "no such table") }

// mustExist returns *store.NoSchemaError if there is nothing of assay's.
func (f *file) mustExist(ctx context.Context) error {
	ours, err := f.look(ctx)
	if err == nil && !ours {
		err = &store.NoSchemaError{Name: f.name}
	}
	return err
}

// Size implements store.Administration. It empties the write-ahead log into the file and asks
// dbstat, which visits every page (https://www.sqlite.org/dbstat.html).
func (f *file) Size(ctx context.Context) (store.Size, error) {
	if err := f.mustExist(ctx); err != nil {
		return store.Size{}, err
	}
	if err := f.write(ctx); err != nil {
		return store.Size{}, f.explain("size", err)
	}
	defer f.done()
	var size store.Size
	err := within(ctx, f.existingName(), func(h *handle) error {
		rows, err := f.countAll(ctx, h)
		if err != nil {
			return err
		}
		size.Rows = rows
		if err := h.change(ctx, "PRAGMA wal_checkpoint(TRUNCATE)"); err != nil {
			return err
		}
		return sqldb.One(ctx, h, `SELECT coalesce(sum(pgsize) FILTER (WHERE type = 'table'), 0),
			coalesce(sum(pgsize) FILTER (WHERE type = 'index'), 0)
			FROM dbstat JOIN sqlite_schema USING (name)
			WHERE aggregate = TRUE AND tbl_name IN ('`+strings.Join(slices.Sorted(maps.Keys(rows)), "', '")+`')`, nil, &size.Tables, &size.Indexes)
	})
	size.Bytes = size.Tables + size.Indexes
	return size, f.explain("size", err)
}

// allTables are all tables of the workload, except those whose names need quotes.
func (f *file) allTables(ctx context.Context, h *handle) (names []string, err error) {
	if !f.kind.Open {
		return f.tables, nil
	}
	err = h.Query(ctx, `SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT GLOB 'sqlite_*'
		AND name <> 'assay_mark' AND name NOT GLOB '*[^A-Za-z0-9_]*' AND name NOT GLOB '[0-9]*' ORDER BY name`, func(row store.Row) error {
		names = append(names, "")
		return row.Scan(&names[len(names)-1])
	})
	return names, err
}

func (f *file) countAll(ctx context.Context, h *handle) (map[string]int64, error) {
	tables, err := f.allTables(ctx, h)
	if err != nil {
		return nil, err
	}
	rows := make(map[string]int64, len(tables))
	for _, table := range tables {
		var n int64
		err := sqldb.One(ctx, h, "SELECT count(*) FROM "+table, nil, &n)
		if err != nil && !isNoTable(err) { // somebody dropped it
			return nil, err
		}
		rows[table] = n
	}
	return rows, nil
}
