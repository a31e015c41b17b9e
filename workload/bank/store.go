package bank

import (
	"context"

	"assay/workload"
)

// Store is what a database must offer for this workload. A driver implements
// it in its database's own idiom, or the cell of the matrix stays empty.
//
// All methods are safe for concurrent use, except where said otherwise.
type Store interface {
	workload.Store

	// Create makes empty accounts and an empty journal; see workload.Store.
	Create(ctx context.Context, mark workload.Marker) error

	// LoadAccounts inserts the accounts with version 0. It is called from
	// several goroutines with disjoint batches of at most MaxBatch accounts; see
	// BatchSizer.
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

// Reloader is a Store whose accounts can be loaded while the database fails.
type Reloader interface {
	Store
	// ReloadAccounts loads a batch whose loading has ended in an error and of which
	// nothing is in flight any more: accounts that are there stay, the others are
	// inserted.
	ReloadAccounts(ctx context.Context, batch []Account) error
}

// BatchSizer is a Store that is loaded faster by larger batches.
type BatchSizer interface {
	Store
	// BatchSize is the most accounts that LoadAccounts is given at once, in place of
	// MaxBatch.
	BatchSize() int
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

// Reply is how one attempt of a transfer ended. Duplicate means that the journal
// already held a row of this id.
type Reply struct {
	workload.Reply
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

// AccountColumns and EntryColumns are how accounts and journal rows are stored.
func AccountColumns() workload.Columns[Account] {
	return workload.Columns[Account]{Names: []string{"id", "balance", "version"},
		Fields: func(a *Account) []any { return []any{&a.ID, &a.Balance, &a.Version} }}
}

// EntryColumns: see AccountColumns.
func EntryColumns() workload.Columns[Entry] {
	return workload.Columns[Entry]{
		Names: []string{"id", "source", "destination", "amount", "source_version", "destination_version"},
		Fields: func(e *Entry) []any {
			return []any{&e.ID, &e.Source, &e.Destination, &e.Amount, &e.SourceVersion, &e.DestinationVersion}
		},
	}
}

// MaxBatch is the most accounts that LoadAccounts is given at once, unless the Store is
// a BatchSizer.
const MaxBatch = 1000

// Error classes of this workload's own, beside those of package workload.
const (
	ClassNoFunds   = "no funds"
	ClassNoAccount = "no such account"
)
