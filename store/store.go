// Package store is the contract between a workload and a database. A workload states its tables
// (Schema), its statements (Statement) and its needs (Need). A driver states what its database
// lacks (Lacks) and does the statements in the database's own idiom. If needs are not met, the
// database does not serve the workload, and the reason is shown.
//
// A driver never emulates what its database does not guarantee. It splits no statement in
// silence, and fails none at run time for lack of a capability.
//
// A session opens with the list of all its statements and knows them by index, so that a driver
// can compile, prepare or plan each of them once.
//
// It must not know any workload or driver.
package store

import (
	"context"
)

// Opener opens a schema on a target's database. Errors: *OptionError for an address, an isolation
// level or a schema that the database cannot have, *UnreachableError, *AuthError.
type Opener func(ctx context.Context, target Target, schema Schema) (Database, error)

// Database is one schema on a database. All methods are safe for concurrent use. As finds its
// optional parts, such as Replicated.
type Database interface {
	Administration

	// Create makes the schema's tables, empty and under the mark, after dropping what an earlier
	// run left under our mark. The lease outlives it.
	Create(ctx context.Context, mark Marker) error

	// Load adds rows fast. Several goroutines call it with disjoint rows, before FinishLoad.
	Load(ctx context.Context, rows Rows) error

	// FinishLoad makes late keys and indexes, refreshes statistics, and sets Marker.Loaded.
	FinishLoad(ctx context.Context) error

	// Session opens one client's session for these statements, usually one connection. Without a
	// schema of ours it gives *NoSchemaError, if that needs no extra round trip.
	Session(ctx context.Context, statements []Statement) (Session, error)

	// View calls read on one consistent state of committed data, where the database has such.
	// Without a schema of ours it gives *NoSchemaError. An error of read is returned, perhaps
	// wrapped.
	View(ctx context.Context, read func(Reader) error) error

	// Audit is View beside running transactions: it shows a state between two commits. It need
	// not look for the mark. A database that cannot do this lacks Snapshots.
	Audit(ctx context.Context, read func(Reader) error) error

	// Promises returns what the vendor's documentation promises for this target.
	Promises() Promises

	// Lacks returns the missing capabilities of this database as it was opened.
	Lacks() Lacks

	// Levels are the isolation levels, the weakest first; none without transactions.
	Levels() []Level
}

// Promises are what a database promises.
type Promises struct {
	// Model is the consistency model of transactions at the isolation level in force, as
	// check/cycle names it: "read-committed", "snapshot-isolation", "serializable",
	// "strict-serializable"; empty without transactions.
	Model string
	// Reads is the promise for a read of one row by key outside of transactions. Scans is the
	// promise for each row that a read of many rows gives or skips. Each is Linearizable, Causal,
	// some of SessionGuarantees joined by commas, or empty.
	Reads, Scans string
	// Eventual is true if the address lets reads answer with an old state.
	Eventual bool
	// Atomic is true if a statement changes all of its rows or none.
	Atomic bool
}

// Linearizable promises that no read misses what was acknowledged before it began, whichever node
// fails (M. Herlihy, J. Wing, "Linearizability: A Correctness Condition for Concurrent Objects",
// ACM TOPLAS 12(3), 1990).
const Linearizable = "linearizable"

// Causal promises all SessionGuarantees, which together are causal consistency (J. Brzezinski, C.
// Sobaniec, D. Wawrzyniak, "From Session Causality to Causal Consistency", PDP 2004).
const Causal = "causal consistency"

// The guarantees of a session (D. Terry et al., "Session Guarantees for Weakly Consistent
// Replicated Data", PDIS 1994).
const (
	ReadYourWrites    = "read your writes"
	MonotonicReads    = "monotonic reads"
	MonotonicWrites   = "monotonic writes"
	WritesFollowReads = "writes follow reads"
)

// SessionGuarantees returns all of them.
func SessionGuarantees() []string {
	return []string{ReadYourWrites, MonotonicReads, MonotonicWrites, WritesFollowReads}
}

