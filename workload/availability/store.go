// Package availability is the workload of failover: writers insert rows and
// readers read back what was acknowledged, at a set rate, under a policy of the
// client (no timeout; timeout; timeout and retry; the same with an id made by
// the client), while nodes die or go silent. It measures how long calls hang,
// how long writes and reads are away, and accounts for every acknowledged
// write: lost, doubled, read too late.
//
// What it keeps to judge a run is about five bytes for each row that may be
// there: one of what became of it, four of when its insert began (books.go). An
// operation that needed several attempts under several keys takes sixteen
// more. A run of a million operations so takes five megabytes, ten while the
// slices grow; the state that was read back is not kept but gone through.
//
// It must not know any driver, cluster or fault.
package availability

import (
	"context"

	"assay/workload"
)

// Row is what a writer inserts. Its value is a pure function of the seed and
// the key, so that a row can be judged without storing what was sent.
type Row struct {
	// Key is unique (the primary key, or _id) and says which attempt of which
	// operation wrote the row.
	Key int64
	// Value is Value(seed, Key).
	Value int64
}

// Store is what a database must offer for this workload. A driver implements
// it in its database's own idiom, or the cell of the matrix stays empty. Which
// member answers reads is workload.Target.Read.
//
// All methods are safe for concurrent use.
type Store interface {
	workload.Store

	// Create makes an empty table, replicated to all members before it returns
	// where the database can tell; see workload.Store. There is nothing to load:
	// Mark.Loaded is set from the start.
	Create(ctx context.Context, mark workload.Marker) error

	// Session opens what one client uses. The session is used by one goroutine
	// at a time. A database whose ordinary client keeps a pool that watches the
	// members (MongoDB, Cassandra) shares that pool between sessions, as an
	// application would.
	Session(ctx context.Context) (Session, error)

	// Read gives every row, in any order, as one consistent view of what is
	// there for good (majority, primary). Read stops at the first error, of
	// the database's or of the callback's, and returns it.
	Read(ctx context.Context, row func(Row) error) error
}

// Promising is a Store that promises something of reads under Target.Read, as
// its database does by its vendor's own documentation; one that is none
// promises nothing.
type Promising interface {
	// Promise is PromiseLinearizable or empty: whatever was acknowledged before
	// a read began is seen by it, whichever node fails.
	Promise() string
}

// PromiseLinearizable is the promise that no read is stale (M. Herlihy, J.
// Wing, "Linearizability: A Correctness Condition for Concurrent Objects", ACM
// TOPLAS 12(3), 1990).
const PromiseLinearizable = "linearizable"

// Session is one client's connection. Neither method retries, and neither has
// a time limit of its own beside those that the database's client library has
// by default: how long a call may take is the caller's ctx, which may have no
// deadline.
type Session interface {
	// Insert adds one row in the database's ordinary way of acknowledging. A
	// key that is there already gives Failed with Duplicate; a database in
	// which an insert replaces what is there (Cassandra) says Committed.
	Insert(ctx context.Context, row Row) Reply

	// Get reads the row of a key. A key that is not there is Committed with
	// Found false. A read without an answer is Failed, since it has no effect.
	Get(ctx context.Context, key int64) Reply

	// Close ends the session. What is in flight is abandoned.
	Close()
}

// Reply is how one attempt ended.
type Reply struct {
	workload.Reply
	// Row is what Get found, if Found.
	Row   Row
	Found bool
}
