package postgres

import (
	"context"

	"github.com/jackc/pgx/v5/pgconn"

	"assay/driver/sqldb"
)

// send puts one of the workload's statements into the pipeline.
func (c *connection) sendCall(p *pgconn.Pipeline, which int, parameters []sqldb.Value) {
	which += int(ownStatements)
	if c.schema.Open {
		if c.prepared != nil {
			p.SendQueryStatement(c.prepared[which], c.encoder.texts(parameters), nil, nil)
			return
		}
		p.SendQueryParams(c.texts[which].Text, c.encoder.texts(parameters), nil, nil, nil)
		return
	}
	if c.prepared != nil {
		data, _ := c.encoder.encode(parameters, c.prepared[which].ParamOIDs)
		p.SendQueryStatement(c.prepared[which], data, binaryFormats, binaryFormats)
		return
	}
	data, types := c.encoder.encode(parameters, nil)
	p.SendQueryParams(c.texts[which].Text, data, types, binaryFormats, binaryFormats)
}

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

// Load implements sqldb.Wire by COPY, or by INSERT where the dialect has it so. What
// goes wrong with COPY is judged as an error of COMMIT, since the server commits
// before it answers.
func (c *connection) Load(ctx context.Context, rows sqldb.Rows) (sqldb.Stage, error) {
	if !c.schema.dialect.copies {
		return c.Insert(ctx, rows)
	}
	c.unreplicated = false
	_, err := c.schema.copyFrom(ctx, c.conn, rows)
	return sqldb.Committing, c.replicated(err)
}

// maxParameters is the most parameters of one statement (manual, "Message
// Formats", Bind), and maxInserted the most rows that one INSERT gets.
const (
	maxParameters = 65535
	maxInserted   = 1000
)

// Insert implements sqldb.Wire, in one round trip. What is too much for one statement
// gets a transaction around several.
func (c *connection) Insert(ctx context.Context, rows sqldb.Rows) (at sqldb.Stage, err error) {
	most := min(maxInserted, maxParameters/len(rows.Columns))
	p := c.conn.StartPipeline(ctx)
	if rows.Count <= most {
		c.sendInsert(p, rows, 0, rows.Count)
		_, at, err = c.alone(p, nil)
		return at, err
	}
	c.unreplicated = false
	c.send(p, begin)
	answers := 1
	for first := 0; first < rows.Count; first += most {
		c.sendInsert(p, rows, first, min(most, rows.Count-first))
		answers++
	}
	c.send(p, commit)
	at, err = sqldb.Working, p.Sync()
	for range answers {
		if err == nil {
			_, err = readAnswer(p)
		}
	}
	if err == nil {
		at, err = sqldb.Committing, readCommit(p)
	}
	return at, c.close(p, err)
}

// sendInsert puts an INSERT of n rows into the pipeline.
func (c *connection) sendInsert(p *pgconn.Pipeline, rows sqldb.Rows, first, n int) {
	data, types := c.encoder.encode(someRows(rows, first, n), nil)
	p.SendQueryParams(insertText(c.schema.SQL.Table(rows.Table), rows.Columns, n), data, types, binaryFormats, nil)
}

// someRows are the values of n rows.
func someRows(rows sqldb.Rows, first, n int) (values []sqldb.Value) {
	for i := range n {
		values = rows.Row(first+i, values)
	}
	return values
}