// Level is an isolation level.
type Level struct {
	Name string
	// Isolation is for Target.Isolation. Options are parameters of the address, each NAME=VALUE.
	Isolation string
	Options   []string
}

// Reader reads one state. One goroutine at a time uses it.
type Reader interface {
	// Read does a Read, Count or Native and passes each row to the callback as it comes; a slow
	// callback holds the server back. The callback's error ends it and is returned, perhaps
	// wrapped. Count gives ErrNotCounted if the state cannot be counted. Except for a Native, one
	// name always means one statement.
	Read(ctx context.Context, s Statement, row func(Row) error, parameters ...Value) error
}

// Session is one client's. One goroutine at a time uses it, except for Waiting. No method
// retries. Time limits are ctx and the client library's defaults.
//
// The driver decides how an attempt ended, by its table of errors: Failed only with proof of no
// effect, otherwise Unknown. A row is valid until its callback returns. After a reply that is not
// Committed another goroutine may still be in a callback and read parameters: do not read what
// the callback writes.
type Session interface {
	// Run does one statement as a transaction. For a read anything but Committed is Failed.
	Run(ctx context.Context, call Call) Reply

	// Insert adds rows by ordinary statements, and Load by the fastest way for a client. With
	// transactions all rows or none are there; otherwise any may be there after Unknown.
	Insert(ctx context.Context, rows Rows) Reply
	Load(ctx context.Context, rows Rows) Reply

	// Batch does a writing transaction whose statements are all known beforehand, in as few round
	// trips as the protocol allows.
	Batch(ctx context.Context, b *Batch) Reply

	// Transaction does a transaction whose statements depend on one another, each in a round
	// trip. writes says whether it may write. An error of work prevents the commit; the reply is
	// Failed with that error. If this returns while work still runs in another goroutine, the
	// reply is not Committed.
	Transaction(ctx context.Context, writes bool, work func(context.Context, Transaction) error) Reply

	// Waiting reports, while another goroutine uses the session, whether it waits for another
	// session by the database's account. known is false if the database does not say.
	Waiting(ctx context.Context) (waiting, known bool, err error)

	// Close ends the session and abandons what is in flight.
	Close()
}

// Transaction is a transaction under way. The caller leaves it with its first error.
type Transaction interface {
	// Do does a statement. row gets its rows, or is nil; then changed counts changed rows.
	Do(ctx context.Context, statement int, row func(Row) error, parameters ...Value) (changed int64, err error)
}

// Learner is a Session that takes further statements. An error within a Transaction must end it.
type Learner interface {
	// Learn makes a statement known and returns its index.
	Learn(ctx context.Context, s Statement) (int, error)
}

// Call is a statement with its parameters.
type Call struct {
	Statement  int
	Parameters []Value
	// Row gets the rows; it is nil if and only if the statement gives none. If Want is not 0 and
	// another number of rows comes, the reply is not Committed.
	Row  func(Row) error
	Want int
}

// Batch is a transaction whose statements are known beforehand.
type Batch struct {
	Calls []Call
	// Inquiry, unless nil, is a read made after the transaction was refused for a Floor or an
	// Absent row and has ended. It tells the workload why. If it fails, the reply has its Class
	// and no Violated.
	Inquiry *Call
}

// Row is one row of an answer.
type Row interface {
	// Scan decodes all columns into *int64, *int, *bool, *string, *[]byte or *[]int64 (a List).
	// It uses the slices' capacity; nil skips a column. NULL or another type, such as a float for
	// an integer, is an error.
	Scan(into ...any) error
	// AppendValues appends each column as nil, int64, float64, bool or string, or a Document row
	// as one value. It serves rows of unknown types.
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
	NoViolation Violation = iota
	// Unique: the key exists.
	Unique
	// Floor: a column would have fallen below its Minimum.
	Floor
	// Absent: the row of a Left expression is missing.
	Absent
)

// Inserted is the reply to an insert: an existing key is a duplicate.
func (r Reply) Inserted() Reply {
	if r.Violated == Unique {
		r.Duplicate, r.Class = true, ClassDuplicate
	}
	return r
}
