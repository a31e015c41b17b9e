package postgres

import (
	"context"

	"assay/driver/sqldb"
	"assay/store"
)

// sendCall puts one of the workload's statements into the exchange.
func (c *connection) sendCall(which int, parameters []store.Value) {
	which += int(ownStatements)
	var data [][]byte
	var types []uint32
	formats := binaryFormats
	switch {
	case c.schema.Open:
		data, formats = c.encoder.texts(parameters), nil
	case c.prepared != nil:
		data, _ = c.encoder.encode(parameters, c.prepared[which].parameters)
	default:
		data, types = c.encoder.encode(parameters, nil)
	}
	if c.prepared != nil {
		c.conn.execute(c.prepared[which].name, data, formats)
		return
	}
	c.conn.executeText(c.texts[which].Text, data, types, formats)
}

func (c *connection) Run(ctx context.Context, which int, row func(store.Row) error, parameters []store.Value) (int64, sqldb.Stage, error) {
	if c.enclosed {
		return c.enclose(ctx, which, row, parameters)
	}
	c.conn.begin()
	c.sendCall(which, parameters)
	return c.alone(ctx, func() (int64, error) { return c.readRows(which, row) })
}

// enclose is Run in a transaction of its own that begins by name, in one round trip.
func (c *connection) enclose(ctx context.Context, which int, row func(store.Row) error, parameters []store.Value) (changed int64, at sqldb.Stage, err error) {
	c.unreplicated = false
	c.conn.begin()
	c.sendBegin()
	c.sendCall(which, parameters)
	c.send(commit)
	if err := c.conn.sync(ctx); err != nil {
		return 0, sqldb.Working, err
	}
	if err = c.readBegin(); err == nil {
		changed, err = c.readRows(which, row)
	}
	if err == nil {
		at, err = sqldb.Committing, c.readCommit()
	}
	return changed, at, c.ended(err)
}

// alone sends one statement that is its own transaction, whose answer is read by read. The
// server commits at the Sync that follows the statement; only what it says after that ends
// it ("ReadyForQuery"; manual, "Frontend/Backend Protocol", "Extended Query"). An
// error that answers the statement itself is proof of no effect, unless the dialect
// commits by then, and one that answers the Sync is judged as that of a COMMIT.
func (c *connection) alone(ctx context.Context, read func() (int64, error)) (changed int64, at sqldb.Stage, err error) {
	c.unreplicated = false
	if err := c.conn.sync(ctx); err != nil {
		return 0, sqldb.Alone, err
	}
	changed, err = read()
	if ended := c.conn.end(); err == nil {
		return changed, sqldb.Committing, c.replicated(ended)
	}
	return changed, sqldb.Alone, c.replicated(err)
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
func (c *connection) Load(ctx context.Context, rows store.Rows) (sqldb.Stage, error) {
	if !c.schema.dialect.copies {
		return c.Insert(ctx, rows)
	}
	c.unreplicated = false
	_, err := c.schema.copyFrom(ctx, c.conn.PgConn, rows)
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
func (c *connection) Insert(ctx context.Context, rows store.Rows) (at sqldb.Stage, err error) {
	most := min(maxInserted, maxParameters/len(rows.Columns))
	c.conn.begin()
	if rows.Count <= most && !c.enclosed {
		c.sendInsert(rows, 0, rows.Count)
		_, at, err = c.alone(ctx, func() (int64, error) {
			_, err := c.readAnswer()
			return 0, err
		})
		return at, err
	}
	c.unreplicated = false
	c.sendBegin()
	answers := 1 + len(c.opening)
	for first := 0; first < rows.Count; first += most {
		c.sendInsert(rows, first, min(most, rows.Count-first))
		answers++
	}
	c.send(commit)
	if err := c.conn.sync(ctx); err != nil {
		return sqldb.Working, err
	}
	for range answers {
		if err == nil {
			_, err = c.readAnswer()
		}
	}
	if err == nil {
		at, err = sqldb.Committing, c.readCommit()
	}
	return at, c.ended(err)
}

// sendInsert puts an INSERT of n rows into the exchange.
func (c *connection) sendInsert(rows store.Rows, first, n int) {
	data, types := c.encoder.encode(someRows(rows, first, n), nil)
	c.conn.executeText(sqldb.InsertText(c.schema.SQL.Table(rows.Table), rows.Columns, n), data, types, binaryFormats)
}

// someRows are the values of n rows.
func someRows(rows store.Rows, first, n int) (values []store.Value) {
	for i := range n {
		values = rows.Row(first+i, values)
	}
	return values
}
