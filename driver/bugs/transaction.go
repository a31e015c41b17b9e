package bugs

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"assay/history"
	"assay/store"
	"assay/store/bug"
)

// errLost rolls back a transaction with unknown changes that the bug loses.
var errLost = fmt.Errorf("bugs: a transaction was lost on purpose: %w", store.ErrRollback)

// transact does an interactive transaction.
func (n *session) transact(ctx context.Context, x *attempt, o *operation) store.Reply {
	reply := n.Session.Transaction(ctx, o.writes, func(ctx context.Context, inner store.Transaction) error {
		err := o.work(ctx, &spoilable{inner, x, o.writes})
		if err == nil && x.unseen && x.does(bug.Loses) {
			err = errLost
		}
		return err
	})
	x.d.guard.Lock()
	defer x.d.guard.Unlock()
	x.over = true
	delete(x.d.underWay, x)
	if errors.Is(reply.Err, errLost) && reply.Outcome == history.Failed {
		x.bug.strikes++
		reply = store.Reply{Outcome: history.Committed, Broken: reply.Broken}
	}
	return reply
}

// spoilable is a running transaction. It may run on after the session has answered. over is then
// set, and it looks at nothing any more.
type spoilable struct {
	store.Transaction
	x      *attempt
	writes bool
}

func (t *spoilable) Do(ctx context.Context, statement int, row func(store.Row) error, parameters ...store.Value) (changed int64, err error) {
	x := t.x
	s := &x.n.statements[statement]
	table := x.d.schema.Table(s.Table)
	if s.Verb == store.Native || table == nil {
		return t.native(ctx, statement, row, parameters)
	}
	x.capture(ctx, doerOf(t.Transaction), statement, parameters)
	if row == nil {
		x.rehearsal.note(statement, parameters)
		return t.Transaction.Do(ctx, statement, nil, parameters...)
	}
	var rows []image
	changed, err = t.Transaction.Do(ctx, statement, func(found store.Row) error {
		one, err := rowOf(found, table, s)
		rows = append(rows, one)
		return err
	}, parameters...)
	x.rehearsal.note(statement, parameters)
	if err == nil && x.n.stepped {
		if err = x.d.take(ctx); err == nil {
			defer x.d.done()
		}
	}
	if err == nil {
		err = x.answer(s, parameters, rows, row)
	}
	return changed, err
}

// native does a Native. All that is known of it is whether it changes something or gives rows, and
// that its transaction can be rolled back.
func (t *spoilable) native(ctx context.Context, statement int, row func(store.Row) error, parameters []store.Value) (changed int64, err error) {
	x := t.x
	s := &x.n.statements[statement]
	switch {
	case row == nil && !s.ReadsOnly():
		x.unseen = true
		if x.does(bug.Forgets) && !x.struck {
			x.struck = true
			return 1, nil
		}
	case row != nil && !t.writes && x.does(bug.Misanswers):
		given := row
		row = func(r store.Row) error { return given(below{r, x}) }
	}
	return t.Transaction.Do(ctx, statement, row, parameters...)
}

type below struct {
	store.Row
	x *attempt
}

func (b below) AppendValues(into []any) ([]any, error) {
	first := len(into)
	into, err := b.Row.AppendValues(into)
	for i := first; i < len(into); i++ {
		into[i] = b.x.below(into[i])
	}
	return into, err
}

func (x *attempt) below(v any) any {
	switch v := v.(type) {
	case int64:
		x.struck = true
		return -1 - max(v, -v)
	case store.Document:
		altered := slices.Clone(v)
		for i := range altered {
			altered[i].Value = x.below(altered[i].Value)
		}
		return altered
	}
	return v
}
