package etcd

import (
	"context"
	"errors"
	"fmt"

	"assay/driver/ordered"
	"assay/history"
	"assay/store"
)

// session is a store.Session with connections of its own to each host of the address. One request
// reads all rows with known keys, so a transfer takes two requests.
type session struct {
	*ordered.Session
	database *database
	conn     *connection
	epoch    int64 // the mark's mod_revision
}

// Session implements store.Database and requires a schema of ours.
func (d *database) Session(ctx context.Context, statements []store.Statement) (store.Session, error) {
	compiled, err := d.NewSession(statements)
	if err != nil {
		return nil, fmt.Errorf("etcd: %w", err)
	}
	n := &session{Session: compiled, database: d}
	n.Perform = n.perform
	if n.conn, err = dial(ctx, d.options, d.hosts); err != nil {
		return nil, err
	}
	t := n.conn.reader(ctx)
	if _, err := d.MustMark(ctx, t); err != nil {
		return nil, errors.Join(n.conn.explain(ctx, "open a session", err), n.conn.close())
	}
	n.epoch = t.read[string(d.Layout.Mark())].revision
	return n, nil
}

func (n *session) Close() {
	_ = n.conn.close() // that it was closed before is all that it can say
}

func (n *session) begin(ctx context.Context) *transaction {
	t := n.conn.begin(ctx)
	t.mark, t.epoch, t.stale = n.database.Layout.Mark(), n.epoch, n.database.stale
	return t
}

func (n *session) perform(ctx context.Context, doing string, use ordered.Use, work func(*ordered.Execution) error) store.Reply {
	t := n.begin(ctx)
	t.assumes, t.forgets = use.Blind, use.Reads
	err := work(n.database.execution(t))
	if err == nil {
		doing += ", commit"
		err = t.commit()
	}
	if err != nil {
		return n.refusal(t, doing, err)
	}
	return store.Reply{Outcome: history.Committed}
}

// refusal is the reply to a transaction with this error. A constraint was checked at one revision.
// A key that a member shows is durable (etcd manual 3.4, "etcd API guarantees", "Durability").
func (n *session) refusal(t *transaction, doing string, err error) store.Reply {
	reply, known := ordered.Refusal(err)
	switch {
	case known:
	case errors.Is(err, errConflict), errors.Is(err, errFenced):
		reply = store.Reply{Outcome: history.Failed, Class: store.ClassSerialization}
	default:
		reply.Outcome, reply.Class = judge(err, t.sent)
	}
	reply.Broken, reply.Err = broken(err), fmt.Errorf("etcd: %s: %w", doing, err)
	return reply
}
