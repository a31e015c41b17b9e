package sqldb

import (
	"context"
	"errors"
	"fmt"

	"assay/history"
	"assay/store"
)

// Renamed replaces reserved names of table and columns.
func (d *Dialect) Renamed(rows store.Rows) store.Rows {
	if d.Reserved == nil {
		return rows
	}
	columns := make([]string, len(rows.Columns))
	for i, c := range rows.Columns {
		columns[i] = d.name(c)
	}
	rows.Table, rows.Columns = d.name(rows.Table), columns
	return rows
}

type reader struct {
	Reader
	sql     *Dialect
	schema  *store.Schema
	missing func(error) bool
	// name and text are the last statement's: an audit repeats it for each account.
	name, text string
}

// ReaderOf makes a store.Reader of a Reader. missing recognizes errors about a missing table.
func ReaderOf(r Reader, sql *Dialect, schema *store.Schema, missing func(error) bool) store.Reader {
	return &reader{Reader: r, sql: sql, schema: schema, missing: missing}
}

func (r *reader) Read(ctx context.Context, s store.Statement, row func(store.Row) error, parameters ...store.Value) error {
	if s.Name == "" || s.Name != r.name || s.Verb == store.Native {
		c, err := r.sql.compile(r.schema, []store.Statement{s})
		if err != nil {
			return err
		}
		r.name, r.text = s.Name, c.texts[0].Text
	}
	by := r.Reader
	if v, is := by.(ValueReader); is && s.Verb == store.Native {
		by = v.WithValues()
	}
	err := by.Query(ctx, r.text, row, parameters...)
	if err != nil && r.missing(err) {
		return &store.NoTableError{Table: s.Table, Err: err}
	}
	return err
}

// session is a store.Session over a Connection.
type session struct {
	Connection
	compiled
	sql    *Dialect
	schema *store.Schema
	// calls is the memory of Batch, if updates give no rows.
	calls []store.Call
}

var _ store.Learner = (*session)(nil)

// SessionOn makes a store.Session for the statements, over the Connection that connect opens.
func SessionOn(ctx context.Context, sql *Dialect, schema *store.Schema, statements []store.Statement,
	connect func(context.Context, []Statement) (Connection, error)) (store.Session, error) {
	c, err := sql.compile(schema, statements)
	if err != nil {
		return nil, err
	}
	connection, err := connect(ctx, c.texts)
	if err != nil {
		return nil, err
	}
	return &session{Connection: connection, compiled: c, sql: sql, schema: schema}, nil
}

func unwanted(store.Row) error { return nil }

func (s *session) Run(ctx context.Context, call store.Call) store.Reply {
	of := &s.statements[call.Statement]
	switch {
	case of.ReadsOnly() && call.Row == nil:
		call.Row = unwanted
	case of.ReadsOnly():
	case of.GivesRows():
		return s.Batch(ctx, &store.Batch{Calls: []store.Call{call}})
	default:
		call.Row = nil
	}
	if call.Want == 0 || call.Row == nil {
		return s.Connection.Run(ctx, call.Statement, call.Row, call.Parameters)
	}
	var r store.Reply
	err := call.Counted(func(row func(store.Row) error) error {
		r = s.Connection.Run(ctx, call.Statement, row, call.Parameters)
		return r.Err
	})
	if err != nil && r.Outcome == history.Committed {
		r.Outcome, r.Class, r.Err = history.Failed, store.ClassOther, err
	}
	return r
}

func (s *session) Insert(ctx context.Context, rows store.Rows) store.Reply {
	return s.Connection.Insert(ctx, s.sql.Renamed(rows))
}

func (s *session) Load(ctx context.Context, rows store.Rows) store.Reply {
	return s.Connection.Load(ctx, s.sql.Renamed(rows))
}

// Batch implements store.Session. If updates give no rows, a query after each reads its row. Two
// rows of one table are read by one query at the end.
func (s *session) Batch(ctx context.Context, b *store.Batch) store.Reply {
	var left []store.Call
	for _, call := range b.Calls {
		if s.after[call.Statement] != 0 {
			left = append(left, call)
		}
	}
	if left == nil {
		return s.Connection.Batch(ctx, b)
	}
	pair, together := s.together(left)
	s.calls = s.calls[:0]
	for _, call := range b.Calls {
		after := s.after[call.Statement]
		if after == 0 {
			s.calls = append(s.calls, call)
			continue
		}
		s.calls = append(s.calls, store.Call{Statement: call.Statement, Parameters: call.Parameters})
		if !together {
			call.Statement = after
			s.calls = append(s.calls, call)
		}
	}
	if together {
		s.calls = append(s.calls, pair)
	}
	return s.Connection.Batch(ctx, &store.Batch{Calls: s.calls, Inquiry: b.Inquiry})
}

// together is one query for the rows of two updates by one statement.
func (s *session) together(left []store.Call) (pair store.Call, is bool) {
	if len(left) != 2 || left[0].Statement != left[1].Statement || s.pair[left[0].Statement] == 0 {
		return pair, false
	}
	statement := left[0].Statement
	key := s.statements[statement].Where[0].Value.Parameter - 1
	first, second := left[0], left[1]
	keys := [2]int64{first.Parameters[key].Number, second.Parameters[key].Number}
	return store.Call{Statement: s.pair[statement], Parameters: store.OfInts(keys[0], keys[1]), Want: first.Want + second.Want, Row: func(row store.Row) error {
		var id int64
		columns := make([]any, len(s.statements[statement].Columns)+1)
		columns[0] = &id
		if err := row.Scan(columns...); err != nil {
			return err
		}
		if id == keys[0] {
			return first.Row(behindKey{row})
		}
		return second.Row(behindKey{row})
	}}, keys[0] != keys[1] && first.Parameters[key].Kind == store.Int
}

type behindKey struct{ store.Row }

func (r behindKey) Scan(into ...any) error { return r.Row.Scan(append([]any{nil}, into...)...) }

func (s *session) Transaction(ctx context.Context, writes bool, work func(context.Context, store.Transaction) error) store.Reply {
	return s.Connection.Transaction(ctx, writes, func(ctx context.Context, t store.Transaction) error {
		return work(ctx, transaction{t, s})
	})
}

type transaction struct {
	store.Transaction
	session *session
}

func (t transaction) Do(ctx context.Context, statement int, row func(store.Row) error, parameters ...store.Value) (changed int64, err error) {
	after := t.session.after[statement]
	switch {
	case after != 0:
		if changed, err = t.Transaction.Do(ctx, statement, nil, parameters...); err != nil {
			return 0, err
		}
		statement = after
	case !t.session.statements[statement].GivesRows():
		return t.Transaction.Do(ctx, statement, nil, parameters...)
	case row == nil:
		row = unwanted
	}
	_, err = t.Transaction.Do(ctx, statement, row, parameters...)
	return changed, err
}

func (s *session) Learn(ctx context.Context, statement store.Statement) (int, error) {
	c, err := s.sql.compile(s.schema, []store.Statement{statement})
	if err != nil {
		return 0, err
	}
	if len(c.texts) > 1 || len(s.texts) > len(s.statements) {
		return 0, errors.New("a further statement cannot be told from what reads the rows of updates")
	}
	i, err := s.Connection.Learn(ctx, c.texts[0])
	if err != nil {
		return 0, fmt.Errorf("learn %s: %w", statement.Name, err)
	}
	s.statements = append(s.statements[:len(s.statements):len(s.statements)], statement)
	s.texts, s.after, s.pair = append(s.texts, c.texts[0]), append(s.after, 0), append(s.pair, 0)
	return i, nil
}
