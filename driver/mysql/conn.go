package mysql

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	library "github.com/go-sql-driver/mysql"

	"assay/driver/sqldb"
	"assay/store"
)

// raw is a connection of the library, without database/sql, which would resend on another
// connection what it believes was not done.
type raw interface {
	driver.Conn
	driver.ExecerContext
	driver.QueryerContext
	driver.ConnPrepareContext
	driver.SessionResetter
	driver.Validator
}

// conn is a connection. One goroutine at a time uses it. The end of a context closes it; work may
// go on in the server. Parameters are written into the statements.
type conn struct {
	raw       raw
	format    *sqldb.Format[driver.Value]
	host      *host
	look      look
	level     string // the session's isolation level, as the server shows it
	encrypted bool
	answer    driver.Rows
}

var _ sqldb.Conn = (*conn)(nil)

func format() *sqldb.Format[driver.Value] { return sqldb.StandardFormat(readElements) }

func (c *conn) Query(ctx context.Context, text string, row func(store.Row) error, parameters ...store.Value) error {
	return c.values(ctx, c.scanner(row), string(bind(nil, text, parameters)))
}

func (c *conn) Change(ctx context.Context, text string, parameters ...store.Value) (int64, error) {
	return c.execute(ctx, bind(nil, text, parameters))
}

// execute runs a text and counts the changed rows. After the first error, no further statement of
// the text is run.
func (c *conn) execute(ctx context.Context, text []byte) (int64, error) {
	result, err := c.raw.ExecContext(ctx, string(text), nil)
	if err != nil {
		return 0, err
	}
	return result.RowsAffected()
}

// values calls row with the library's values of each row, valid until the callback returns.
func (c *conn) values(ctx context.Context, row func([]driver.Value) error, text string) error {
	rows, err := c.raw.QueryContext(ctx, text, nil)
	if err != nil {
		return err
	}
	c.answer = rows
	if err := eachRow(rows, row); err != nil {
		if callback := (*callbackError)(nil); errors.As(err, &callback) {
			c.HangUp()
			err = callback.err
		}
		_ = rows.Close() // the first error is the one that matters
		return err
	}
	return rows.Close()
}

type callbackError struct{ err error }

func (e *callbackError) Error() string { return e.err.Error() }

// eachRow calls row with each row of one result. The values are valid until the next row.
func eachRow(rows driver.Rows, row func([]driver.Value) error) error {
	values := make([]driver.Value, len(rows.Columns()))
	for {
		switch err := rows.Next(values); {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		}
		if err := row(values); err != nil {
			return &callbackError{err}
		}
	}
}

// receive gives a result's rows to a call. It returns an error if their count is not the call's
// Want.
func (c *conn) receive(call *store.Call, each func(row func([]driver.Value) error) error) error {
	seen := 0
	scan := c.scanner(call.Row)
	err := each(func(values []driver.Value) error {
		seen++
		return scan(values)
	})
	if err == nil {
		err = call.Wanted(seen)
	}
	return err
}

func (c *conn) Sound() bool { return c.raw.IsValid() }

// HangUp implements sqldb.Conn. An error would not matter.
func (c *conn) HangUp() { _ = c.raw.Close() }

// pairs runs a query of names and values, such as SHOW VARIABLES.
func (c *conn) pairs(ctx context.Context, query string) (map[string]string, error) {
	values := make(map[string]string)
	err := c.values(ctx, func(row []driver.Value) error {
		if len(row) != 2 {
			return fmt.Errorf("a row of %d columns came where two were asked for", len(row))
		}
		values[sqldb.TextOf(row[0])] = sqldb.TextOf(row[1])
		return nil
	}, query)
	return values, err
}

type row struct {
	values []driver.Value
	conn   *conn
}

func (r *row) Scan(into ...any) error { return sqldb.ScanRow(r.conn.format, r.values, into) }

// AppendValues implements store.Row. The library returns decimals, and so sums, as text; the
// answer's description distinguishes them.
func (r *row) AppendValues(into []any) ([]any, error) {
	for i, value := range r.values {
		v, err := r.value(i, value)
		if err != nil {
			return into, err
		}
		into = append(into, v)
	}
	return into, nil
}

func (r *row) value(i int, value driver.Value) (any, error) {
	text, is := value.([]byte)
	types, can := r.conn.answer.(driver.RowsColumnTypeDatabaseTypeName)
	if !is || !can || types.ColumnTypeDatabaseTypeName(i) != "DECIMAL" {
		return sqldb.StandardValue(value)
	}
	if n, err := strconv.ParseInt(string(text), 10, 64); err == nil {
		return n, nil
	}
	return strconv.ParseFloat(string(text), 64)
}

func (c *conn) scanner(use func(store.Row) error) func([]driver.Value) error {
	r := row{conn: c}
	return func(values []driver.Value) error {
		r.values = values
		return use(&r)
	}
}

// bind appends a statement with its parameters in place of $1, $2, ...
func bind(b []byte, text string, parameters []store.Value) []byte {
	for {
		at := strings.IndexByte(text, '$')
		if at < 0 || at+1 == len(text) {
			return append(b, text...)
		}
		n, end := 0, at+1
		for end < len(text) && text[end] >= '0' && text[end] <= '9' {
			n, end = 10*n+int(text[end]-'0'), end+1
		}
		if n == 0 || n > len(parameters) {
			b, text = append(b, text[:end]...), text[end:]
			continue
		}
		b = appendValue(append(b, text[:at]...), parameters[n-1])
		text = text[end:]
	}
}

func bindRows(b []byte, table string, rows store.Rows) []byte {
	b = append(b, "INSERT INTO "+table+" ("+strings.Join(rows.Columns, ", ")+") VALUES "...)
	var values []store.Value
	for i := range rows.Count {
		values = rows.Row(i, values[:0])
		for n, v := range values {
			switch {
			case n > 0:
				b = append(b, ',')
			case i > 0:
				b = append(b, ",("...)
			default:
				b = append(b, '(')
			}
			b = appendValue(b, v)
		}
		b = append(b, ')')
	}
	return b
}

func baseConfig() *library.Config {
	config := library.NewConfig()
	config.Logger = &library.NopLogger{}
	config.MultiStatements, config.InterpolateParams = true, true
	return config
}
