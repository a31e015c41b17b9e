package sqldb

import (
	"context"
	"fmt"

	"assay/history"
	"assay/store"
)

// Stage says where in a transaction an error came up.
type Stage uint8

const (
	// Working: COMMIT is on its way, and its answer was not due.
	Working Stage = iota
	// BeforeCommit: COMMIT was not sent and will not be, so there is no effect.
	BeforeCommit
	// Committing: COMMIT itself failed.
	Committing
	// Alone: the statement is a transaction by itself.
	Alone
)

// Wire sends a session's statements in its protocol. One goroutine at a time uses it.
type Wire interface {
	// Ready returns an error if nothing can be sent, and has sent nothing then.
	Ready(ctx context.Context) error
	// Run does a statement as a transaction of its own and counts the changed rows. row gets the
	// rows; it is nil if there are none.
	Run(ctx context.Context, statement int, row func(store.Row) error, parameters []store.Value) (changed int64, at Stage, err error)
	// Insert and Load add rows in one transaction; see Connection.
	Insert(ctx context.Context, rows store.Rows) (Stage, error)
	Load(ctx context.Context, rows store.Rows) (Stage, error)
	// Batch runs the calls as a transaction.
	Batch(ctx context.Context, calls []store.Call) (Stage, error)
	// Step does a statement in a transaction, which it begins if first is true. It counts the
	// changed rows.
	Step(ctx context.Context, first bool, statement int, row func(store.Row) error, parameters []store.Value) (int64, error)
	// Prepare adds a statement to the known ones.
	Prepare(ctx context.Context, statement Statement) error
	// Waiting is Connection's.
	Waiting(ctx context.Context) (waiting, known bool, err error)
	Commit(ctx context.Context) error
	// Leave ends a failed transaction and then makes the inquiry, unless it is nil. After an
	// error the connection is useless.
	Leave(ctx context.Context, inquiry *store.Call) error
	// Usable reports whether the connection is open and leads to a server that takes writes. err
	// is the latest error, or nil.
	Usable(err error) bool
	// Classify is the reply to an attempt with this error: Failed with proof of no effect,
	// otherwise Unknown and Broken. Violated is the constraint in the error.
	Classify(err error, at Stage) store.Reply
	Violated(err error) store.Violation
	Close()
}

// Session is a Connection over a Wire. It decides how attempts ended.
type Session struct {
	Wire
	product    string
	statements []Statement
	begun      bool // the first statement of a Transaction was sent
}

// NewSession returns a Connection over a Wire that knows the statements.
func NewSession(product string, statements []Statement, wire Wire) *Session {
	return &Session{Wire: wire, product: product, statements: statements}
}

// ended is the reply to an attempt with this error, or none. It leaves a failed attempt's
// transaction. The inquiry does not change the outcome, even if it fails.
func (s *Session) ended(ctx context.Context, doing string, at Stage, err error, inquiry *store.Call) store.Reply {
	if err == nil {
		return store.Reply{Outcome: history.Committed, Broken: !s.Usable(nil)}
	}
	r := s.Classify(err, at)
	r.Err = fmt.Errorf("%s: %s: %w", s.product, doing, err)
	if r.Outcome != history.Failed {
		return r
	}
	if r.Violated = s.Violated(err); r.Violated != store.Floor && r.Violated != store.Absent {
		inquiry = nil
	}
	var left error
	if at != Alone {
		left = s.Leave(ctx, inquiry)
	}
	if left != nil && inquiry != nil {
		r.Class, r.Err, r.Violated = s.Classify(left, Working).Class, left, store.NoViolation
	}
	r.Broken = left != nil || !s.Usable(err)
	return r
}

func (s *Session) unsent(err error) store.Reply {
	r := s.Classify(err, BeforeCommit)
	r.Broken = !s.Usable(nil)
	return r
}

func (s *Session) Run(ctx context.Context, statement int, row func(store.Row) error, parameters []store.Value) store.Reply {
	if err := s.Ready(ctx); err != nil {
		return s.unsent(err)
	}
	changed, at, err := s.Wire.Run(ctx, statement, row, parameters)
	r := s.ended(ctx, s.statements[statement].Name, at, err, nil)
	if r.Affected = changed; row == nil {
		return r
	}
	r.Affected, r.Violated = 0, store.NoViolation
	if err != nil {
		r.Outcome, r.Broken = history.Failed, !s.Usable(err)
	}
	return r
}

func (s *Session) Insert(ctx context.Context, rows store.Rows) store.Reply {
	return s.add(ctx, rows, s.Wire.Insert)
}

func (s *Session) Load(ctx context.Context, rows store.Rows) store.Reply {
	return s.add(ctx, rows, s.Wire.Load)
}

func (s *Session) add(ctx context.Context, rows store.Rows, by func(context.Context, store.Rows) (Stage, error)) store.Reply {
	if err := s.Ready(ctx); err != nil {
		return s.unsent(err)
	}
	at, err := by(ctx, rows)
	return s.ended(ctx, "insert", at, err, nil)
}

func (s *Session) Batch(ctx context.Context, b *store.Batch) store.Reply {
	if err := s.Ready(ctx); err != nil {
		return s.unsent(err)
	}
	at, err := s.Wire.Batch(ctx, b.Calls)
	return s.ended(ctx, "transaction", at, err, b.Inquiry)
}

// Transaction implements Connection. Each statement is a round trip; BEGIN goes with the first, and
// COMMIT alone. So other transactions can come between the statements. Nothing is sent after an
// error: the server may have rolled back and would commit later statements by themselves.
//
// COMMIT is sent after all answers. Whatever fails before has no effect, lost connections included.
func (s *Session) Transaction(ctx context.Context, _ bool, work func(context.Context, store.Transaction) error) store.Reply {
	if err := s.Ready(ctx); err != nil {
		return s.unsent(err)
	}
	s.begun = false
	return s.End(ctx, work(ctx, s.Steps()))
}

// Steps is the running transaction.
func (s *Session) Steps() store.Transaction { return steps{s} }

// End commits the running transaction, or leaves it after an error.
func (s *Session) End(ctx context.Context, err error) store.Reply {
	at := BeforeCommit
	switch {
	case err != nil:
	case !s.begun:
		return store.Reply{Outcome: history.Committed} // of nothing
	case ctx.Err() != nil: // COMMIT is not sent
		err = ctx.Err()
	default:
		at, err = Committing, s.Commit(ctx)
	}
	s.begun = false
	return s.ended(ctx, "transaction", at, err, nil)
}

func (s *Session) Learn(ctx context.Context, statement Statement) (int, error) {
	if err := s.Prepare(ctx, statement); err != nil {
		return 0, err
	}
	s.statements = append(s.statements, statement)
	return len(s.statements) - 1, nil
}

type steps struct{ *Session }

func (t steps) Do(ctx context.Context, statement int, row func(store.Row) error, parameters ...store.Value) (int64, error) {
	first := !t.begun
	t.begun = true
	return t.Step(ctx, first, statement, row, parameters)
}
