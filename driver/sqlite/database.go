package sqlite

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"assay/driver/sqldb"
)

// dialect is SQLite's SQL. A table is clustered by an integer key, which is its
// rowid, so that it needs no index beside it; with another key it has no rowid, and
// so needs no second tree either.
//
// A list is JSON, which SQLite appends to in one statement.
func dialect() sqldb.Dialect {
	return sqldb.Dialect{
		Prefix: "assay_", IndexPrefix: "assay_",
		Types: map[sqldb.Type]string{
			sqldb.Integer: "INTEGER", sqldb.Boolean: "INTEGER", sqldb.String: "TEXT", sqldb.ASCII: "TEXT",
			sqldb.UUID: "BLOB", sqldb.Ints: "TEXT",
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

func (f *file) Dialect() *sqldb.Dialect { return &f.sql }
func (f *file) Tables() []sqldb.Table   { return f.kind.Tables }

// Load implements sqldb.Database: a prepared INSERT for each row, all in one
// transaction, is what one statement is for a server.
func (f *file) Load(ctx context.Context, rows sqldb.Rows) error {
	return f.asWriter(ctx, "load "+rows.Table+"s", func() error { return f.load(ctx, rows) })
}

func (f *file) load(ctx context.Context, rows sqldb.Rows) (err error) {
	if f.loader == nil {
		if f.loader, err = f.writing(); err != nil {
			return err
		}
		f.loader.SetMaxIdleConns(1)
	}
	tx, err := f.loader.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, rolledBack(tx.Rollback()))
		}
	}()
	insert, err := tx.PrepareContext(ctx, f.insertText(rows))
	if err != nil {
		return err
	}
	defer insert.Close()
	if err := insertRows(ctx, insert, rows); err != nil {
		return err
	}
	return tx.Commit()
}

// insertText is the INSERT of one row.
func (f *file) insertText(rows sqldb.Rows) string {
	return "INSERT INTO " + f.sql.Table(rows.Table) + " (" + strings.Join(rows.Columns, ", ") + ") VALUES (?" +
		strings.Repeat(", ?", len(rows.Columns)-1) + ")"
}

func insertRows(ctx context.Context, insert *sql.Stmt, rows sqldb.Rows) error {
	var values []sqldb.Value
	var plain []any
	for i := range rows.Count {
		values = rows.Row(i, values[:0])
		plain = arguments(plain[:0], values)
		if _, err := insert.ExecContext(ctx, plain...); err != nil {
			return fmt.Errorf("row %d: %w", i, err)
		}
	}
	return nil
}

func (f *file) FinishLoad(ctx context.Context) error {
	late := f.sql.Late(f.kind.Tables)
	if f.kind.Open || slices.ContainsFunc(f.kind.Tables, func(t sqldb.Table) bool { return t.Loaded && t.Indexes != nil }) {
		late = append(late, "ANALYZE") // of the indexes; there is nothing to tell of a table
	}
	return f.asWriter(ctx, "finish load", func() error {
		err := using(f.writing, func(db *sql.DB) error {
			return execute(ctx, db, append(late, "UPDATE assay_mark SET loaded = 1", "PRAGMA wal_checkpoint(TRUNCATE)")...)
		})
		return errors.Join(err, f.closeLoader())
	})
}

// execute runs these statements, up to the first that fails.
func execute(ctx context.Context, db *sql.DB, statements ...string) error {
	for _, statement := range statements {
		if _, err := db.ExecContext(ctx, statement); err != nil {
			return err
		}
	}
	return nil
}

func (f *file) Connect(ctx context.Context, statements []sqldb.Statement) (sqldb.Connection, error) {
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

// numbered is a statement with its parameters as SQLite writes them: ?1 for $1.
func numbered(text string) string {
	b := []byte(text)
	for i := range len(b) - 1 {
		if b[i] == '$' && b[i+1] >= '0' && b[i+1] <= '9' {
			b[i] = '?'
		}
	}
	return string(b)
}

func (f *file) View(ctx context.Context, read func(sqldb.Reader) error) error {
	if err := f.mustExist(ctx); err != nil {
		return err
	}
	return f.explain("read", f.reading(ctx, func(tx *sql.Tx) error { return read(reader{tx}) }))
}

// reader runs queries in a transaction.
type reader struct{ tx *sql.Tx }

func (r reader) Query(ctx context.Context, text string, row func(sqldb.Row) error, parameters ...sqldb.Value) error {
	rows, err := r.tx.QueryContext(ctx, numbered(text), arguments(nil, parameters)...)
	if err != nil {
		return err
	}
	return eachRow(rows, row)
}

// eachRow gives the rows to the callback and closes them.
func eachRow(rows *sql.Rows, row func(sqldb.Row) error) (err error) {
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		if err := row(columns{rows}); err != nil {
			return err
		}
	}
	return rows.Err()
}

// arguments appends parameters as the library takes them.
func arguments(into []any, parameters []sqldb.Value) []any {
	for _, v := range parameters {
		switch v.Kind {
		case sqldb.Text:
			into = append(into, v.Text)
		case sqldb.Bytes:
			into = append(into, v.Bytes)
		case sqldb.List, sqldb.Keys:
			into = append(into, listText(v.Numbers))
		case sqldb.Real:
			into = append(into, v.Real)
		case sqldb.Nothing:
			into = append(into, nil)
		default:
			into = append(into, v.Number)
		}
	}
	return into
}

// listText is a list as JSON.
func listText(numbers []int64) string {
	b := []byte{'['}
	for i, n := range numbers {
		if i > 0 {
			b = append(b, ',')
		}
		b = strconv.AppendInt(b, n, 10)
	}
	return string(append(b, ']'))
}

// columns is the row that rows stand at, as a sqldb.Row.
type columns struct{ rows *sql.Rows }

func (c columns) Scan(into ...any) error {
	for i, to := range into {
		if list, is := to.(*[]int64); is {
			into = slices.Clone(into)
			into[i] = (*jsonList)(list)
		}
	}
	return c.rows.Scan(into...)
}

// jsonList is a list that is read from JSON, as a sql.Scanner.
type jsonList []int64

func (l *jsonList) Scan(value any) error {
	*l = (*l)[:0]
	return json.Unmarshal([]byte(sqldb.TextOf(value)), (*[]int64)(l))
}
