// Package store is the contract between a workload and a database. A workload says what
// its tables are (Schema), which statements it does (Statement), in which transactions,
// and what it needs of a database (Need). A driver says what its database can (Lacks) and
// does the statements in the database's own idiom. Neither knows the other.
//
// A driver never emulates what its database does not guarantee. A statement that the
// database cannot do within its guarantees is a capability that the driver lacks; it is
// never split in silence, and it does not fail at run time. Where needs and capabilities
// do not meet, the database does not serve the workload, and the reason is shown.
//
// Statements are values and known beforehand: a session is opened with the list of all that
// it will do, and knows them by their index. So a driver can compile, prepare or plan each
// of them once.
//
// It must not know any workload or driver.
package store

import (
	"context"
)

// Opener opens a schema on the database that a target names. Errors: *OptionError
// for an address or an isolation level that cannot be used and for a schema that the
// database cannot hold, *UnreachableError, *AuthError.
type Opener func(ctx context.Context, target Target, schema Schema) (Database, error)

// Database is one schema on a database. All methods are safe for concurrent use.
//
// What only some databases have is an interface of its own: Replicated, Counting,
// Compacting, Engined. As finds it.
type Database interface {
	Administration

	// Create makes the tables of the schema, empty and under the mark; see Administration.
	Create(ctx context.Context, mark Marker) error

	// Load puts rows into a table by the fastest way that the database has. It is called
	// from several goroutines with disjoint rows, before FinishLoad.
	Load(ctx context.Context, rows Rows) error

	// FinishLoad does what an administrator does after many rows came in: it makes the
	// keys and indexes that are better made late and refreshes the planner's statistics.
	// It sets Marker.Loaded.
	FinishLoad(ctx context.Context) error

	// Session opens what one client uses, usually one connection, for these statements.
	// Without a schema of ours it gives *NoSchemaError, if that is told without
	// another round trip.
	Session(ctx context.Context, statements []Statement) (Session, error)

	// View has read look at one consistent state, of what is there for good, where the
	// database has such. Without a schema of ours it gives *NoSchemaError. An
	// error of read is returned as it is or wrapped.
	View(ctx context.Context, read func(Reader) error) error

	// Audit is View for one that is made beside the transactions of sessions: it shows a
	// state between two of their commits. It need not look for the mark. A database
	// without snapshots lacks Snapshots.
	Audit(ctx context.Context, read func(Reader) error) error

	// Promises are what the database promises by its vendor's own documentation, with
	// what was asked for in the target.
	Promises() Promises

	// Lacks are the capabilities that this database, as it was opened, does not have.
	Lacks() Lacks

	// Levels are the isolation levels that this database has, weaker ones first; none of
	// a database without transactions.
	Levels() []Level
}

// Promises are what a database promises.
type Promises struct {
	// Model is the consistency model of transactions at the isolation level in force, in
	// the names of check/cycle: "read-committed", "snapshot-isolation", "serializable",
	// "strict-serializable"; empty without transactions.
	Model string
	// Reads is what is promised of a statement that reads one row by its key, outside of
	// transactions, and Scans of each row that one of many rows gives or passes over:
	// Linearizable, Causal, some of the SessionGuarantees joined by commas, or nothing.
	Reads, Scans string
	// Eventual is true if a read may answer with an old state, by what the address asks
	// for.
	Eventual bool
	// Atomic is true if a statement that changes many rows changes all of them or none.
	Atomic bool
}

// Linearizable is the promise that no read misses what was acknowledged before it began,
// whichever node fails (M. Herlihy, J. Wing, "Linearizability: A Correctness Condition for
// Concurrent Objects", ACM TOPLAS 12(3), 1990).
const Linearizable = "linearizable"

// Causal is the promise of all SessionGuarantees, which together are causal consistency (J.
// Brzezinski, C. Sobaniec, D. Wawrzyniak, "From Session Causality to Causal Consistency", PDP
// 2004).
const Causal = "causal consistency"

// The guarantees of a session (D. Terry et al., "Session Guarantees for Weakly Consistent
// Replicated Data", PDIS 1994).
const (
	ReadYourWrites    = "read your writes"
	MonotonicReads    = "monotonic reads"
	MonotonicWrites   = "monotonic writes"
	WritesFollowReads = "writes follow reads"
)

// SessionGuarantees are all of them.
func SessionGuarantees() []string {
	return []string{ReadYourWrites, MonotonicReads, MonotonicWrites, WritesFollowReads}
}

// Level is an isolation level.
type Level struct {
	// Name is what the level is called, in words of the database's own.
	Name string
	// Isolation is Target.Isolation, and Options are parameters of the address,
	// each NAME=VALUE.
	Isolation string
	Options   []string
}

