package postgres

import (
	"bytes"
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"

	"assay/driver/sqldb"
)

// loadRows is the most rows that one INSERT loads. CockroachDB's documentation
// has batches of 10, 100 and 1000 rows tried ("Performance Best Practices",
// "Use multi-row statements"); 100 of the largest documents are a few hundred
// kilobytes.
const loadRows = 100

// Load implements sqldb.Database: by COPY, PostgreSQL's own way to load in bulk,
// or, where the dialect wants it, by INSERT of at most loadRows at a time, each a
// transaction of its own.
func (p *schema) Load(ctx context.Context, rows sqldb.Rows) error {
	err := p.pool.Use(ctx, func(c conn) error {
		n, err := p.put(ctx, c.PgConn, rows)
		if err == nil && n != int64(rows.Count) {
			err = fmt.Errorf("the server took %d of %d rows of %s", n, rows.Count, rows.Table)
		}
		return err
	})
	return p.Operation("load "+rows.Table+"s", err)
}

func (p *schema) put(ctx context.Context, conn *pgconn.PgConn, rows sqldb.Rows) (n int64, err error) {
	if p.dialect.copies {
		tag, err := conn.CopyFrom(ctx, bytes.NewReader(copyRows(rows)), p.copyText(rows))
		return tag.RowsAffected(), err
	}
	var e encoder
	for first := 0; first < rows.Count; first += loadRows {
		some := min(loadRows, rows.Count-first)
		data, types := e.encode(someRows(rows, first, some), nil)
		result := conn.ExecParams(ctx, insertText(p.SQL.Table(rows.Table), rows.Columns, some), data, types, binaryFormats, nil).Read()
		if result.Err != nil {
			return n, result.Err
		}
		n += result.CommandTag.RowsAffected()
	}
	return n, nil
}

// copyText is the COPY of rows in the format of copyRows.
func (p *schema) copyText(rows sqldb.Rows) string {
	return `COPY ` + p.SQL.Table(rows.Table) + ` (` + strings.Join(rows.Columns, ", ") + `) FROM STDIN WITH (FORMAT binary)`
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
