package sqldb

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"assay/history"
	"assay/store"
	"assay/workload"
	"assay/workload/script"
)

// ScriptSchema is the Schema of workload script, whose tables a user makes.
func ScriptSchema() Schema { return Schema{Workload: "script", Transactions: true, Open: true} }

// Script is the Store on a Database of ScriptSchema.
func Script(db Database) script.Store { return &scriptStore{db} }

type scriptStore struct{ Database }

func (s *scriptStore) Language() script.Language { return script.SQL }

func (s *scriptStore) Load(ctx context.Context, rows script.Rows) error {
	return s.Database.Load(ctx, Rows{Table: rows.Table, Columns: rows.Columns, Count: len(rows.Values), Row: func(i int, into []Value) []Value {
		return appendPlain(into, rows.Values[i])
	}})
}

// appendPlain appends values of a script.
func appendPlain(into []Value, values []any) []Value {
	for _, v := range values {
		switch v := v.(type) {
		case int64:
			into = append(into, OfInt(v))
		case float64:
			into = append(into, Value{Kind: Real, Real: v})
		case bool:
			into = append(into, OfBool(v))
		case string:
			into = append(into, OfText(v))
		default:
			into = append(into, Value{Kind: Nothing})
		}
	}
	return into
}

func (s *scriptStore) Read(ctx context.Context, read func(script.Querier) error) error {
	return s.View(ctx, func(r Reader) error { return read(scriptReader{r}) })
}

func (s *scriptStore) Observe(ctx context.Context, read func(script.Querier) error) error {
	return s.AuditView(ctx, func(r Reader) error { return read(scriptReader{r}) })
}

// scriptReader is a Reader as the workload wants it.
type scriptReader struct{ Reader }

func (r scriptReader) Query(ctx context.Context, s script.Statement, row func([]any) error) error {
	reader := r.Reader
	if v, is := reader.(ValueReader); is {
		reader = v.WithValues()
	}
	return reader.Query(ctx, s.Text, plainRow(row), appendPlain(nil, s.Parameters)...)
}

// plainRow gives each row to a callback as the workload's values.
func plainRow(row func([]any) error) func(Row) error {
	return func(r Row) error {
		if row == nil {
			return nil
		}
		values, err := r.AppendValues(nil)
		if err != nil {
			return err
		}
		return row(values)
	}
}

func (s *scriptStore) Session(ctx context.Context) (script.Session, error) {
	c, err := s.Connect(ctx, nil)
	if err != nil {
		return nil, err
	}
	return &scriptSession{Connection: c, known: map[string]int{}}, nil
}

// scriptSession learns each statement when it is sent first. How many there are is bounded
// by the workload.
type scriptSession struct {
	Connection
	known map[string]int
	// values are the parameters of the last statement of its own.
	values []Value
}

func (s *scriptSession) index(ctx context.Context, text string) (int, error) {
	if i, known := s.known[text]; known {
		return i, nil
	}
	i, err := s.Learn(ctx, Statement{Name: "statement_" + strconv.Itoa(len(s.known)+1), Text: text})
	if err == nil {
		s.known[text] = i
	}
	return i, err
}

func (s *scriptSession) Single(ctx context.Context, of script.Statement) workload.Reply {
	i, err := s.index(ctx, of.Text)
	if err != nil {
		return workload.Reply{Outcome: history.Failed, Class: workload.ClassOther, Err: err}
	}
	s.values = appendPlain(s.values[:0], of.Parameters)
	if of.Reads {
		return s.Connection.Query(ctx, i, plainRow(nil), s.values...)
	}
	return constrained(s.Connection.Execute(ctx, i, s.values...))
}

// constrained is the reply with the class of what a constraint refused.
func constrained(reply Reply) workload.Reply {
	if reply.Violated != NoViolation && reply.Class == workload.ClassOther {
		reply.Class = script.ClassConstraint
	}
	return reply.Reply
}

func (s *scriptSession) Transaction(ctx context.Context, writes bool, work func(context.Context, script.Transaction) error) workload.Reply {
	reply := s.Connection.Transaction(ctx, writes, func(ctx context.Context, tx Transaction) error {
		err := work(ctx, &scriptTransaction{s, tx, nil})
		if errors.Is(err, script.ErrLeave) {
			err = fmt.Errorf("%w: %w", store.ErrRollback, err)
		}
		return err
	})
	return constrained(reply)
}

// scriptTransaction is one that is under way.
type scriptTransaction struct {
	session *scriptSession
	tx      Transaction
	// values are the parameters of the last statement.
	values []Value
}

func (t *scriptTransaction) Query(ctx context.Context, s script.Statement, row func([]any) error) error {
	i, err := t.session.index(ctx, s.Text)
	if err != nil {
		return err
	}
	t.values = appendPlain(t.values[:0], s.Parameters)
	return t.tx.Query(ctx, i, plainRow(row), t.values...)
}

func (t *scriptTransaction) Execute(ctx context.Context, s script.Statement) (int64, error) {
	i, err := t.session.index(ctx, s.Text)
	if err != nil {
		return 0, err
	}
	t.values = appendPlain(t.values[:0], s.Parameters)
	return t.tx.Change(ctx, i, t.values...)
}
