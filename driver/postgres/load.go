package postgres

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5"
)

// loadRows is the most rows that one INSERT loads. CockroachDB's documentation
// has batches of 10, 100 and 1000 rows tried ("Performance Best Practices",
// "Use multi-row statements"); 100 of the largest documents are a few hundred
// kilobytes.
const loadRows = 100

// load puts rows into a table: by COPY, PostgreSQL's own way to load in bulk,
// or, where the dialect wants it, by INSERT of at most loadRows at a time, each a
// transaction of its own. after names them in errors.
func (p *schema) load(ctx context.Context, table string, columns []string, rows int, row func(int) []any) error {
	err := p.pool.use(ctx, func(conn *pgx.Conn) error {
		n, err := p.put(ctx, conn, table, columns, rows, row)
		if err == nil && n != int64(rows) {
			err = fmt.Errorf("the server took %d of %d rows of %s", n, rows, table)
		}
		return err
	})
	return operation("load "+table+"s", err)
}

func (p *schema) put(ctx context.Context, conn *pgx.Conn, table string, columns []string, rows int, row func(int) []any) (n int64, err error) {
	if p.dialect.copies {
		return conn.CopyFrom(ctx, pgx.Identifier{p.name, table}, columns,
			pgx.CopyFromSlice(rows, func(i int) ([]any, error) { return row(i), nil }))
	}
	for first := 0; first < rows; first += loadRows {
		some := min(loadRows, rows-first)
		values := make([]any, 0, some*len(columns))
		for i := range some {
			values = append(values, row(first+i)...)
		}
		tag, err := conn.Exec(ctx, insertText(p.name+"."+table, columns, some), values...)
		if err != nil {
			return n, err
		}
		n += tag.RowsAffected()
	}
	return n, nil
}

// insertText is an INSERT of so many rows.
func insertText(table string, columns []string, rows int) string {
	var b strings.Builder
	b.WriteString("INSERT INTO " + table + " (" + strings.Join(columns, ", ") + ") VALUES ")
	for i := range rows * len(columns) {
		switch {
		case i == 0:
			b.WriteString("($")
		case i%len(columns) == 0:
			b.WriteString("), ($")
		default:
			b.WriteString(", $")
		}
		b.WriteString(strconv.Itoa(i + 1))
	}
	b.WriteString(")")
	return b.String()
}

// finishLoad makes what is better made late, sets the mark, and does now what
// the server would else do in the middle of the run.
func (p *schema) finishLoad(ctx context.Context, tables []string, late ...string) error {
	err := p.pool.use(ctx, func(conn *pgx.Conn) error {
		err := pgx.BeginFunc(ctx, conn, func(tx pgx.Tx) error {
			if err := all(ctx, tx, late); err != nil {
				return err
			}
			return p.setLoaded(ctx, tx)
		})
		if err != nil {
			return err
		}
		for _, table := range tables {
			if err := p.refresh(ctx, conn, table); err != nil {
				return err
			}
		}
		return nil
	})
	return operation("finish loading", err)
}

// refresh does what an administrator does after many rows came in.
func (p *schema) refresh(ctx context.Context, conn *pgx.Conn, table string) error {
	_, err := conn.Exec(ctx, p.dialect.refresh+` `+p.name+`.`+table)
	return err
}
