package sqlite

import (
	"context"
	"database/sql"
	"encoding/json"
	"slices"
	"strings"

	"assay/workload"
)

// objects are all that is in the file but for the mark, and what SQLite makes by itself:
// indexes of constraints and its statistics.
func objects(ctx context.Context, db execer) (found []string, err error) {
	rows, err := db.QueryContext(ctx, `SELECT type, name, tbl_name FROM sqlite_schema WHERE name NOT GLOB 'sqlite_*' AND name <> 'assay_mark' ORDER BY rowid`)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var kind, name, table string
		if err := rows.Scan(&kind, &name, &table); err != nil {
			return nil, err
		}
		found = append(found, object(kind, name, table))
	}
	return found, rows.Err()
}

// execer is a *sql.DB or *sql.Conn.
type execer interface {
	querier
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
}

func object(kind, name, table string) string {
	if kind == "index" || kind == "trigger" {
		return kind + " " + name + " on " + table
	}
	return kind + " " + name
}

// made are the objects that Create and FinishLoad make, or that a user's setup made, as
// the mark says. Files of earlier versions have no such note.
func (f *file) made(ctx context.Context, db querier) (names []string, err error) {
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
	if err := db.QueryRowContext(ctx, "SELECT count(*) FROM pragma_table_info('assay_mark') WHERE name = 'made'").Scan(&noted); err != nil || noted == 0 {
		return nil, err
	}
	if err := db.QueryRowContext(ctx, "SELECT made FROM assay_mark").Scan(&text); err != nil || text == "" {
		return nil, err
	}
	return names, json.Unmarshal([]byte(text), &names)
}

// recordMade has the mark name what is in the file, as what a user's setup has made.
func recordMade(ctx context.Context, db execer) error {
	found, err := objects(ctx, db)
	if err != nil {
		return err
	}
	text, err := json.Marshal(found)
	if err == nil {
		_, err = db.ExecContext(ctx, "UPDATE assay_mark SET made = ?", string(text))
	}
	return err
}

// RecordMade implements store.Database.
func (f *file) RecordMade(ctx context.Context) error {
	return f.asWriter(ctx, "note what was made", func() error {
		return using(f.writing, func(db *sql.DB) error { return recordMade(ctx, db) })
	})
}

// unowned gives *workload.ForeignError if there is something in a file of ours that assay
// did not make.
func (f *file) unowned(ctx context.Context, db execer) error {
	ours, err := f.made(ctx, db)
	if err != nil {
		return err
	}
	found, err := objects(ctx, db)
	if err != nil {
		return err
	}
	others := slices.DeleteFunc(found, func(object string) bool {
		return slices.ContainsFunc(ours, func(name string) bool { return strings.EqualFold(name, object) })
	})
	if len(others) == 0 {
		return nil
	}
	return &workload.ForeignError{Name: "file " + f.name, Others: others, Hint: "drop it or move it to another file, or name another file"}
}

// Blocked implements workload.Store: SQLite gives up waiting for another process by itself,
// after lockTimeout.
func (f *file) Blocked(context.Context) (string, error) { return "", nil }

// Removable implements workload.Store.
func (f *file) Removable(ctx context.Context) error {
	m, err := f.Marker(ctx)
	if err != nil || m == nil {
		return err
	}
	return f.explainOthers("look for what others have made", using(f.existing, func(db *sql.DB) error { return f.unowned(ctx, db) }))
}
