package store

import (
	"context"
	"strings"
)

// Verbatim is a Session that sends a user's statements unchanged. They begin and end transactions
// themselves. What they leave in the session (SET, temporary tables, prepared statements) stays
// until it closes.
type Verbatim interface {
	// Verbatim does one operation: work sends its texts one after the other. writes says whether
	// it may write.
	//
	// The reply is Committed if every text succeeded, work had no error and no transaction is
	// open. It is Failed only with proof that nothing of the operation is there; after a commit
	// an error of work is no proof. Otherwise it is Unknown, with ClassPartly if a part is known
	// to be committed. A transaction still open is rolled back, and is an *OpenError if there was
	// no other.
	//
	// If this returns while work still runs in another goroutine, the reply is not Committed.
	Verbatim(ctx context.Context, writes bool, work func(context.Context, Sender) error) Reply
}

// Verbatims is a Database whose sessions are Verbatim.
type Verbatims interface {
	// Refuses says, as a clause, why texts cannot go by a protocol; empty if they can.
	Refuses(by Protocol) string
}

// Sender sends the texts of one operation. After an error it sends nothing more.
type Sender interface {
	// Send sends texts, several as a Pipeline, and waits for all answers. Results come in order;
	// a text of several statements gives several. They are valid until the next call.
	Send(ctx context.Context, texts ...UserText) ([]Result, error)
	// Status returns the session's state after the last answer.
	Status() Status
}

// Protocol is how a UserText goes to the server.
type Protocol string

const (
	// Simple is a text without parameters.
	Simple Protocol = "simple"
	// Extended texts have parameters and are parsed each time; Prepared ones once in a session.
	Extended Protocol = "extended"
	Prepared Protocol = "prepared"
	// Pipeline sends texts without waiting for earlier answers.
	Pipeline Protocol = "pipeline"
)

// UserText is a statement as a user wrote it.
type UserText struct {
	// Text has its parameters as $1, $2 and so on, at these bytes.
	Text       string
	At         []int
	Parameters []*string // nil is NULL
	Protocol   Protocol
	Kind       TextKind
	// Joined means that Text is several statements, of which Kind is the gravest.
	Joined bool
	Keep   bool
}

// TextKind is what the sender of a UserText knows of its effect.
type TextKind uint8

const (
	// Anything may do anything, even commit a part.
	Anything TextKind = iota
	// NoEffect changes nothing and neither begins nor ends a transaction: a query, SET,
	// SAVEPOINT.
	NoEffect
	// Writes changes rows; Defines changes tables and the like.
	Writes
	Defines
	// Begins begins a transaction; Commits and RollsBack end one, and may begin the next.
	Begins
	Commits
	RollsBack
)

// Result is one statement's result.
type Result struct {
	// Rows counts the rows given or, without columns, changed.
	Rows int64
	// Last is the last row as text, nil for NULL. It and Columns are set if they were to be kept.
	Columns []string
	Last    []*string
}

// Status is the state of a session's transaction, by the database's word.
type Status uint8

const (
	Idle Status = iota
	// Open: one is under way. Aborted: it can only be rolled back.
	Open
	Aborted
)

// OpenError means that the last text succeeded and left a transaction open.
type OpenError struct{}

func (*OpenError) Error() string {
	return "the statements end within a transaction; end it with COMMIT or ROLLBACK"
}

// ClassPartly means that a part of an operation was committed and the rest was not done.
const ClassPartly = "partly done"

// Releases reports whether a text may end a savepoint. A word in a name or a comment counts too.
func Releases(text *UserText) bool {
	return (text.Joined || text.Kind == NoEffect) && strings.Contains(strings.ToLower(text.Text), "release")
}
