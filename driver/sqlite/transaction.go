package sqlite

import (
	"context"

	"assay/driver/sqldb"
	"assay/history"
	"assay/store"
)

func (e ending) reply() store.Reply {
	r := e.Reply
	if r.Outcome == history.Failed {
		r.Violated = violated(r.Err)
	}
	return r
}

func (l *connection) writing(ctx context.Context, doing string, work func() error) ending {
	return l.do(ctx, writing(doing, work))
}

func writing(doing string, work func() error) *run {
	return &run{writes: true, doing: doing, work: func() (bool, error) {
		err := work()
		return err == nil, err
	}}
}

// Run implements sqldb.Connection. A writing transaction keeps its count to itself until its end,
// since it may run on after the caller has left.
func (l *connection) Run(ctx context.Context, which int, row func(store.Row) error, parameters []store.Value) store.Reply {
	if row != nil {
		return l.read(ctx, which, row, parameters)
	}
	var changed int64
	e := l.writing(ctx, l.names[which], func() error {
		var err error
		changed, err = l.handle.execute(l.statements[which], parameters)
		return err
	})
	r := e.reply()
	if !e.left && e.Outcome == history.Committed {
		r.Affected = changed
	}
	return r
}

func (l *connection) read(ctx context.Context, which int, row func(store.Row) error, parameters []store.Value) store.Reply {
	return l.do(ctx, &run{doing: l.names[which], work: func() (bool, error) {
		return true, l.query(which, parameters, func(r store.Row) error {
			if ctx.Err() != nil { // nobody waits for the rest
				return ctx.Err()
			}
			return row(r)
		})
	}}).read()
}

func (l *connection) query(which int, parameters []store.Value, row func(store.Row) error) error {
	return l.handle.query(l.statements[which], parameters, row)
}

// Insert implements sqldb.Connection; see file.Load.
func (l *connection) Insert(ctx context.Context, rows store.Rows) store.Reply {
	return l.do(ctx, l.inserting(rows)).reply()
}

func (l *connection) inserting(rows store.Rows) *run {
	return writing("insert", func() error {
		text := l.file.insertText(rows)
		insert := l.inserts[text]
		if insert == nil {
			var err error
			if insert, err = l.handle.prepare(text); err != nil {
				return err
			}
			l.inserts[text] = insert
			l.statements = append(l.statements, insert)
		}
		return l.handle.insert(insert, rows)
	})
}

func (l *connection) Load(ctx context.Context, rows store.Rows) store.Reply {
	return l.Insert(ctx, rows)
}

func (l *connection) Batch(ctx context.Context, b *store.Batch) store.Reply {
	r := l.writing(ctx, "transaction", func() error {
		for i := range b.Calls {
			if err := l.call(&b.Calls[i]); err != nil {
				return err
			}
		}
		return nil
	}).reply()
	if b.Inquiry == nil || r.Broken || r.Violated != store.Floor && r.Violated != store.Absent {
		return r
	}
	asked := l.read(ctx, b.Inquiry.Statement, b.Inquiry.Row, b.Inquiry.Parameters)
	if asked.Outcome != history.Committed {
		r.Class, r.Err, r.Broken, r.Violated = asked.Class, asked.Err, true, store.NoViolation
	}
	return r
}

func (l *connection) call(call *store.Call) error {
	if call.Row == nil {
		_, err := l.handle.execute(l.statements[call.Statement], call.Parameters)
		return err
	}
	return call.Counted(func(row func(store.Row) error) error { return l.query(call.Statement, call.Parameters, row) })
}

func (l *connection) Transaction(ctx context.Context, writes bool, work func(context.Context, store.Transaction) error) store.Reply {
	// The work may outlast the attempt, and ctx may then serve another one.
	working, stop := context.WithCancel(context.Background())
	defer stop()
	return l.do(ctx, &run{doing: "transaction", writes: writes, work: func() (bool, error) {
		err := work(working, transaction{l})
		return err == nil, err
	}}).reply()
}

type transaction struct{ l *connection }

func (t transaction) Do(_ context.Context, which int, row func(store.Row) error, parameters ...store.Value) (int64, error) {
	if row != nil {
		return 0, t.l.query(which, parameters, row)
	}
	return t.l.handle.execute(t.l.statements[which], parameters)
}

func (l *connection) Learn(_ context.Context, statement sqldb.Statement) (int, error) {
	prepared, err := l.handle.prepare(numbered(statement.Text))
	if err != nil {
		return 0, err
	}
	l.statements, l.names = append(l.statements, prepared), append(l.names, statement.Name)
	return len(l.statements) - 1, nil
}
