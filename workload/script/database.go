package script

import (
	"context"
	"errors"
	"strconv"

	"assay/history"
	"assay/store"
)

// Schema has no tables: a user makes them.
func Schema() store.Schema {
	return store.Schema{Workload: Name, Transactions: true, Judged: true, Open: true}
}

// schemaOn is Schema, or that of tables which are there already.
func schemaOn(target store.Target) (store.Schema, error) {
	s := Schema()
	s.Existing = target.Existing
	return s, nil
}

// languageOf is what a database's statements are written in.
func languageOf(db store.Database) Language {
	if db.Lacks()[store.SQL] != "" {
		return Documents
	}
	return SQL
}

// look has read look at one state, which view gives. The error of read is wrapped.
func look(ctx context.Context, view func(context.Context, func(store.Reader) error) error, read func(Querier) error) error {
	return view(ctx, func(r store.Reader) error { return read(querier{r}) })
}

// querier is a Querier over a store.Reader.
type querier struct{ store.Reader }

func (r querier) Query(ctx context.Context, s Statement, row func([]any) error) error {
	return r.Read(ctx, store.Statement{Name: "query", Verb: store.Native, Text: s.native(), Gives: true, Reads: true}, plainRow(row), s.values(nil)...)
}

// native is the statement's text in the contract.
func (s *Statement) native() string {
	if s.Command != nil {
		return store.Command
	}
	return s.Text
}

// values appends the parameters.
func (s *Statement) values(into []store.Value) []store.Value {
	if s.Command != nil {
		return append(into, store.OfDocument(s.Command.document()))
	}
	return appendValues(into, s.Parameters)
}

// appendValues appends values of a script.
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

// plainRow gives each row to a callback as values of a script.
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

// session learns each statement when it is sent first. How many there are is bounded by
// the program, and of documents they are two.
type session struct {
	store.Session
	known map[sending]int
	// values are the parameters of the last statement of its own.
	values []store.Value
}

// sending is a statement as it is sent: the same text may be asked for its rows or not.
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

// constrained is the reply with the class of what a constraint refused.
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

// transactionOf is a Transaction of a session.
type transactionOf struct {
	session *session
	tx      store.Transaction
	// values are the parameters of the last statement.
	values []store.Value
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
