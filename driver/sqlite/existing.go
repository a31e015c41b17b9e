package sqlite

import (
	"context"
	"errors"
	"io/fs"
	"os"

	"assay/driver/sqldb"
	"assay/store"
)

var _ store.ExistingTables = (*file)(nil)

// CheckShape implements store.ExistingTables. It also learns the file's journal mode, which stays.
func (f *file) CheckShape(ctx context.Context) error {
	info, err := os.Stat(f.path)
	if err == nil && info.IsDir() || errors.Is(err, fs.ErrNotExist) {
		return &store.OptionError{Option: "file", Value: f.name, Want: "one that is there, with the tables in it"}
	}
	quoted := map[string]string{}
	err = within(ctx, f.existingName(), func(h *handle) error {
		if err := sqldb.One(ctx, h, "PRAGMA journal_mode", nil, &f.journal); err != nil {
			return err
		}
		for i := range f.kind.Tables {
			t := &f.kind.Tables[i]
			shape, err := shapeOf(ctx, h, t.Name)
			if err == nil {
				err = shape.Check(t)
			}
			if err != nil {
				return err
			}
			shape.Quote(t, f.sql.Quote, quoted)
		}
		return nil
	})
	f.sql.Reserved = quoted
	if different, is := errors.AsType[*store.ShapeError](err); is {
		return different
	}
	return f.explain("look at the existing tables", err)
}

// Attached implements store.ExistingTables. A key's ON CONFLICT clause is only in the table's text
// (https://www.sqlite.org/lang_conflict.html).
func (f *file) Attached(ctx context.Context, table string) (all []store.Attachment, err error) {
	err = within(ctx, f.existingName(), func(h *handle) error {
		return h.Query(ctx, `SELECT 'trigger ' || name, true FROM sqlite_schema WHERE type = 'trigger' AND tbl_name = $1 COLLATE NOCASE
			UNION ALL SELECT 'the view itself', true FROM sqlite_schema WHERE type = 'view' AND name = $1 COLLATE NOCASE
			UNION ALL SELECT 'its clause ON CONFLICT IGNORE or REPLACE', true FROM sqlite_schema WHERE type = 'table' AND name = $1 COLLATE NOCASE
				AND (upper(sql) LIKE '%ON%CONFLICT%IGNORE%' OR upper(sql) LIKE '%ON%CONFLICT%REPLACE%')
			UNION ALL SELECT 'foreign key to ' || "table" || ', on delete ' || lower(on_delete), false FROM pragma_foreign_key_list($1)
			UNION ALL SELECT 'unique index ' || name, false FROM pragma_index_list($1) WHERE "unique" AND origin <> 'pk'`, func(row store.Row) error {
			a := store.Attachment{Table: table}
			err := row.Scan(&a.Text, &a.Alters)
			all = append(all, a)
			return err
		}, store.OfText(table))
	})
	return all, f.explain("look at what hangs on the existing tables", err)
}

// shapeOf is a table's shape. A column without a type can hold text.
func shapeOf(ctx context.Context, h *handle, table string) (sqldb.Shape, error) {
	s := sqldb.Shape{Table: table, Name: []string{table}, Missing: "name the file that has it in the address"}
	name := []store.Value{store.OfText(table)}
	err := h.Query(ctx, `SELECT CASE WHEN upper(sql) LIKE 'CREATE VIRTUAL%' THEN 'virtual table' ELSE type END FROM sqlite_schema WHERE name = $1 COLLATE NOCASE AND type IN ('table', 'view')`, func(row store.Row) error {
		s.Missing = ""
		err := row.Scan(&s.Kind)
		if s.Kind == "table" {
			s.Kind = ""
		}
		return err
	}, name...)
	if err != nil {
		return s, err
	}
	err = h.Query(ctx, `SELECT name, lower(coalesce(nullif(type, ''), 'text')), "notnull" AND dflt_value IS NULL AND pk = 0, hidden IN (2, 3), pk > 0
		FROM pragma_table_xinfo($1) ORDER BY pk`, func(row store.Row) error {
		var f sqldb.Field
		var key bool
		err := row.Scan(&f.Name, &f.Type, &f.Demanded, &f.Generated, &key)
		s.Fields = append(s.Fields, f)
		if key {
			s.Key = append(s.Key, f.Name)
		}
		return err
	}, name...)
	return s, err
}
