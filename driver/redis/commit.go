package redis

import (
	"context"
	"errors"

	"assay/history"
	"assay/store"
)

// commit sends MULTI, all writes and EXEC together. A transaction without writes needs them too, to
// learn of changes to its reads. If it read in one round trip, it read one state.
func (t *transaction) commit(doing string) store.Reply {
	if len(t.written) == 0 && t.asked <= 1 {
		return committed()
	}
	doing += ", commit"
	if err := t.turnOnce(t.written); err != nil {
		return t.untaken(doing, err)
	}
	all := append(t.unwatched(), newCommand("multi"))
	for _, key := range t.written {
		if h := t.held[key]; h.there {
			all = append(all, newCommand("set", key, valueOf(h.row)))
		} else {
			all = append(all, newCommand("del", key))
		}
	}
	queued := all
	exec := newCommand("exec")
	all = append(all[:len(all):len(all)], exec)
	var wait *command
	if len(t.written) > 0 {
		all, wait = t.confirmed(all...)
	}
	if err := t.link.do(t.ctx, all...); err != nil {
		return t.link.lost(doing, err)
	}
	t.link.watching = false // whatever EXEC has answered
	if r := executed(doing, exec, queued); r.Outcome != history.Committed {
		return r
	}
	return t.confirm(doing, wait)
}

var errChanged = errors.New("what the transaction has read was changed before it was to be committed")

// executed is the reply to EXEC. A null answer proves that nothing was done (manual, "EXEC"), and
// so does a discarded transaction. Other errors do not. If a command fails, the others are done,
// since Redis does not roll back (manual, "Transactions").
func executed(doing string, exec *command, queued []*command) store.Reply {
	switch err := exec.err; {
	case errors.Is(err, errNone):
		return refused(store.ClassSerialization, doing, errChanged)
	case codeOf(err) == codeAborted:
		class, _ := meaningOf(reasonOf(err, queued))
		r := refused(class, doing, err)
		r.Broken = elsewhere(class)
		return r
	case err != nil:
		r := answered(doing, err)
		r.Outcome = history.Unknown
		return r
	}
	results, err := answerOf[[]any](exec)
	for i := 0; i < len(results) && err == nil; i++ {
		err, _ = results[i].(error)
	}
	if err != nil {
		return store.Reply{Class: store.ClassOther, Err: failed(doing, err)}
	}
	return committed()
}

func (t *transaction) Do(_ context.Context, statement int, row func(store.Row) error, parameters ...store.Value) (int64, error) {
	return t.step(&store.Call{Statement: statement, Parameters: parameters, Row: row})
}

func (t *transaction) Batch(_ context.Context, calls []store.Call) error {
	if err := t.ahead(calls); err != nil {
		return err
	}
	for i := range calls {
		if _, err := t.step(&calls[i]); err != nil {
			return err
		}
	}
	return nil
}

func (n *session) Transaction(ctx context.Context, _ bool, work func(context.Context, store.Transaction) error) store.Reply {
	return n.perform(ctx, "transaction", func(t *transaction) error { return work(ctx, t) })
}

// Batch implements store.Session. It reads all rows with known keys at once.
func (n *session) Batch(ctx context.Context, b *store.Batch) store.Reply {
	r := n.perform(ctx, "batch", func(t *transaction) error { return t.Batch(ctx, b.Calls) })
	return b.Inquire(r, func(c store.Call) store.Reply { return n.Run(ctx, c) })
}
