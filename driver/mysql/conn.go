package mysql

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"strconv"

	library "github.com/go-sql-driver/mysql"

	"assay/driver/sqldb"
)

// conn is one connection, used by one goroutine at a time. It goes to the
// library's driver directly: database/sql would send again, over another
// connection, what it believes not to have been done.
//
// A context that ends closes the connection; what was sent may go on in the
// server.
type conn struct {
	raw  driver.Conn
	host *host
	look look
	// encrypted is true if a TLS handshake was completed.
	encrypted bool
}

var _ sqldb.Conn = (*conn)(nil)

func (c *conn) Query(ctx context.Context, text string, row func(sqldb.Row) error, parameters ...sqldb.Value) error {
	return c.query(ctx, scanner(row), string(appendStatement(nil, text, parameters)))
}

func (c *conn) Change(ctx context.Context, text string, parameters ...sqldb.Value) (int64, error) {
	return c.affected(ctx, string(appendStatement(nil, text, parameters)))
}

// affected runs statements and returns how many rows they changed. Of several in one
// text, none is run after the first error.
func (c *conn) affected(ctx context.Context, text string) (int64, error) {
	result, err := c.raw.(driver.ExecerContext).ExecContext(ctx, text, nil)
	if err != nil {
		return 0, err
	}
	return result.RowsAffected()
}

// exec is affected without the number.
func (c *conn) exec(ctx context.Context, text string) error {
	_, err := c.affected(ctx, text)
	return err
}

// query runs statements and gives each row of the first of them that has rows to the
// callback; see sqldb.Reader.
func (c *conn) query(ctx context.Context, row func(values []driver.Value) error, text string) error {
	rows, err := c.raw.(driver.QueryerContext).QueryContext(ctx, text, nil)
	if err != nil {
		return err
	}
	if err := eachRow(rows, row); err != nil {
		if callback := (*rowError)(nil); errors.As(err, &callback) {
			c.HangUp()
			err = callback.err
		}
		_ = rows.Close() // the first error is the one that matters
		return err
	}
	return rows.Close()
}

// rowError carries what a callback returned.
type rowError struct{ err error }

func (e *rowError) Error() string { return e.err.Error() }

// eachRow gives each row of one result. The values are good until the next row.
func eachRow(rows driver.Rows, row func(values []driver.Value) error) error {
	values := make([]driver.Value, len(rows.Columns()))
	for {
		switch err := rows.Next(values); {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		}
		if err := row(values); err != nil {
			return &rowError{err}
		}
	}
}

// Sound implements sqldb.Conn: it reports whether the connection can be used again.
func (c *conn) Sound() bool { return c.raw.(driver.Validator).IsValid() }

// HangUp implements sqldb.Conn: it closes the connection. The error is of no use: it is gone either way.
func (c *conn) HangUp() { _ = c.raw.Close() }

// number reads a value as an integer: the library gives columns of integer types
// as numbers, and sums, which are decimals, as text.
func number(value driver.Value) (int64, error) {
	switch value := value.(type) {
	case int64:
		return value, nil
	case uint64:
		if value > 1<<63-1 {
			return 0, fmt.Errorf("%d is too large", value)
		}
		return int64(value), nil
	case []byte:
		return strconv.ParseInt(string(value), 10, 64)
	default:
		return 0, fmt.Errorf("a value of type %T is not an integer", value)
	}
}

// text reads a value as text; null is empty.
func text(value driver.Value) string {
	switch value := value.(type) {
	case []byte:
		return string(value)
	case string:
		return value
	case nil:
		return ""
	default:
		return fmt.Sprint(value)
	}
}

// pairs runs a query whose rows are a name and a value, such as SHOW VARIABLES.
func (c *conn) pairs(ctx context.Context, query string) (map[string]string, error) {
	values := make(map[string]string)
	err := c.query(ctx, func(row []driver.Value) error {
		if len(row) != 2 {
			return fmt.Errorf("a row of %d columns came where two were asked for", len(row))
		}
		values[text(row[0])] = text(row[1])
		return nil
	}, query)
	return values, err
}

// quiet is the configuration that all connections share.
func quiet() *library.Config {
	config := library.NewConfig()
	config.Net = "tcp"
	config.Logger = &library.NopLogger{}
	config.MultiStatements, config.InterpolateParams = true, true
	return config
}
