package postgres

import (
	"cmp"
	"context"

	"assay/driver/sqldb"
	"assay/store"
)

// Batch implements sqldb.Wire. It sends the whole transaction and then reads the answers.
func (c *connection) Batch(ctx context.Context, calls []store.Call) (sqldb.Stage, error) {
	c.unreplicated = false
	c.conn.begin()
	c.sendBegin()
	for i := range calls {
		c.sendCall(calls[i].Statement, calls[i].Parameters)
	}
	c.send(commit)
	if err := c.conn.sync(ctx); err != nil {
		return sqldb.Working, err
	}
	at, err := c.readBatch(calls)
	return at, c.ended(err)
}

// ended ends an exchange whose transaction was committed, unless err is set.
func (c *connection) ended(err error) error {
	if ended := c.conn.end(); ended != nil && err == nil {
		c.hangUp() // nobody knows what it would say next
	}
	return c.replicated(err)
}

// readBatch reads a batch's answers in order, up to the first error.
func (c *connection) readBatch(calls []store.Call) (at sqldb.Stage, err error) {
	if err = c.readBegin(); err != nil {
		return sqldb.Working, err
	}
	var other error
	for i := range calls {
		n, err := c.readRows(calls[i].Statement, calls[i].Row)
		if err != nil {
			return sqldb.Working, err
		}
		other = cmp.Or(other, calls[i].Wanted(int(n)))
	}
	return sqldb.Committing, cmp.Or(c.readCommit(), other)
}

func (c *connection) Commit(ctx context.Context) error {
	c.unreplicated = false
	c.conn.begin()
	c.send(commit)
	if err := c.conn.sync(ctx); err != nil {
		return err
	}
	return c.ended(c.readCommit())
}

// Step implements sqldb.Wire. If BEGIN fails, the server skips the statement (see errorTable).
func (c *connection) Step(ctx context.Context, first bool, which int, row func(store.Row) error, parameters []store.Value) (changed int64, err error) {
	c.conn.begin()
	if first {
		c.sendBegin()
	}
	c.sendCall(which, parameters)
	if err := c.conn.sync(ctx); err != nil {
		return 0, err
	}
	if first {
		err = c.readBegin()
	}
	if err == nil {
		changed, err = c.readRows(which, row)
	}
	if err = cmp.Or(err, c.conn.end()); err == nil && c.conn.TxStatus() != open {
		err = errNoTransaction
	}
	return changed, err
}
