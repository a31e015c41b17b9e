package script

import (
	"context"
	"strings"

	"assay/store"
)

// Querier runs queries in one transaction. A value, of a parameter or of an answer, is nil,
// int64, float64, bool or string, or a store.Document.
type Querier interface {
	// Query gives each row to the callback, which may keep it; of documents, a row of one
	// store.Document. An error of the callback ends it. A nil callback wants none.
	Query(ctx context.Context, statement Statement, row func([]any) error) error
}

// Session is one client's, and learns of statements one by one.
type Session interface {
	// Single runs a statement that is a transaction of its own, and whose rows nobody
	// wants. One that reads has no effect, so that anything but Committed is Failed.
	Single(ctx context.Context, statement Statement) store.Reply

	// Transaction runs a transaction whose statements follow from one another. writes is
	// whether it may write. An error of work ends it without COMMIT, and proves that it
	// had no effect; store.ErrRollback is one that says nothing against the session. work may be
	// running still, in another goroutine, when this returns; then the reply is not
	// Committed.
	//
	// The driver decides from typed errors: Committed when the database said so, Failed
	// only with proof of no effect, Unknown in all other cases.
	Transaction(ctx context.Context, writes bool, work func(context.Context, Transaction) error) store.Reply

	// Texts runs an operation that begins and ends its transactions itself; see
	// store.Verbatim.
	Texts(ctx context.Context, writes bool, work func(context.Context, store.Sender) error) store.Reply

	// Close ends the session. What is in flight is abandoned.
	Close()
}

// Statement is a text of SQL with its parameters, or a command on documents.
type Statement struct {
	Text       string
	Parameters []any
	// Reads is true if it is a query without effect.
	Reads bool
	// Command is nil of SQL; Text and Parameters are empty of documents.
	Command *DocumentCommand
	// of is what is known of Text; nil of a declared query.
	of *statement
}

// String is the statement for people, in one line.
func (s Statement) String() string {
	text := s.Text
	if s.Command != nil {
		text = s.Command.String()
	}
	if text == "" {
		return "no statement"
	}
	if text = strings.Join(strings.Fields(text), " "); len(text) > maxShown {
		text = text[:maxShown] + "..."
	}
	return `"` + text + `"`
}

// Transaction is one that is under way. After an error it is to be left.
type Transaction interface {
	Querier
	// Execute runs a statement without rows, and returns how many rows it changed, as
	// the database counts them; of documents, how many an update or deletion has matched.
	Execute(ctx context.Context, statement Statement) (changed int64, err error)
}

// ClassScript is the error class that says that the script itself is at fault.
const ClassScript = "script error"
