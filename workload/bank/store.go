package bank

import (
	"context"

	"assay/history"
	"assay/workload"
)

// Store is what a database must offer for this workload. A driver implements
// it in its database's own idiom, or the cell of the matrix stays empty.
//
// All methods are safe for concurrent use, except where said otherwise.
type Store interface {
	workload.Store

	// Create makes empty accounts and an empty journal; see workload.Store.
	Create(ctx context.Context, mark workload.Mark) error

	// LoadAccounts inserts the accounts with version 0. It is called from
	// several goroutines with disjoint batches of at most MaxBatch accounts.
	LoadAccounts(ctx context.Context, batch []Account) error

	// FinishLoad is called once after all accounts are in: it builds what is
	// better built late (indexes, statistics) and sets Mark.Loaded.
	FinishLoad(ctx context.Context) error

	// Session opens what one client uses: usually one connection. The session
	// is used by one goroutine at a time.
	Session(ctx context.Context) (Session, error)

	// Read gives the whole state as one consistent view: first each account in
	// ascending order of id, then each row of the journal in any order. Read
	// stops at the first error, of the database's or of a callback's, and
	// returns it. Rows are given as the database holds them, however wrong.
	Read(ctx context.Context, account func(Account) error, entry func(Entry) error) error
}

// Session is one client's connection.
type Session interface {
	// Transfer does the transfer in one transaction: the journal row, the
	// debit (never below zero), the credit; and says how it ended. It does not
	// retry. When ctx ends before the database has answered, the outcome is
	// Unknown, unless it is proven that nothing can take effect.
	//
	// The driver decides from typed errors: Committed when the database said
	// so; Rejected when the source lacks funds or an account is missing;
	// Failed only with proof of no effect; Unknown in all other cases.
	Transfer(ctx context.Context, t Transfer) Reply

	// Close ends the session. What is in flight is abandoned.
	Close()
}

// Reply is how one attempt of a transfer ended.
type Reply struct {
	// Outcome is Unknown unless the driver knows better.
	Outcome history.Outcome
	// Duplicate is true, with Failed, if the journal already held a row of
	// this id: this attempt had no effect, an earlier one had.
	Duplicate bool
	// Broken is true if the session cannot be used any more and is to be
	// replaced. After Unknown it is replaced in any case.
	Broken bool
	// Class is a short stable word for the error, empty if there was none,
	// such as "serialization failure", "deadlock", "no funds", "connection
	// lost", "timeout". Never data or an address.
	Class string
	// Err is the error itself, for logs; without secrets.
	Err error
	// Source and Destination are the states that the transaction left, given
	// with Committed.
	Source, Destination State
}

// State is an account's state as a transaction left it.
type State struct {
	Balance int64
	Version int64
}

// Entry is one row of the journal as read back.
type Entry struct {
	Transfer
	// SourceVersion and DestinationVersion are the versions that the transfer
	// gave its two accounts.
	SourceVersion, DestinationVersion int64
}

// MaxBatch is the most accounts that LoadAccounts is given at once.
const MaxBatch = 1000

// Error classes that all drivers share; a driver may add its own.
const (
	ClassNoFunds       = "no funds"
	ClassNoAccount     = "no such account"
	ClassDuplicate     = "duplicate transfer id"
	ClassSerialization = "serialization failure"
	ClassDeadlock      = "deadlock"
	ClassLockTimeout   = "lock timeout"
	ClassConnect       = "cannot connect"
	ClassLost          = "connection lost"
	ClassTimeout       = "timeout"
	ClassNotPrimary    = "not primary"
	ClassReadOnly      = "read only"
	ClassShutdown      = "server shutting down"
	ClassOther         = "other error"
)
