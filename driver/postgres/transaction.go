package postgres

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5/pgconn"

	"assay/driver/sqldb"
	"assay/history"
	"assay/workload"
)

// Batch implements sqldb.Connection: it sends the whole transaction at once and
// then reads the answers.
func (c *connection) Batch(ctx context.Context, b *sqldb.Batch) sqldb.Reply {
	c.unreplicated = false
	p := c.conn.StartPipeline(ctx)
	c.send(p, begin)
	for i := range b.Calls {
		c.sendCall(p, b.Calls[i].Statement, b.Calls[i].Parameters)
	}
	c.send(p, commit)
	err := p.Sync()
	at := working
	if err == nil {
		at, err = c.readBatch(p, b.Calls)
	}
	ended := p.Close()
	if err != nil {
		return c.refused(ctx, b, err, at)
	}
	reply := workload.Reply{Outcome: history.Committed, Broken: ended != nil || c.conn.IsClosed()}
	if c.unreplicated {
		reply = workload.Reply{Class: classNotReplicated, Broken: reply.Broken, Err: errNotReplicated}
	}
	return sqldb.Reply{Reply: reply}
}

// readBatch reads the answers to a batch, in the order of sending, up to the first
// error.
func (c *connection) readBatch(p *pgconn.Pipeline, calls []sqldb.Call) (at stage, err error) {
	if _, err = readAnswer(p); err != nil { // BEGIN
		return working, err
	}
	for i := range calls {
		if _, err = readRows(p, &c.row, calls[i].Row); err != nil {
			return working, err
		}
	}
	return committing, readCommit(p)
}

// refused says how a batch ended that did not commit, and leaves its transaction.
// Whatever the inquiry says, and even if it cannot be made, this attempt had no
// effect.
func (c *connection) refused(ctx context.Context, b *sqldb.Batch, err error, at stage) sqldb.Reply {
	if errors.Is(err, errRolledBack) {
		return sqldb.Reply{Reply: workload.Reply{Outcome: history.Failed, Class: workload.ClassOther, Err: err, Broken: c.conn.IsClosed()}}
	}
	reply := c.withViolation(sqldb.Reply{Reply: classify(err, at)})
	switch {
	case reply.Outcome != history.Failed:
	case b.Inquiry == nil || reply.Violated != sqldb.Check && reply.Violated != sqldb.Null:
		reply.Broken = c.leave(ctx) != nil
	default:
		if err := c.leaveAndAsk(ctx, b.Inquiry); err != nil {
			reply.Class, reply.Err, reply.Broken, reply.Violated = classify(err, working).Class, err, true, sqldb.NoViolation
		}
	}
	return reply
}

// leaveAndAsk ends a failed transaction and makes an inquiry, in one round trip.
func (c *connection) leaveAndAsk(ctx context.Context, inquiry *sqldb.Call) error {
	p := c.conn.StartPipeline(ctx)
	c.send(p, undo)
	c.sendCall(p, inquiry.Statement, inquiry.Parameters)
	err := p.Sync()
	if err == nil {
		if _, err = readAnswer(p); err == nil {
			_, err = readRows(p, &c.row, inquiry.Row)
		}
	}
	return errors.Join(err, p.Close())
}

// errNoTransaction means that BEGIN has begun nothing, so that what was done is
// done for good. Somebody on the way, such as a connection pooler, must have
// kept it.
var errNoTransaction = errors.New("the server is not in the transaction that was begun")

// Transaction implements sqldb.Connection. Each statement is a round trip of its
// own, BEGIN with the first of them and COMMIT alone, since statements that arrive
// one by one leave the transactions of others room to come between them.
//
// COMMIT is sent after all statements were answered, and "all changes made by
// the transaction become visible to others" with it alone (manual, COMMIT); so
// whatever goes wrong before, a lost connection included, there is no effect.
func (c *connection) Transaction(ctx context.Context, _ bool, work func(context.Context, sqldb.Transaction) error) sqldb.Reply {
	c.begun, c.unreplicated = false, false
	if err := work(ctx, transaction{c}); err != nil {
		return c.failed(ctx, err)
	}
	if !c.begun {
		return sqldb.Reply{Reply: workload.Reply{Outcome: history.Committed}} // of nothing
	}
	return c.withViolation(sqldb.Reply{Reply: c.commit(ctx)})
}

// failed leaves a transaction that ends before its COMMIT.
func (c *connection) failed(ctx context.Context, err error) sqldb.Reply {
	if errors.Is(err, errNoTransaction) {
		return sqldb.Reply{Reply: workload.Reply{Class: workload.ClassOther, Err: err, Broken: true}}
	}
	reply := workload.Reply{Outcome: history.Failed, Class: classify(err, working).Class, Err: err}
	reply.Broken = c.leave(ctx) != nil
	return c.withViolation(sqldb.Reply{Reply: reply})
}

// commit sends COMMIT and judges the answer.
func (c *connection) commit(ctx context.Context) workload.Reply {
	p := c.conn.StartPipeline(ctx)
	c.send(p, commit)
	err := p.Sync()
	if err == nil {
		err = readCommit(p)
	}
	ended := p.Close()
	switch {
	case errors.Is(err, errRolledBack):
		return workload.Reply{Outcome: history.Failed, Class: workload.ClassOther, Err: err, Broken: c.conn.IsClosed()}
	case err != nil:
		reply := classify(err, committing)
		if reply.Outcome == history.Failed {
			reply.Broken = c.leave(ctx) != nil
		}
		return reply
	case c.unreplicated:
		return workload.Reply{Class: classNotReplicated, Err: errNotReplicated, Broken: true}
	}
	return workload.Reply{Outcome: history.Committed, Broken: ended != nil || c.conn.IsClosed()}
}

// transaction is the one that a connection is in.
type transaction struct{ c *connection }

// Execute implements sqldb.Transaction.
func (t transaction) Execute(ctx context.Context, which int, parameters ...sqldb.Value) error {
	return t.Query(ctx, which, nil, parameters...)
}

// Query implements sqldb.Transaction. If BEGIN fails, the server does not do the
// statement (see classify).
func (t transaction) Query(ctx context.Context, which int, row func(sqldb.Row) error, parameters ...sqldb.Value) error {
	c := t.c
	p := c.conn.StartPipeline(ctx)
	if !c.begun {
		c.send(p, begin)
	}
	c.sendCall(p, which, parameters)
	err := p.Sync()
	if err == nil && !c.begun {
		_, err = readAnswer(p)
	}
	if err == nil {
		_, err = readRows(p, &c.row, row)
	}
	if ended := p.Close(); err == nil {
		err = ended
	}
	c.begun = true
	if err == nil && c.conn.TxStatus() != open {
		err = errNoTransaction
	}
	return err
}
