package sqldb

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"assay/workload"
)

// query is one query of a view: row scans what comes and gives it to the
// workload. table is the full name of the table of which it asks for all rows.
type query struct {
	text  string
	table string
	row   func(Row) error
}

// whole is the query of these columns of all rows of a table, with this behind it.
func whole(d *Dialect, columns []string, table, behind string, row func(Row) error) query {
	full := d.Table(table)
	return query{"SELECT " + strings.Join(columns, ", ") + " FROM " + full + behind, full, row}
}

// run runs the query, and has the database count the rows of the same state: what it
// did not give is not lost.
func (q *query) run(ctx context.Context, r Reader) error {
	var read, counted int64
	err := r.Query(ctx, q.text, func(row Row) error {
		read++
		return q.row(row)
	})
	if err != nil {
		return err
	}
	if err := One(ctx, r, "SELECT count(*) FROM "+q.table, nil, &counted); err != nil {
		return fmt.Errorf("count the rows of %s: %w", q.table, err)
	}
	return workload.Whole(q.table, read, counted)
}

// given is the error of a workload's callback, which view returns as it came.
func given(err error) error {
	if err == nil {
		return nil
	}
	return &callbackError{err}
}

// view runs queries one after the other in one View.
func view(ctx context.Context, in func(context.Context, func(Reader) error) error, queries ...query) error {
	err := in(ctx, func(r Reader) error {
		for _, q := range queries {
			if err := q.run(ctx, r); err != nil {
				return err
			}
		}
		return nil
	})
	if callback, is := errors.AsType[*callbackError](err); is {
		return callback.err
	}
	return err
}

// rowsOf are values as rows of a table, which one goroutine at a time asks for.
func rowsOf[T any](table string, c workload.Columns[T], values []T) Rows {
	var v T
	fields := c.Fields(&v)
	return Rows{Table: table, Columns: c.Names, Count: len(values), Row: func(i int, into []Value) []Value {
		v = values[i]
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
	}}
}

// allRows is the query of all rows of a table, with this behind it, each given to a
// workload's callback.
func allRows[T any](d *Dialect, table, behind string, c workload.Columns[T], use func(T) error) query {
	var v T
	fields := c.Fields(&v)
	return whole(d, c.Names, table, behind, func(found Row) error {
		if err := found.Scan(fields...); err != nil {
			return err
		}
		return given(use(v))
	})
}
