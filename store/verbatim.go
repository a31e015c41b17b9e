package store

import "context"

// Verbatim is a Session that sends statements as a user wrote them. They begin and end
// transactions by themselves, and what they leave in the session (SET, temporary tables,
// prepared statements) stays until it is closed.
type Verbatim interface {
	// Verbatim does one operation: work sends its texts one after the other. writes is
	// whether it may write.
	//
	// The reply is Committed if every text was done, work had no error and no transaction
	// is open at the end. It is Failed only with proof that nothing of the operation is
	// there; an error of work has none if something was committed before it. In all other
	// cases it is Unknown: with ClassPartly if it is known that a part of the operation
	// was committed. A transaction that is open at the end is rolled back, and is an
	// *OpenError if there was no other.
	//
	// work may be running still, in another goroutine, when this returns; then the reply
	// is not Committed.
	Verbatim(ctx context.Context, writes bool, work func(context.Context, Sender) error) Reply
}

// Verbatims is a Database whose sessions are Verbatim.
type Verbatims interface {
	// Refuses is why texts do not go by a protocol, as a clause; empty if they do.
	Refuses(by Protocol) string
}

// Sender sends the texts of one operation. After an error nothing more is sent.
type Sender interface {
	// Send sends texts and waits until all are answered. Several are a Pipeline. The
	// results are in the order of the texts; a text that has several statements in it
	// gives several. They are good until the next call.
	Send(ctx context.Context, texts ...UserText) ([]Result, error)
	// Status is where the session stands behind the last answer.
	Status() Status
}

// Protocol is how a UserText goes to the server.
type Protocol string

const (
	// Simple is a text without parameters.
	Simple Protocol = "simple"
	// Extended is a text with parameters, which the server parses each time, and Prepared
	// one that it parses once in a session.
	Extended Protocol = "extended"
	Prepared Protocol = "prepared"
	// Pipeline is texts that are sent without waiting for the answers of those before.
	Pipeline Protocol = "pipeline"
)

// UserText is a statement as a user wrote it.
type UserText struct {
	// Text has $1, $2 and so on where the parameters stand, which are at these bytes.
	Text       string
	At         []int
	Parameters []*string // nil is NULL
	Protocol   Protocol
	Kind       TextKind
	// Keep has Results keep the columns and the last row.
	Keep bool
}

// TextKind is what whoever sends a UserText knows of its effect.
type TextKind uint8

const (
	// Anything may do anything, such as commit a part of what it does.
	Anything TextKind = iota
	// NoEffect leaves nothing in the database, and neither begins nor ends a transaction:
	// a query, SET, SAVEPOINT.
	NoEffect
	// Writes changes rows, and Defines what tables and the like there are.
	Writes
	Defines
	// Begins begins a transaction; Commits and RollsBack end one, and may begin the next.
	Begins
	Commits
	RollsBack
)

// Result is what one statement gave.
type Result struct {
	// Rows is how many rows it gave or, without columns, changed.
	Rows int64
	// Columns are the names of what it gave, and Last is the last row as text, nil for
	// NULL, if that was to be kept.
	Columns []string
	Last    []*string
}

// Status is where a session's transaction stands, by the database's own word.
type Status uint8

const (
	// Idle: there is no transaction.
	Idle Status = iota
	// Open: one is under way, and Aborted: it can only be rolled back.
	Open
	Aborted
)

// OpenError says that the last text was done and a transaction is open.
type OpenError struct{}

func (*OpenError) Error() string {
	return "the statements end within a transaction; end it with COMMIT or ROLLBACK"
}

// ClassPartly says that a part of an operation was committed and the rest was not done.
const ClassPartly = "partly done"
