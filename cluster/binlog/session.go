package binlog

import (
	"context"
	"database/sql"
	"errors"
	"strings"
	"time"

	"assay/cluster/server"
)

// InSession runs f in a session of its own with a node; bound limits all of it.
func (l Login) InSession(ctx context.Context, node *server.Node, bound time.Duration, f func(context.Context, *sql.Conn) error) error {
	ctx, cancel := context.WithTimeout(ctx, bound)
	defer cancel()
	db, err := l.Open(node)
	if err != nil {
		return err
	}
	defer db.Close()
	conn, err := db.Conn(ctx)
	if err != nil {
		return err
	}
	defer conn.Close()
	return f(ctx, conn)
}

// Variable asks a node for the value of a system variable. An unknown variable is an error.
func (l Login) Variable(ctx context.Context, node *server.Node, name string) (value string, err error) {
	err = l.InSession(ctx, node, askBound, func(ctx context.Context, c *sql.Conn) error {
		const query = "SHOW GLOBAL VARIABLES WHERE Variable_name = ?"
		return c.QueryRowContext(ctx, query, strings.ReplaceAll(strings.ToLower(name), "-", "_")).Scan(&name, &value)
	})
	if errors.Is(err, sql.ErrNoRows) {
		err = errors.New("it has no such variable")
	}
	return value, err
}

// Execute runs statements up to the first that fails.
func Execute(ctx context.Context, c *sql.Conn, statements ...string) error {
	for _, text := range statements {
		if _, err := c.ExecContext(ctx, text); err != nil {
			return err
		}
	}
	return nil
}

// Row is the first row of an answer by the names of its columns, with NULL as an empty text; nil if
// there is none.
func Row(ctx context.Context, c *sql.Conn, query string) (map[string]string, error) {
	rows, err := c.QueryContext(ctx, query)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	columns, err := rows.Columns()
	if err != nil || !rows.Next() {
		return nil, errors.Join(err, rows.Err())
	}
	values, into := make([]sql.NullString, len(columns)), make([]any, len(columns))
	for i := range values {
		into[i] = &values[i]
	}
	if err := rows.Scan(into...); err != nil {
		return nil, err
	}
	row := make(map[string]string)
	for i, name := range columns {
		row[name] = values[i].String
	}
	return row, nil
}
