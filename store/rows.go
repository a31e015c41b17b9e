package store

import (
	"context"
	"errors"
	"fmt"
	"slices"
)

// Columns maps the fields of T to a table.
type Columns[T any] struct {
	// Names are the columns, the key first.
	Names []string
	// Fields points to each column's field in a T, as in Names: *int64, *bool or *string.
	Fields func(*T) []any
}

// RowsOf makes rows of values. One goroutine at a time uses them.
func RowsOf[T any](table string, c Columns[T], values []T) Rows {
	var v T
	fields := c.Fields(&v)
	return Rows{Table: table, Columns: c.Names, Count: len(values), Row: func(i int, into []Value) []Value {
		v = values[i]
		return AppendFields(into, fields)
	}}
}

// Taken fails unless n, the number of rows that a server says it took, is all.
func (r Rows) Taken(n int64) error {
	if n == int64(r.Count) {
		return nil
	}
	return fmt.Errorf("the server took %d of %d rows of %s", n, r.Count, r.Table)
}

// AppendFields appends the values of fields, each *int64, *bool or *string.
func AppendFields(into []Value, fields []any) []Value {
	for _, field := range fields {
		switch field := field.(type) {
		case *int64:
			into = append(into, OfInt(*field))
		case *bool:
			into = append(into, OfBool(*field))
		case *string:
			into = append(into, OfText(*field))
		}
	}
	return into
}

// Each decodes every row of a table, in the order of these columns; see Whole.
func Each[T any](ctx context.Context, r Reader, table string, c Columns[T], use func(T) error, order ...string) error {
	var v T
	fields := c.Fields(&v)
	return Whole(ctx, r, Statement{Table: table, Columns: c.Names, Order: order}, func(row Row) error {
		if err := row.Scan(fields...); err != nil {
			return err
		}
		return use(v)
	})
}

// Whole reads s.Columns of every row of s.Table. It has the database count the rows of the same
// state, so that an incomplete read is not taken for lost rows.
func Whole(ctx context.Context, r Reader, s Statement, row func(Row) error) error {
	var read, counted int64
	var stopped error
	unread, before := unreadOf(ctx), int64(0)
	if unread != nil {
		if slices.Contains(unread.Tables, s.Table) {
			return nil
		}
		before = unread.Rows
	}
	s.Name, s.Verb = "read_"+s.Table, Read
	var found decoded
	err := r.Read(ctx, s, func(next Row) error {
		found = decoded{Row: next}
		if stopped = row(&found); Unreadable(ctx, s.Table, found.err) {
			stopped = nil
			return nil
		}
		read++
		return stopped
	})
	switch {
	case stopped != nil:
		return &callbackError{stopped}
	case err != nil:
		if missing := (*NoTableError)(nil); errors.As(err, &missing) {
			unread.lacks(s.Table)
		}
		return err
	}
	if unread != nil {
		read += unread.Rows - before
	}
	err = r.Read(ctx, Statement{Name: "count_" + s.Table, Verb: Count, Table: s.Table}, func(found Row) error { return found.Scan(&counted) })
	switch {
	case errors.Is(err, ErrNotCounted):
		return nil
	case err != nil:
		return fmt.Errorf("count the rows of %s: %w", s.Table, err)
	}
	return Complete(s.Table, read, counted)
}

type callbackError struct{ err error }

func (e *callbackError) Error() string { return e.err.Error() }
func (e *callbackError) Unwrap() error { return e.err }

// ReadAll reads in one View, and returns an error of a callback of Each or Whole unchanged.
func ReadAll(ctx context.Context, view func(context.Context, func(Reader) error) error, read func(Reader) error) error {
	err := view(ctx, read)
	if callback, is := errors.AsType[*callbackError](err); is {
		return callback.err
	}
	return err
}
