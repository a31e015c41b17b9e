package postgres

import (
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
	"io"
	"strings"
	"sync"

	"github.com/jackc/pgx/v5/pgconn"

	"assay/driver/sqldb"
	"assay/store"
)

// loadRows bounds the rows of a loading INSERT. CockroachDB's docs try 10, 100 and 1000
// ("Performance Best Practices"); 100 of the largest documents are a few hundred kilobytes.
const loadRows = 100

// Load implements store.Database by COPY or, if the dialect has none, by INSERT of at most
// loadRows, each a transaction of its own.
func (p *schema) Load(ctx context.Context, rows store.Rows) error {
	rows = p.SQL.Renamed(rows)
	err := p.pool.Use(ctx, func(c conn) error {
		n, err := p.put(ctx, c.PgConn, rows)
		return cmp.Or(err, rows.Taken(n))
	})
	return p.Operation("load "+rows.Table+"s", err)
}

func (p *schema) put(ctx context.Context, conn *pgconn.PgConn, rows store.Rows) (n int64, err error) {
	if p.dialect.copies {
		return p.copyFrom(ctx, conn, rows)
	}
	var e encoder
	for first := 0; first < rows.Count; first += loadRows {
		some := min(loadRows, rows.Count-first)
		text, values := sqldb.InsertText(p.SQL.Table(rows.Table), rows.Columns, some), someRows(rows, first, some)
		var result *pgconn.Result
		if p.Open {
			result = conn.ExecParams(ctx, text, e.texts(values), nil, nil, nil).Read()
		} else {
			data, types := e.encode(values, nil)
			result = conn.ExecParams(ctx, text, data, types, binaryFormats, nil).Read()
		}
		if result.Err != nil {
			return n, result.Err
		}
		n += result.CommandTag.RowsAffected()
	}
	return n, nil
}

// bulkRows is the size of one COPY. A round trip and a commit take longer than a thousand rows. An
// error loses little at this size.
const bulkRows = 1 << 16

// BulkRows is the best number of rows for one Load.
func (p *schema) BulkRows() int {
	if p.dialect.copies {
		return bulkRows
	}
	return 0
}

func (p *schema) copyFrom(ctx context.Context, conn *pgconn.PgConn, rows store.Rows) (n int64, err error) {
	var content io.Reader
	if p.Open {
		content = bytes.NewReader(copyLines(rows))
	} else {
		reader := &copyReader{rows: rows}
		defer reader.stop()
		content = reader
	}
	tag, err := conn.CopyFrom(ctx, content, p.copyText(rows))
	return tag.RowsAffected(), err
}

// copyReader reads rows in COPY's binary format (manual, "COPY", "Binary Format").
type copyReader struct {
	mu      sync.Mutex // pgconn reads in a goroutine, which a lost connection leaves behind
	rows    store.Rows
	next    int // row
	ended   bool
	values  []store.Value
	encoded []byte
	read    int // of encoded
}

// copyPiece is the least number of bytes encoded at once; pgconn sends as many in a message.
const copyPiece = 64 << 10

// stop ends the reading: the rows may be changed when it returns.
func (c *copyReader) stop() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ended, c.read = true, len(c.encoded)
}

func (c *copyReader) Read(into []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.read == len(c.encoded) {
		if c.ended {
			return 0, io.EOF
		}
		c.encode()
	}
	n := copy(into, c.encoded[c.read:])
	c.read += n
	return n, nil
}

func (c *copyReader) encode() {
	c.encoded, c.read = c.encoded[:0], 0
	if c.next == 0 {
		c.encoded = append(c.encoded, "PGCOPY\n\xff\r\n\x00\x00\x00\x00\x00\x00\x00\x00\x00"...)
	}
	for ; c.next < c.rows.Count && len(c.encoded) < copyPiece; c.next++ {
		c.values = c.rows.Row(c.next, c.values[:0])
		c.encoded = binary.BigEndian.AppendUint16(c.encoded, uint16(len(c.values)))
		for i := range c.values {
			at := len(c.encoded)
			c.encoded = appendValue(append(c.encoded, 0, 0, 0, 0), &c.values[i], 0)
			binary.BigEndian.PutUint32(c.encoded[at:], uint32(len(c.encoded)-at-4))
		}
	}
	if c.ended = c.next == c.rows.Count; c.ended {
		c.encoded = binary.BigEndian.AppendUint16(c.encoded, 0xffff)
	}
}

func (p *schema) copyText(rows store.Rows) string {
	format := "binary"
	if p.Open {
		format = "text"
	}
	return `COPY ` + p.SQL.Table(rows.Table) + ` (` + strings.Join(rows.Columns, ", ") + `) FROM STDIN WITH (FORMAT ` + format + `)`
}
