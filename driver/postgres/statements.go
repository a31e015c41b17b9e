package postgres

import (
	"bytes"
	"context"
	"encoding/binary"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"

	"assay/driver/sqldb"
)

// send puts one of the workload's statements into the pipeline.
func (c *connection) sendCall(p *pgconn.Pipeline, which int, parameters []sqldb.Value) {
	which += int(ownStatements)
	if c.prepared != nil {
		data, _ := c.encoder.encode(parameters, c.prepared[which].ParamOIDs)
		p.SendQueryStatement(c.prepared[which], data, binaryFormats, binaryFormats)
		return
	}
	data, types := c.encoder.encode(parameters, nil)
	p.SendQueryParams(c.texts[which].Text, data, types, binaryFormats, binaryFormats)
}

// Run implements sqldb.Wire.
func (c *connection) Run(ctx context.Context, which int, row func(sqldb.Row) error, parameters []sqldb.Value) (int64, sqldb.Stage, error) {
	p := c.conn.StartPipeline(ctx)
	c.sendCall(p, which, parameters)
	return c.alone(p, row)
}

// alone ends a pipeline of one statement that is its own transaction. The server
// commits at the Sync that follows the statement; only what it says after that ends
// it ("ReadyForQuery"; manual, "Frontend/Backend Protocol", "Extended Query"). An
// error that answers the statement itself is proof of no effect, unless the dialect
// commits by then, and one that answers the Sync is judged as that of a COMMIT.
func (c *connection) alone(p *pgconn.Pipeline, row func(sqldb.Row) error) (changed int64, at sqldb.Stage, err error) {
	c.unreplicated = false
	at, err = sqldb.Alone, p.Sync()
	if err == nil {
		var tag pgconn.CommandTag
		tag, err = readRows(p, &c.row, row)
		changed = tag.RowsAffected()
	}
	if ended := p.Close(); err == nil {
		at, err = sqldb.Committing, ended
	}
	return changed, at, c.replicated(err)
}

// replicated is err or, without one, that of a commit that was not replicated.
func (c *connection) replicated(err error) error {
	if err == nil && c.unreplicated {
		return errNotReplicated
	}
	return err
}

// Insert implements sqldb.Wire: one statement, whose parameters are the columns as
// arrays.
func (c *connection) Insert(ctx context.Context, rows sqldb.Rows) (at sqldb.Stage, err error) {
	arrays, types := arraysOf(rows)
	formats := make([]string, len(types))
	for i, name := range types {
		formats[i] = placeholder(i+1) + "::" + name + "[]"
	}
	p := c.conn.StartPipeline(ctx)
	p.SendQueryParams(`INSERT INTO `+c.schema.SQL.Table(rows.Table)+` (`+strings.Join(rows.Columns, ", ")+`) SELECT * FROM unnest(`+
		strings.Join(formats, ", ")+`)`, arrays, nil, nil, nil)
	_, at, err = c.alone(p, nil)
	return at, err
}

// Load implements sqldb.Wire by COPY or by INSERT, as the dialect has it, in one
// transaction. What goes wrong is judged as an error of COMMIT, since the server
// commits before it answers.
func (c *connection) Load(ctx context.Context, rows sqldb.Rows) (at sqldb.Stage, err error) {
	c.unreplicated = false
	if c.schema.dialect.copies {
		_, err = c.conn.CopyFrom(ctx, bytes.NewReader(copyRows(rows)), c.schema.copyText(rows))
	} else {
		err = c.insertRows(ctx, rows)
	}
	return sqldb.Committing, c.replicated(err)
}

// maxParameters is the most parameters of one statement (manual, "Message
// Formats", Bind), and maxInserted the most rows that one INSERT gets.
const (
	maxParameters = 65535
	maxInserted   = 1000
)

// insertRows writes rows by INSERT, in one round trip. What is too much for one
// statement gets a transaction around several.
func (c *connection) insertRows(ctx context.Context, rows sqldb.Rows) error {
	most := min(maxInserted, maxParameters/len(rows.Columns))
	several := rows.Count > most
	answers := (rows.Count + most - 1) / most
	p := c.conn.StartPipeline(ctx)
	if several {
		answers++
		c.send(p, begin)
	}
	for first := 0; first < rows.Count; first += most {
		n := min(most, rows.Count-first)
		var values []sqldb.Value
		for i := range n {
			values = rows.Row(first+i, values)
		}
		data, types := c.encoder.encode(values, nil)
		p.SendQueryParams(insertText(c.schema.SQL.Table(rows.Table), rows.Columns, n), data, types, binaryFormats, nil)
	}
	if several {
		c.send(p, commit)
	}
	err := p.Sync()
	for range answers {
		if err == nil {
			_, err = readAnswer(p)
		}
	}
	if several && err == nil {
		err = readCommit(p)
	}
	if ended := p.Close(); err == nil {
		err = ended
	}
	return err
}

// copyRows are the rows in the binary format of COPY (manual, "COPY", "Binary
// Format").
func copyRows(rows sqldb.Rows) []byte {
	out := append(make([]byte, 0, 400*rows.Count+32), "PGCOPY\n\xff\r\n\x00\x00\x00\x00\x00\x00\x00\x00\x00"...)
	var values []sqldb.Value
	for i := range rows.Count {
		values = rows.Row(i, values[:0])
		out = binary.BigEndian.AppendUint16(out, uint16(len(values)))
		for _, v := range values {
			at := len(out)
			out = appendValue(append(out, 0, 0, 0, 0), v, 0)
			binary.BigEndian.PutUint32(out[at:], uint32(len(out)-at-4))
		}
	}
	return binary.BigEndian.AppendUint16(out, 0xffff)
}
