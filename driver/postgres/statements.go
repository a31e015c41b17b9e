package postgres

import (
	"context"

	"assay/driver/sqldb"
	"assay/store"
)

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

// enclose is Run within BEGIN and COMMIT, in one round trip.
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

// alone sends a statement that is its own transaction; read reads its answer. The server commits at
// the Sync that follows, and only ReadyForQuery confirms it (manual, "Extended Query"). An error of
// the statement proves no effect, unless the dialect commits first. An error of the Sync counts as
// COMMIT's.
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

// replicated returns err, or else errNotReplicated if the commit was not replicated.
func (c *connection) replicated(err error) error {
	if err == nil && c.unreplicated {
		return errNotReplicated
	}
	return err
}

// Load implements sqldb.Wire by COPY or INSERT. An error of COPY counts as COMMIT's, since the
// server commits before it answers.
func (c *connection) Load(ctx context.Context, rows store.Rows) (sqldb.Stage, error) {
	if !c.schema.dialect.copies {
		return c.Insert(ctx, rows)
	}
	c.unreplicated = false
	_, err := c.schema.copyFrom(ctx, c.conn.PgConn, rows)
	return sqldb.Committing, c.replicated(err)
}

// maxParameters is Bind's limit (manual, "Message Formats"); maxInserted bounds the rows of an
// INSERT.
const (
	maxParameters = 65535
	maxInserted   = 1000
)

// Insert implements sqldb.Wire in one round trip. Several statements get a transaction around them.
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

func (c *connection) sendInsert(rows store.Rows, first, n int) {
	data, types := c.encoder.encode(someRows(rows, first, n), nil)
	c.conn.executeText(sqldb.InsertText(c.schema.SQL.Table(rows.Table), rows.Columns, n), data, types, binaryFormats)
}

func someRows(rows store.Rows, first, n int) (values []store.Value) {
	for i := range n {
		values = rows.Row(first+i, values)
	}
	return values
}
