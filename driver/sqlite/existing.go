package sqlite

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"strings"

	"assay/driver/sqldb"
	"assay/store"
)

var _ store.ExistingTables = (*file)(nil)

// WorkFor implements store.ExistingTables: a file's sessions are those of this process.
func (f *file) WorkFor(holder store.Holder) { f.taken.Set(holder) }

// CheckShape implements store.ExistingTables. It learns how the file keeps its journal, which
// stays so.
func (f *file) CheckShape(ctx context.Context) error {
	info, err := os.Stat(f.path)
	if err == nil && info.IsDir() || errors.Is(err, fs.ErrNotExist) {
		return &store.OptionError{Option: "file", Value: f.name, Want: "one that is there, with the tables in it"}
	}
	err = within(ctx, f.existingName(), func(h *handle) error {
		if err := sqldb.One(ctx, h, "PRAGMA journal_mode", nil, &f.journal); err != nil {
			return err
		}
		for i := range f.kind.Tables {
			shape, err := shapeOf(ctx, h, f.kind.Tables[i].Name)
			if err == nil {
				err = shape.Check(&f.kind.Tables[i])
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
	if different, is := errors.AsType[*store.ShapeError](err); is {
		return different
	}
	return f.explain("look at the existing tables", err)
}

// shapeOf is the shape of a table. A column without a type can hold text.
func shapeOf(ctx context.Context, h *handle, table string) (sqldb.Shape, error) {
	s := sqldb.Shape{Table: table, Missing: "name the file that has it in the address"}
	name := []store.Value{store.OfText(table)}
	err := h.Query(ctx, `SELECT type FROM sqlite_schema WHERE name = $1 COLLATE NOCASE AND type IN ('table', 'view')`, func(row store.Row) error {
		s.Missing = ""
		err := row.Scan(&s.Kind)
		s.Kind = strings.TrimPrefix(s.Kind, "table")
		return err
	}, name...)
	if err != nil {
		return s, err
	}
	err = h.Query(ctx, `SELECT name, lower(coalesce(nullif(type, ''), 'text')), "notnull" AND dflt_value IS NULL AND pk = 0, pk > 0
		FROM pragma_table_info($1) ORDER BY pk`, func(row store.Row) error {
		var f sqldb.Field
		var key bool
		err := row.Scan(&f.Name, &f.Type, &f.Demanded, &key)
		s.Fields = append(s.Fields, f)
		if key {
			s.Key = append(s.Key, f.Name)
		}
		return err
	}, name...)
	return s, err
}
