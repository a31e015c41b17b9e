package sqldb

import (
	"context"
	"fmt"

	"assay/history"
	"assay/store"
)

// Stage is what a transaction was about when something went wrong.
type Stage uint8

const (
	// Working: COMMIT is on its way, and its answer was not yet due.
	Working Stage = iota
	// BeforeCommit: COMMIT was not sent, and is not. There is no effect, whatever went
	// wrong.
	BeforeCommit
	// Committing: what failed is COMMIT itself.
	Committing
	// Alone: the statement is a transaction by itself.
	Alone
)

// Wire is a session's connection as its protocol sends statements. It is used by one
// goroutine at a time.
type Wire interface {
	// Ready is nil if something can be sent. Else nothing was.
	Ready(ctx context.Context) error
	// Run does a statement that is a transaction of its own, and says how many rows it
	// has changed. row gets the rows; it is nil if there are none.
	Run(ctx context.Context, statement int, row func(store.Row) error, parameters []store.Value) (changed int64, at Stage, err error)
	// Insert and Load add rows in one transaction; see Connection.
	Insert(ctx context.Context, rows store.Rows) (Stage, error)
	Load(ctx context.Context, rows store.Rows) (Stage, error)
	// Batch runs a transaction of these calls.
	Batch(ctx context.Context, calls []store.Call) (Stage, error)
	// Step does a statement in a transaction, with what begins it before the first.
	// It returns how many rows were changed.
	Step(ctx context.Context, first bool, statement int, row func(store.Row) error, parameters []store.Value) (int64, error)
	// Prepare takes a further statement, behind the others.
	Prepare(ctx context.Context, statement Statement) error
	// Waiting is as Connection has it.
	Waiting(ctx context.Context) (waiting, known bool, err error)
	Commit(ctx context.Context) error
	// Leave ends a transaction that failed and then, unless that is nil, makes the
	// inquiry. After an error the connection is of no use.
	Leave(ctx context.Context, inquiry *store.Call) error
	// Usable reports whether the connection can be used again, after this error or
	// none: it is open, and leads to a server that takes writes.
	Usable(err error) bool
	// Classify is the reply to an attempt in which an error came up: Failed with proof
	// of no effect, else Unknown and Broken. Violated is the constraint it tells of.
	Classify(err error, at Stage) store.Reply
	Violated(err error) store.Violation
	Close()
}

// Session is a Connection over a Wire: it says how attempts ended.
type Session struct {
	Wire
	// Product begins errors.
	product    string
	statements []Statement
	begun      bool // the first statement of a Transaction was sent
}

// NewSession returns the Connection over a Wire that knows these statements.
func NewSession(product string, statements []Statement, wire Wire) *Session {
	return &Session{Wire: wire, product: product, statements: statements}
}

// ended is the reply to an attempt that ended with this error, or none, and leaves the
// transaction of one that had no effect. Whatever the inquiry says, and even if it
// cannot be made, that attempt had none.
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

// unsent is the reply where nothing was sent.
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

// Transaction implements Connection. Each statement is a round trip of its own, what
// begins the transaction with the first of them and COMMIT alone, since statements
// that arrive one by one leave the transactions of others room to come between them.
// After an error no further statement is sent: the server may have rolled the whole
// transaction back, and what came then would be committed by itself.
//
// COMMIT is sent after all statements were answered, and what a transaction did is
// there with it alone; so whatever goes wrong before, a lost connection included,
// there is no effect.
func (s *Session) Transaction(ctx context.Context, _ bool, work func(context.Context, store.Transaction) error) store.Reply {
	if err := s.Ready(ctx); err != nil {
		return s.unsent(err)
	}
	s.begun = false
	return s.End(ctx, work(ctx, s.Steps()))
}

// Steps are the statements of the transaction that is under way.
func (s *Session) Steps() store.Transaction { return steps{s} }

// End commits the transaction that is under way or, after this error, leaves it.
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

// steps is the transaction that a session is in.
type steps struct{ *Session }

func (t steps) Do(ctx context.Context, statement int, row func(store.Row) error, parameters ...store.Value) (int64, error) {
	first := !t.begun
	t.begun = true
	return t.Step(ctx, first, statement, row, parameters)
}
