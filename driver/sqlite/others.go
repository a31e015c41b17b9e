package sqlite

import (
	"context"
	"encoding/json"
	"slices"
	"strings"

	"assay/driver/ownership"
	"assay/driver/sqldb"
	"assay/store"
)

// objects lists what is in the file, without the mark, indexes of constraints and SQLite's
// statistics.
func objects(ctx context.Context, h *handle) (found []string, err error) {
	err = h.Query(ctx, `SELECT type, name, tbl_name FROM sqlite_schema WHERE name NOT GLOB 'sqlite_*' AND name <> 'assay_mark' ORDER BY rowid`, func(row store.Row) error {
		var kind, name, table string
		err := row.Scan(&kind, &name, &table)
		found = append(found, object(kind, name, table))
		return err
	})
	return found, err
}

func object(kind, name, table string) string {
	if kind == "index" || kind == "trigger" {
		return kind + " " + name + " on " + table
	}
	return kind + " " + name
}

// made lists the objects of Create and FinishLoad, and those of a user's setup in the mark. Files
// of earlier versions have no such note.
func (f *file) made(ctx context.Context, h *handle) (names []string, err error) {
	for _, t := range f.kind.Tables {
		names = append(names, object("table", f.sql.Table(t.Name), ""))
		for _, i := range t.Indexes {
			names = append(names, object("index", f.sql.IndexPrefix+i.Name, f.sql.Table(t.Name)))
		}
	}
	if !f.kind.Open {
		return names, nil
	}
	var noted int
	var text string
	if err := sqldb.One(ctx, h, "SELECT count(*) FROM pragma_table_info('assay_mark') WHERE name = 'made'", nil, &noted); err != nil || noted == 0 {
		return nil, err
	}
	if err := sqldb.One(ctx, h, "SELECT made FROM assay_mark", nil, &text); err != nil || text == "" {
		return nil, err
	}
	return names, json.Unmarshal([]byte(text), &names)
}

// recordMade notes the file's objects in the mark as the setup's.
func recordMade(ctx context.Context, h *handle) error {
	found, err := objects(ctx, h)
	if err != nil {
		return err
	}
	text, err := json.Marshal(found)
	if err == nil {
		err = h.changeBy(ctx, "UPDATE assay_mark SET made = $1", store.OfText(string(text)))
	}
	return err
}

func (f *file) RecordMade(ctx context.Context) error {
	return f.asWriter(ctx, "note what was made", func() error {
		return within(ctx, f.writingName(), func(h *handle) error { return recordMade(ctx, h) })
	})
}

// unowned returns *store.ForeignError if the file has objects that assay did not make.
func (f *file) unowned(ctx context.Context, h *handle) error {
	ours, err := f.made(ctx, h)
	if err != nil {
		return err
	}
	found, err := objects(ctx, h)
	if err != nil {
		return err
	}
	others := slices.DeleteFunc(found, func(object string) bool {
		return slices.ContainsFunc(ours, func(name string) bool { return strings.EqualFold(name, object) })
	})
	if len(others) == 0 {
		return nil
	}
	return &store.ForeignError{Name: "file " + f.name, Others: others, Hint: "drop it or move it to another file, or name another file"}
}

// Blocked implements store.Administration. SQLite itself gives up after lockTimeout.
func (f *file) Blocked(context.Context) (string, error) { return "", nil }

func (f *file) Others(ctx context.Context, _ ownership.Direct) error {
	return f.explainOthers("look for what others have made", within(ctx, f.existingName(), func(h *handle) error { return f.unowned(ctx, h) }))
}
