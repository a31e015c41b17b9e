// Package bulkupdate is the workload of bulk updates under lock contention:
// users with many documents each, and tasks that update all documents of one
// user with one statement (or, where there is none over many rows, one transaction),
// worked off by more and more workers. It measures
// how long a task takes, how long all of them, and what the server says of its
// locks meanwhile; and it knows of every document what it must say afterwards.
//
// What it keeps to judge a run is about 40 bytes for each user and one bit for
// each document.
//
// It must not know any driver.
package bulkupdate

import (
	"context"
	"time"

	"assay/workload"
)

// Store is what a database must offer for this workload. A driver implements
// it in its database's own idiom, or the cell of the matrix stays empty.
//
// All methods are safe for concurrent use.
type Store interface {
	workload.Store

	// Create makes an empty table of documents; see workload.Store.
	Create(ctx context.Context, mark workload.Marker) error

	// Load inserts documents. It is called from several goroutines with
	// disjoint batches of at most MaxBatch documents.
	Load(ctx context.Context, batch []Document) error

	// FinishLoad is called once after all documents are in: it builds the index
	// on their owners, and sets Mark.Loaded.
	FinishLoad(ctx context.Context) error

	// Session opens what one client uses. The session is used by one goroutine
	// at a time.
	Session(ctx context.Context) (Session, error)

	// Waits returns what the server says of locks and of those who wait for
	// them, the same names in the same order each time; none if it says
	// nothing. It is asked several times a second while the tasks go on.
	Waits(ctx context.Context) ([]Wait, error)

	// Atomic reports whether an update of all documents of one user takes
	// effect on all of them or on none, by the vendor's own documentation.
	Atomic() bool

	// Read gives every document, in any order, as one consistent view. Read
	// stops at the first error, of the database's or of the callback's, and
	// returns it. Documents are given as the database holds them, however wrong.
	Read(ctx context.Context, document func(Document) error) error
}

// MaxBatch is the most documents that Load is given at once.
const MaxBatch = 1000

// Session is one client's connection.
type Session interface {
	// Update sets flag and generation of all documents of one user, with one
	// statement in the database's ordinary way of acknowledging. It does not
	// retry, and has no time limit beside ctx. Failed is said only with proof
	// that no document has changed.
	Update(ctx context.Context, user, generation int64, flag bool) Reply

	// Close ends the session. What is in flight is abandoned.
	Close()
}

// Reply is how one attempt ended.
type Reply struct {
	workload.Reply
	// Changed is, with Committed, how many documents the database says to have
	// changed.
	Changed int64
}

// Unit is what a Wait counts.
type Unit string

const (
	// Count is a number that only grows.
	Count Unit = "count"
	// Time is nanoseconds, over all sessions together, that only grow.
	Time Unit = "time"
	// Gauge is a number as it is at the moment, such as of those who wait.
	Gauge Unit = "gauge"
)

// Wait is one figure that a server tells of its locks and queues.
type Wait struct {
	// Name is in the server's own words.
	Name  string
	Unit  Unit
	Value int64
}

// sampleEvery is how often a server is asked while tasks go on.
const sampleEvery = 200 * time.Millisecond
