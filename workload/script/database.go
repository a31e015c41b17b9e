package script

import (
	"context"
	"errors"
	"strconv"

	"assay/history"
	"assay/store"
)

// Schema has no tables: the user makes them.
func Schema() store.Schema {
	return store.Schema{Workload: Name, Transactions: true, Judged: true, Open: true}
}

// schemaOn is Schema on the target, or of existing tables.
func schemaOn(target store.Target) (store.Schema, error) {
	s := Schema()
	s.Existing = target.Existing
	return s, nil
}

func languageOf(db store.Database) Language {
	if db.Lacks()[store.SQL] != "" {
		return Documents
	}
	return SQL
}

// look gives read one state of a view. It wraps read's error.
func look(ctx context.Context, view func(context.Context, func(store.Reader) error) error, read func(Querier) error) error {
	return view(ctx, func(r store.Reader) error { return read(querier{r}) })
}

type querier struct{ store.Reader }

func (r querier) Query(ctx context.Context, s Statement, row func([]any) error) error {
	return r.Read(ctx, store.Statement{Name: "query", Verb: store.Native, Text: s.native(), Gives: true, Reads: true}, plainRow(row), s.values(nil)...)
}

func (s *Statement) native() string {
	if s.Command != nil {
		return store.Command
	}
	return s.Text
}

func (s *Statement) values(into []store.Value) []store.Value {
	if s.Command != nil {
		return append(into, store.OfDocument(s.Command.document()))
	}
	return appendValues(into, s.Parameters)
}

func appendValues(into []store.Value, values []any) []store.Value {
	for _, v := range values {
		switch v := v.(type) {
		case int64:
			into = append(into, store.OfInt(v))
		case float64:
			into = append(into, store.Value{Kind: store.Real, Real: v})
		case bool:
			into = append(into, store.OfBool(v))
		case string:
			into = append(into, store.OfText(v))
		case store.Document:
			into = append(into, store.OfDocument(v))
		default:
			into = append(into, store.Value{Kind: store.Nothing})
		}
	}
	return into
}

// plainRow gives rows to a callback as values of a script.
func plainRow(row func([]any) error) func(store.Row) error {
	return func(r store.Row) error {
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

// OpenSession opens a Session on a database of Schema.
func OpenSession(ctx context.Context, db store.Database) (Session, error) {
	s, err := db.Session(ctx, nil)
	if err != nil {
		return nil, err
	}
	return &session{Session: s, known: map[sending]int{}}, nil
}

// session learns each statement when first sent. The program bounds their number.
type session struct {
	store.Session
	known  map[sending]int
	values []store.Value
}

// sending is a statement as sent: with or without its rows.
type sending struct {
	text  string
	gives bool
}

func (s *session) index(ctx context.Context, of *Statement, gives bool) (int, error) {
	key := sending{of.native(), gives}
	if i, known := s.known[key]; known {
		return i, nil
	}
	learner, is := s.Session.(store.Learner)
	if !is {
		return 0, errors.New("the database's sessions take no further statements")
	}
	i, err := learner.Learn(ctx, store.Statement{Name: "statement_" + strconv.Itoa(len(s.known)+1), Verb: store.Native, Text: key.text, Gives: gives, Reads: of.Reads})
	if err == nil {
		s.known[key] = i
	}
	return i, err
}

func (s *session) Single(ctx context.Context, of Statement) store.Reply {
	i, err := s.index(ctx, &of, of.Reads)
	if err != nil {
		return store.Reply{Outcome: history.Failed, Class: store.ClassOther, Err: err}
	}
	s.values = of.values(s.values[:0])
	call := store.Call{Statement: i, Parameters: s.values}
	if of.Reads {
		call.Row = plainRow(nil)
	}
	return constrained(s.Run(ctx, call))
}

// constrained gives a constraint's refusal the class ClassConstraint.
func constrained(reply store.Reply) store.Reply {
	violated := reply.Violated != store.NoViolation && reply.Class == store.ClassOther
	if violated || reply.Class == store.ClassDuplicate || reply.Class == store.ClassDuplicateKey {
		reply.Class = store.ClassConstraint
	}
	return reply
}

func (s *session) Transaction(ctx context.Context, writes bool, work func(context.Context, Transaction) error) store.Reply {
	return constrained(s.Session.Transaction(ctx, writes, func(ctx context.Context, tx store.Transaction) error {
		return work(ctx, &transactionOf{s, tx, nil})
	}))
}

func (s *session) Texts(ctx context.Context, writes bool, work func(context.Context, store.Sender) error) store.Reply {
	by, is := s.Session.(store.Verbatim)
	if !is {
		return store.Reply{Outcome: history.Failed, Class: store.ClassOther, Err: errors.New("the database's sessions send no statements as they are written")}
	}
	return constrained(by.Verbatim(ctx, writes, work))
}

type transactionOf struct {
	session *session
	tx      store.Transaction
	values  []store.Value
}

func (t *transactionOf) Query(ctx context.Context, s Statement, row func([]any) error) error {
	_, err := t.do(ctx, &s, plainRow(row))
	return err
}

func (t *transactionOf) Execute(ctx context.Context, s Statement) (int64, error) {
	return t.do(ctx, &s, nil)
}

func (t *transactionOf) do(ctx context.Context, s *Statement, row func(store.Row) error) (int64, error) {
	i, err := t.session.index(ctx, s, row != nil)
	if err != nil {
		return 0, err
	}
	t.values = s.values(t.values[:0])
	return t.tx.Do(ctx, i, row, t.values...)
}
