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
	// bulkRows is the size of one LOAD DATA. With fewer rows the commit to disk takes longer than
	// the rows; with many more a cluster has to certify many megabytes.
	bulkRows   = 1 << 14
	insertRows = 1000
)

// bulk reports whether LOAD DATA loads rows. For an Open schema only the server knows the columns'
// types, and INSERT's literals suit it.
func (p *schema) bulk() bool { return p.dialect.loads && !p.Open && !p.inserts.Load() }

func (p *schema) BulkRows() int {
	if p.bulk() {
		return bulkRows
	}
	return 0
}

// Load implements store.Database by LOAD DATA LOCAL in one transaction, or else by INSERT of at
// most insertRows, each a transaction of its own. LOAD DATA LOCAL is refused if local_infile is OFF
// (MySQL's default) and by some proxies. It also skips refused rows and changes values that do not
// fit, with a warning. Unless all is well it is rolled back, and INSERT decides.
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

// warned is the last statement's warning as an error, or nil.
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

// loadText is the LOAD DATA of a named reader of the library. Bytes travel as hexadecimal digits,
// since they are no text of any character set.
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

// lines reads rows in LOAD DATA's form: lines of fields, separated by tabs, with backslash escapes
// (MySQL manual, "LOAD DATA Statement", "Field and Line Handling").
type lines struct {
	rows   store.Rows
	next   int // row
	values []store.Value
	text   []byte
	read   int // of text
}

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
