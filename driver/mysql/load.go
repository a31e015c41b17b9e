package mysql

import (
	"cmp"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	library "github.com/go-sql-driver/mysql"

	"assay/driver/sqldb"
	"assay/store"
)

const (
	// bulkRows is how many rows are loaded by one LOAD DATA: with fewer the commit, which
	// goes to the disk, takes longer than the rows, and with many more a cluster has to
	// certify a transaction of many megabytes.
	bulkRows = 1 << 14
	// insertRows is the most rows that one INSERT loads.
	insertRows = 1000
)

// bulk is whether rows are loaded by LOAD DATA. What a Schema that is Open has in its columns
// is known to the server alone, which takes literals for what they are.
func (p *schema) bulk() bool { return p.dialect.loads && !p.Open && !p.inserts.Load() }

// BulkRows implements store.Bulk.
func (p *schema) BulkRows() int {
	if p.bulk() {
		return bulkRows
	}
	return 0
}

// Load implements store.Database: by LOAD DATA LOCAL, the products' own way to load in bulk, in
// one transaction, or else by INSERT of at most insertRows at a time, each a transaction of
// its own. LOAD DATA LOCAL is refused where local_infile is OFF, which is MySQL's default and
// not MariaDB's, and by some proxies. It also leaves out rows that are refused, and changes
// values that do not fit, with a warning. So unless all is well nothing of it is kept, and
// what INSERT says counts.
func (p *schema) Load(ctx context.Context, rows store.Rows) error {
	rows = p.SQL.Renamed(rows)
	return p.Operation("load "+rows.Table+"s", p.use(ctx, func(c *conn) error {
		if p.bulk() {
			err := p.loadData(ctx, c, rows)
			if err == nil || ctx.Err() != nil || !c.Sound() {
				return err
			}
			p.inserts.Store(true)
		}
		return p.insertAll(ctx, c, rows)
	}))
}

func (p *schema) insertAll(ctx context.Context, c *conn, rows store.Rows) error {
	var text []byte
	for first := 0; first < rows.Count; first += insertRows {
		some := rows
		some.Count = min(insertRows, rows.Count-first)
		some.Row = func(i int, into []store.Value) []store.Value { return rows.Row(first+i, into) }
		text = bindRows(text[:0], p.SQL.Table(rows.Table), some)
		n, err := c.execute(ctx, text)
		if err := cmp.Or(err, some.Taken(n)); err != nil {
			return err
		}
	}
	return nil
}

// loadData loads rows by LOAD DATA, all of them or none.
func (p *schema) loadData(ctx context.Context, c *conn, rows store.Rows) error {
	if rows.Count == 0 {
		return nil
	}
	from := &lines{rows: rows}
	name := fmt.Sprintf("assay%p", from)
	library.RegisterReaderHandler(name, func() io.Reader { return from })
	defer library.DeregisterReaderHandler(name)
	return sqldb.InTransaction(ctx, c, []string{begin}, func() error {
		n, err := c.Change(ctx, loadText(name, p.SQL.Table(rows.Table), rows))
		if err := cmp.Or(err, rows.Taken(n)); err != nil {
			return err
		}
		return c.warned(ctx)
	})
}

// warned is a warning of the server's of the last statement as an error; nil if there is none.
func (c *conn) warned(ctx context.Context) error {
	var warning error
	err := c.Query(ctx, "SHOW WARNINGS", func(row store.Row) error {
		var level, message string
		err := row.Scan(&level, nil, &message)
		if err == nil && level != "Note" {
			warning = errors.New(message)
		}
		return err
	})
	return cmp.Or(err, warning)
}

// loadText is the LOAD DATA of rows from a reader of the library of this name. Bytes travel as
// hexadecimal digits, since they are no text of any character set.
func loadText(name, table string, rows store.Rows) string {
	var columns, digits []string
	for i, v := range rows.Row(0, nil) {
		column := rows.Columns[i]
		if v.Kind == store.Bytes {
			digits = append(digits, column+" = UNHEX(@"+column+")")
			column = "@" + column
		}
		columns = append(columns, column)
	}
	text := "LOAD DATA LOCAL INFILE 'Reader::" + name + "' INTO TABLE " + table + " CHARACTER SET utf8mb4 (" + strings.Join(columns, ", ") + ")"
	if digits != nil {
		text += " SET " + strings.Join(digits, ", ")
	}
	return text
}

// lines reads rows as LOAD DATA takes them: lines of fields with tabs between them, in which a
// backslash escapes (MySQL manual, "LOAD DATA Statement", "Field and Line Handling").
type lines struct {
	rows   store.Rows
	next   int // row
	values []store.Value
	text   []byte
	read   int // of text
}

// linesPiece is how many bytes are written at a time, at least.
const linesPiece = 64 << 10

func (l *lines) Read(into []byte) (int, error) {
	if l.read == len(l.text) {
		if l.next == l.rows.Count {
			return 0, io.EOF
		}
		l.text, l.read = l.text[:0], 0
		for ; l.next < l.rows.Count && len(l.text) < linesPiece; l.next++ {
			l.values = l.rows.Row(l.next, l.values[:0])
			for i := range l.values {
				l.text = append(appendField(l.text, &l.values[i]), '\t')
			}
			l.text[len(l.text)-1] = '\n'
		}
	}
	n := copy(into, l.text[l.read:])
	l.read += n
	return n, nil
}

// appendField appends a value as a field of a line.
func appendField(b []byte, v *store.Value) []byte {
	switch v.Kind {
	case store.Text:
		for i := range len(v.Text) {
			c := v.Text[i]
			if c == '\\' || c == '\t' || c == '\n' {
				b = append(b, '\\')
			}
			b = append(b, c)
		}
		return b
	case store.Bytes:
		return hex.AppendEncode(b, v.Bytes)
	case store.List:
		return appendNumbers(b, v.Numbers)
	default:
		return strconv.AppendInt(b, v.Number, 10)
	}
}
