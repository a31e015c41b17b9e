package sqlite

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"assay/driver/ownership"
	"assay/driver/sqldb"
	"assay/store"
)

// dialect is SQLite's SQL. An integer key is the rowid, which clusters the table. A table with
// another key has no rowid, and so no second tree. A list is JSON, so that one statement can append
// to it.
func dialect() sqldb.Dialect {
	return sqldb.Dialect{
		Prefix: "assay_", Quote: `"`, IndexPrefix: "assay_",
		Types: map[store.Type]string{
			store.Integer: "INTEGER", store.Boolean: "INTEGER", store.String: "TEXT", store.ASCII: "TEXT",
			store.UUID: "BLOB", store.Ints: "TEXT",
		},
		NotNull: " NOT NULL", Derived: " NOT NULL",
		Key:         " PRIMARY KEY",
		LateIndexes: true,
		Options:     " STRICT", KeyedOptions: ", WITHOUT ROWID",
		Returning: true,
		In:        "IN (SELECT value FROM json_each(%s))",
		Upsert:    " ON CONFLICT (%s) DO UPDATE SET ",
		Sum:       "coalesce(sum(%s), 0)",
		NewList:   "json_array(%[3]s)",
		Append:    "json_insert(%[1]s, '$[#]', %[3]s)",
	}
}

// Load implements store.Database by a prepared INSERT for each row, in one transaction.
func (f *file) Load(ctx context.Context, rows store.Rows) error {
	return f.asWriter(ctx, "load "+rows.Table+"s", func() error { return f.load(ctx, rows) })
}

func (f *file) load(ctx context.Context, rows store.Rows) (err error) {
	if f.loader == nil {
		if f.loader, err = f.newConnection(ctx, nil); err != nil {
			return err
		}
	}
	return f.loader.transact(f.loader.inserting(rows)).Err
}

func (f *file) insertText(rows store.Rows) string {
	return "INSERT INTO " + f.sql.Table(rows.Table) + " (" + strings.Join(rows.Columns, ", ") + ") VALUES (?" +
		strings.Repeat(", ?", len(rows.Columns)-1) + ")"
}

func (h *handle) insert(insert statement, rows store.Rows) error {
	var values []store.Value
	for i := range rows.Count {
		values = rows.Row(i, values[:0])
		if _, err := h.execute(insert, values); err != nil {
			return fmt.Errorf("row %d: %w", i, err)
		}
	}
	return nil
}

func (f *file) FinishLoad(ctx context.Context) error {
	late := f.sql.Late(f.kind.Tables)
	if f.kind.Open || slices.ContainsFunc(f.kind.Tables, func(t store.Table) bool { return t.Loaded && t.Indexes != nil }) {
		late = append(late, "ANALYZE") // of the indexes; there is nothing to tell of a table
	}
	return f.asWriter(ctx, "finish load", func() error {
		err := within(ctx, f.writingName(), func(h *handle) error {
			if f.kind.Open {
				if err := recordMade(ctx, h); err != nil {
					return err
				}
			}
			return h.change(ctx, append(late, "PRAGMA wal_checkpoint(TRUNCATE)")...)
		})
		if err == nil {
			err = f.SetLoaded(ctx, ownership.Direct{})
		}
		return errors.Join(err, f.closeLoader())
	})
}

func (f *file) connect(ctx context.Context, statements []sqldb.Statement) (sqldb.Connection, error) {
	texts := make([]string, len(statements))
	names := make([]string, len(statements))
	for i, s := range statements {
		names[i], texts[i] = s.Name, numbered(s.Text)
	}
	c, err := f.dial(ctx, texts...)
	if err != nil {
		return nil, err
	}
	c.names = names
	return c, nil
}

func numbered(text string) string {
	b := []byte(text)
	for i := range len(b) - 1 {
		if b[i] == '$' && b[i+1] >= '0' && b[i+1] <= '9' {
			b[i] = '?'
		}
	}
	return string(b)
}

func (f *file) Session(ctx context.Context, statements []store.Statement) (store.Session, error) {
	return sqldb.SessionOn(ctx, &f.sql, &f.kind, statements, f.connect)
}

func (f *file) View(ctx context.Context, read func(store.Reader) error) error {
	if err := f.mustExist(ctx); err != nil {
		return err
	}
	return f.explain("read", f.reading(ctx, read))
}
