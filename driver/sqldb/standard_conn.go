package sqldb

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"assay/store"
)

// Parameter appends a parameter to a statement: as a literal or, with one more
// argument, as the place for it.
type Parameter func(b []byte, v store.Value, arguments []driver.NamedValue) ([]byte, []driver.NamedValue)

// StandardConn is all of a Conn but Ping over a connection of a driver of the standard
// library's kind (database/sql/driver), which can execute and query without preparing.
// It goes there directly: database/sql would send again, over another connection, what
// it believes not to have been done.
type StandardConn struct {
	Raw       driver.Conn
	Parameter Parameter
	Format    *Format[driver.Value]
	// answer is the one whose rows a callback looks at.
	answer driver.Rows
}

func (c *StandardConn) Query(ctx context.Context, text string, row func(store.Row) error, parameters ...store.Value) error {
	return c.Values(ctx, c.scanner(row), text, parameters...)
}

func (c *StandardConn) Change(ctx context.Context, text string, parameters ...store.Value) (int64, error) {
	bound, arguments := c.Bind(nil, text, parameters, nil)
	return c.Execute(ctx, bound, arguments)
}

// Execute runs a text as it is, and says how many rows it has changed. Of several
// statements in one text, none is run after the first error.
func (c *StandardConn) Execute(ctx context.Context, text []byte, arguments []driver.NamedValue) (int64, error) {
	result, err := c.Raw.(driver.ExecerContext).ExecContext(ctx, string(text), arguments)
	if err != nil {
		return 0, err
	}
	return result.RowsAffected()
}

// Values is Query with the values as the library has them, which are good until the
// callback returns.
func (c *StandardConn) Values(ctx context.Context, row func([]driver.Value) error, text string, parameters ...store.Value) error {
	bound, arguments := c.Bind(nil, text, parameters, nil)
	return c.values(ctx, row, bound, arguments)
}

func (c *StandardConn) values(ctx context.Context, row func([]driver.Value) error, text []byte, arguments []driver.NamedValue) error {
	rows, err := c.Raw.(driver.QueryerContext).QueryContext(ctx, string(text), arguments)
	if err != nil {
		return err
	}
	c.answer = rows
	if err := EachRow(rows, row); err != nil {
		if callback := (*callbackError)(nil); errors.As(err, &callback) {
			c.HangUp()
			err = callback.err
		}
		_ = rows.Close() // the first error is the one that matters
		return err
	}
	return rows.Close()
}

// callbackError carries what a callback returned.
type callbackError struct{ err error }

func (e *callbackError) Error() string { return e.err.Error() }

// EachRow gives each row of one result to a callback. The values are good until the
// next row.
func EachRow(rows driver.Rows, row func([]driver.Value) error) error {
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

// Receive gives the rows of one result to a call, and is nil if as many came as are
// wanted.
func (c *StandardConn) Receive(rows driver.Rows, call *store.Call) error {
	return c.receive(call, func(row func([]driver.Value) error) error { return EachRow(rows, row) })
}

// receive is Receive of the rows that each gives to a callback.
func (c *StandardConn) receive(call *store.Call, each func(row func([]driver.Value) error) error) error {
	seen := 0
	scan := c.scanner(call.Row)
	err := each(func(values []driver.Value) error {
		seen++
		return scan(values)
	})
	if err == nil && call.Want > 0 && seen != call.Want {
		err = fmt.Errorf("the server gave %d rows where %d were asked for", seen, call.Want)
	}
	return err
}

// Sound implements Conn, unless the library cannot tell.
func (c *StandardConn) Sound() bool {
	v, can := c.Raw.(driver.Validator)
	return !can || v.IsValid()
}

// HangUp implements Conn. The error is of no use: the connection is gone either way.
func (c *StandardConn) HangUp() { _ = c.Raw.Close() }

// standardRow is a row as a Row.
type standardRow struct {
	values []driver.Value
	conn   *StandardConn
}

func (r *standardRow) Scan(into ...any) error { return ScanRow(r.conn.Format, r.values, into) }

// scanner gives each row to a callback as a Row.
func (c *StandardConn) scanner(row func(store.Row) error) func([]driver.Value) error {
	r := standardRow{conn: c}
	return func(values []driver.Value) error {
		r.values = values
		return row(&r)
	}
}

// Bind appends a statement with its parameters for $1, $2, ...
func (c *StandardConn) Bind(b []byte, text string, parameters []store.Value, arguments []driver.NamedValue) ([]byte, []driver.NamedValue) {
	for {
		at := strings.IndexByte(text, '$')
		if at < 0 || at+1 == len(text) {
			return append(b, text...), arguments
		}
		n, end := 0, at+1
		for end < len(text) && text[end] >= '0' && text[end] <= '9' {
			n, end = 10*n+int(text[end]-'0'), end+1
		}
		if n == 0 || n > len(parameters) {
			b, text = append(b, text[:end]...), text[end:]
			continue
		}
		b, arguments = c.Parameter(append(b, text[:at]...), parameters[n-1], arguments)
		text = text[end:]
	}
}

// bindRows appends one INSERT of all rows.
func (c *StandardConn) bindRows(b []byte, table string, rows store.Rows, arguments []driver.NamedValue) ([]byte, []driver.NamedValue) {
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
			b, arguments = c.Parameter(b, v, arguments)
		}
		b = append(b, ')')
	}
	return b, arguments
}

// Put adds rows by one INSERT.
func (c *StandardConn) Put(ctx context.Context, table string, rows store.Rows) error {
	if rows.Count == 0 {
		return nil
	}
	text, arguments := c.bindRows(nil, table, rows, nil)
	n, err := c.Execute(ctx, text, arguments)
	if err == nil && n != int64(rows.Count) {
		err = fmt.Errorf("the server took %d of %d rows of %s", n, rows.Count, rows.Table)
	}
	return err
}

// IntegerOf reads a value as an integer: some libraries give decimals, which sums are,
// as text.
func IntegerOf(value driver.Value) (int64, error) {
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

// TextOf reads a value as text; null is empty.
func TextOf(value driver.Value) string {
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

// StandardFormat is the Format of a library that gives integers as numbers or text,
// booleans as such or as numbers, and all else as text or bytes, whose lists this
// function reads.
func StandardFormat(list func(text string, into []int64) ([]int64, error)) *Format[driver.Value] {
	return &Format[driver.Value]{
		Null:    func(value driver.Value) bool { return value == nil },
		Integer: IntegerOf,
		Bool: func(value driver.Value) (bool, error) {
			if is, boolean := value.(bool); boolean {
				return is, nil
			}
			n, err := IntegerOf(value)
			return n != 0, err
		},
		Text: TextOf,
		List: func(value driver.Value, into []int64) ([]int64, error) { return list(TextOf(value), into) },
	}
}
