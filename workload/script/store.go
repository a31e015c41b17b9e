package script

import (
	"context"
	"strings"

	"assay/store"
)

// Querier runs queries in one transaction. Values are nil, int64, float64, bool, string or
// store.Document.
type Querier interface {
	// Query gives each row to row, which may keep it; a document is a row of one value. An error
	// of row ends the query. A nil row wants none.
	Query(ctx context.Context, statement Statement, row func([]any) error) error
}

// Session is one client's. It learns statements one by one.
type Session interface {
	// Single runs a statement as a transaction, without its rows. A reading statement is Failed
	// unless Committed, as it has no effect.
	Single(ctx context.Context, statement Statement) store.Reply

	// Transaction runs dependent statements; writes says whether it may write. An error of work
	// ends it without COMMIT and proves that it had no effect; store.ErrRollback leaves the
	// session usable. work may still run in another goroutine when this returns; then the reply
	// is not Committed. The driver decides by typed errors: Failed only with proof of no effect,
	// otherwise Unknown.
	Transaction(ctx context.Context, writes bool, work func(context.Context, Transaction) error) store.Reply

	// Texts runs an operation that begins and ends its transactions itself; see store.Verbatim.
	Texts(ctx context.Context, writes bool, work func(context.Context, store.Sender) error) store.Reply

	// Close ends the session and abandons what is in flight.
	Close()
}

// Statement is SQL text with parameters, or a command on documents.
type Statement struct {
	Text       string
	Parameters []any
	// Reads is true for a query without effect.
	Reads bool
	// Command is nil for SQL.
	Command *DocumentCommand
	// of describes Text; nil for a declared query.
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

// Transaction is an open transaction. It must end after an error.
type Transaction interface {
	Querier
	// Execute runs a statement without rows. It returns the number of changed rows as the
	// database counts them; for documents the number that matched.
	Execute(ctx context.Context, statement Statement) (changed int64, err error)
}

// ClassScript means that the script itself is at fault.
const ClassScript = "script error"
