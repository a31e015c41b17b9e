package postgres

import (
	"context"

	"github.com/jackc/pgx/v5/pgconn"

	"assay/driver/sqldb"
)

// Batch implements sqldb.Wire: it sends the whole transaction at once and then reads
// the answers.
func (c *connection) Batch(ctx context.Context, calls []sqldb.Call) (sqldb.Stage, error) {
	c.unreplicated = false
	p := c.conn.StartPipeline(ctx)
	c.send(p, begin)
	for i := range calls {
		c.sendCall(p, calls[i].Statement, calls[i].Parameters)
	}
	c.send(p, commit)
	at, err := sqldb.Working, p.Sync()
	if err == nil {
		at, err = c.readBatch(p, calls)
	}
	return at, c.close(p, err)
}

// close ends a pipeline whose transaction was committed, unless there was an error.
func (c *connection) close(p *pgconn.Pipeline, err error) error {
	if ended := p.Close(); ended != nil && err == nil {
		c.hangUp() // nobody knows what it would say next
	}
	return c.replicated(err)
}

// readBatch reads the answers to a batch, in the order of sending, up to the first
// error.
func (c *connection) readBatch(p *pgconn.Pipeline, calls []sqldb.Call) (at sqldb.Stage, err error) {
	if _, err = readAnswer(p); err != nil { // BEGIN
		return sqldb.Working, err
	}
	for i := range calls {
		if _, err = readRows(p, &c.row, calls[i].Row); err != nil {
			return sqldb.Working, err
		}
	}
	return sqldb.Committing, readCommit(p)
}

// Commit implements sqldb.Wire: "all changes made by the transaction become visible
// to others" with it alone (manual, COMMIT).
func (c *connection) Commit(ctx context.Context) error {
	c.unreplicated = false
	p := c.conn.StartPipeline(ctx)
	c.send(p, commit)
	err := p.Sync()
	if err == nil {
		err = readCommit(p)
	}
	return c.close(p, err)
}

// Step implements sqldb.Wire. If BEGIN fails, the server does not do the statement
// (see errorTable).
func (c *connection) Step(ctx context.Context, first bool, which int, row func(sqldb.Row) error, parameters []sqldb.Value) (changed int64, err error) {
	p := c.conn.StartPipeline(ctx)
	if first {
		c.send(p, begin)
	}
	c.sendCall(p, which, parameters)
	err = p.Sync()
	if err == nil && first {
		_, err = readAnswer(p)
	}
	if err == nil {
		var tag pgconn.CommandTag
		tag, err = readRows(p, &c.row, row)
		changed = tag.RowsAffected()
	}
	if ended := p.Close(); err == nil {
		err = ended
	}
	if err == nil && c.conn.TxStatus() != open {
		err = errNoTransaction
	}
	return changed, err
}