// Reader reads in one state. It is used by one goroutine at a time.
type Reader interface {
	// Read does a statement of the verb Read, Count or Native and gives each row to the
	// callback as it comes; the server is held back if the callback is slow. The error of
	// the callback ends it and is returned as it is or wrapped. Of a state that cannot be
	// counted Count gives ErrNotCounted. A name stands for one statement as long as the
	// state is read, but that of a Native.
	Read(ctx context.Context, s Statement, row func(Row) error, parameters ...Value) error
}

// Session is one client's. It is used by one goroutine at a time, but for Waiting. No
// method retries, and none has a time limit beside those that the database's client
// library has by default and ctx.
//
// How an attempt ended is decided by the driver, by its table of the database's errors:
// Failed only with proof of no effect, Unknown in all other cases. A row is good until the
// callback that gets it returns. After a reply that is not Committed a callback may still
// be called for a moment, by another goroutine: what it writes must not be read then.
// Parameters may be read as long.
type Session interface {
	// Run does one statement that is a transaction of its own. One that only reads has no
	// effect, so that anything but Committed is Failed.
	Run(ctx context.Context, call Call) Reply

	// Insert adds rows by the ordinary statement for that, and Load by the fastest way
	// that the database has for a client. Where the database has transactions all of them
	// are there or none; elsewhere any of them may be there after Unknown.
	Insert(ctx context.Context, rows Rows) Reply
	Load(ctx context.Context, rows Rows) Reply

	// Batch does a transaction that writes and whose statements are all known beforehand,
	// in as few round trips as the protocol can.
	Batch(ctx context.Context, b *Batch) Reply

	// Transaction does a transaction whose statements follow from one another, each in a
	// round trip of its own. writes is whether it may write. An error of work ends it
	// without a commit, whatever work did; the reply is Failed and has that error. work
	// may be running still, in another goroutine, when this returns; then the reply is not
	// Committed.
	Transaction(ctx context.Context, writes bool, work func(context.Context, Transaction) error) Reply

	// Waiting reports, while another goroutine uses the session, whether what it does
	// waits for another session, by the database's own account. known is false if the
	// database does not say.
	Waiting(ctx context.Context) (waiting, known bool, err error)

	// Close ends the session. What is in flight is abandoned.
	Close()
}

// Transaction is one that is under way. After an error it is to be left, with that error.
type Transaction interface {
	// Do does a statement, and says how many rows one that gives none has changed. row gets
	// the rows of one that gives some; it is nil for others.
	Do(ctx context.Context, statement int, row func(Row) error, parameters ...Value) (changed int64, err error)
}

// Learner is a Session that takes further statements. It can be called within a
// Transaction; an error is then to end it.
type Learner interface {
	// Learn makes a statement known, and returns its index.
	Learn(ctx context.Context, s Statement) (int, error)
}

// Call is a statement with its parameters.
type Call struct {
	// Statement is its index in the list that the session was opened with.
	Statement  int
	Parameters []Value
	// Row gets the rows; it is nil if and only if the statement gives none. Want is how
	// many rows must come, 0 for any number; if others come, the reply is not Committed.
	Row  func(Row) error
	Want int
}

// Batch is a transaction whose statements are known beforehand.
type Batch struct {
	Calls []Call
	// Inquiry is a statement that reads, made after the transaction was refused for a
	// Floor or an Absent row and was left; nil for none. Its rows tell the workload more
	// of why. If it fails, the reply has its Class and Violated is not set.
	Inquiry *Call
}

// Row is one row of an answer.
type Row interface {
	// Scan decodes all columns into *int64, *int, *bool, *string, *[]byte or *[]int64
	// (a List), whose capacity is used; nil passes over a column. A value of another type,
	// such as a float for a whole number, is an error, and so is NULL.
	Scan(into ...any) error
	// AppendValues appends the value of each column: nil, int64, float64, bool or string, and
	// of a row that is a Document that alone.
	// It is for rows whose types are not known beforehand.
	AppendValues(into []any) ([]any, error)
}

// Rows are rows to be added.
type Rows struct {
	Table   string
	Columns []string
	Count   int
	// Row appends the values of row i, of the same kinds in each row.
	Row func(i int, into []Value) []Value
}

// Violation is the kind of constraint that refused a transaction.
type Violation uint8

const (
	// NoViolation: what went wrong is no constraint's doing.
	NoViolation Violation = iota
	// Unique: a key is there already.
	Unique
	// Floor: a column would have become less than it may be.
	Floor
	// Absent: a row that an expression Left refers to is not there.
	Absent
)

// Inserted is the reply of an insert: a key that is there already is a duplicate.
func (r Reply) Inserted() Reply {
	if r.Violated == Unique {
		r.Duplicate, r.Class = true, ClassDuplicate
	}
	return r
}
