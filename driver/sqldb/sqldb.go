// Package sqldb is the contract (package store) for databases that speak SQL, written once:
// StoreOf is its Database over what a protocol must do, which are Database and Connection
// here, and Dialect is where the products' SQL differs.
//
// The statements of a Connection are texts with parameters $1, $2, ... and with table names
// from Dialect.Table; each Connection turns them into what its protocol wants, prepared
// where that pays.
//
// For servers most of Database and Connection is here too. A protocol's schema embeds
// a Namespace, which has marker, lease, creation, views and settling over a Server, a
// Conn and a Catalog; and its Connection is a Session over a Wire.
//
// Rules for sessions:
//
//   - A Connection decides how an attempt ended (Reply), by its driver's own table
//     of errors. Only the workload says what a violated constraint means.
//   - A row is good until the callback returns. After a reply that is not Committed
//     a callback may still be called for a moment, by another goroutine: what it
//     writes must not be read then. Parameters may be read as long.
//   - A session that is Broken is not used again.
//
// It must not know any workload or driver.
package sqldb

import (
	"context"

	"assay/store"
	"assay/workload"
)

// Database is one workload's schema on a database, as a protocol implements it.
// All methods are safe for concurrent use.
type Database interface {
	workload.Store

	// Dialect is the SQL of this database.
	Dialect() *Dialect

	// Create makes the tables of the Schema; see workload.Store.
	Create(ctx context.Context, mark workload.Marker) error

	// Load puts rows into a table by the fastest way that the database has. It is
	// called from several goroutines with disjoint rows.
	Load(ctx context.Context, rows store.Rows) error

	// FinishLoad makes the keys and indexes that are made late, refreshes the
	// planner's statistics and, unless the mark says so already, sets
	// Marker.Loaded.
	FinishLoad(ctx context.Context) error

	// RecordMade has the mark of a Schema that is Open name what is in the schema, as what a
	// setup has made; FinishLoad does that too. Create and Drop drop nothing else.
	RecordMade(ctx context.Context) error

	// Connect opens the connection of one session, which will use these statements;
	// a Connection knows them by their index in this list. Without a schema of ours
	// it gives *workload.NoSchemaError.
	Connect(ctx context.Context, statements []Statement) (Connection, error)

	// View has read look at one consistent state of a schema of ours. The error of
	// read is wrapped.
	View(ctx context.Context, read func(Reader) error) error

	// AuditView is View for an audit that runs beside the transactions, at a level that
	// shows a state between two commits of theirs. It does not look for the mark. A
	// schema that is gone gives *workload.NoSchemaError.
	AuditView(ctx context.Context, read func(Reader) error) error

	// PromiseLevel is the consistency model that is promised at the isolation level in
	// force, and Levels are all isolation levels; see store.Promises and store.Level.
	PromiseLevel() string
	Levels() []store.Level

	// PromiseReads is what is promised of the reads of a Schema with Reads; see
	// store.Promises.
	PromiseReads() string
	// ConnectApart is Connect of such a Schema, to the servers that take writes and answer
	// reads.
	ConnectApart(ctx context.Context, statements []Statement) (Connection, error)

	// Engines are the ways to store a table; see store.Engined. CreateOn is Create with
	// one of them; chosen is false if nobody asked for it or there is no other.
	Engines(ctx context.Context) ([]string, error)
	CreateOn(ctx context.Context, mark workload.Marker, engine string, chosen bool) error

	// Waits are the waits for locks that the database counts, none if it counts none;
	// see store.Counting.
	Waits(ctx context.Context) ([]store.Wait, error)

	// Compactions are the names of the ways to give back space; see store.Compacting;
	// *workload.OptionError says why there are none. Compact is one of them.
	Compactions() ([]string, error)
	Compact(ctx context.Context, name string) error
	// FileSize is Size, with what is free in the files.
	FileSize(ctx context.Context) (workload.Size, error)
}

// Reader runs queries in one transaction that sees one state.
type Reader interface {
	// Query gives each row to the callback, as it comes from the socket, which holds the
	// server back if the callback is slow. The error of the callback ends it, and the
	// connection, because the alternative is to receive all the rows that are left.
	Query(ctx context.Context, text string, row func(store.Row) error, parameters ...store.Value) error
}

// Connection is one session's. It is used by one goroutine at a time. No method
// retries, and none has a time limit beside ctx.
type Connection interface {
	// Execute runs a statement that is a transaction of its own.
	Execute(ctx context.Context, statement int, parameters ...store.Value) store.Reply

	// Query runs a query that is a transaction of its own and gives each row to the
	// callback. It has no effect, so that anything but Committed is Failed.
	Query(ctx context.Context, statement int, row func(store.Row) error, parameters ...store.Value) workload.Reply

	// Insert adds rows by an ordinary INSERT, and Load by the fastest way that the
	// database has: all of them in one transaction, or none.
	Insert(ctx context.Context, rows store.Rows) store.Reply
	Load(ctx context.Context, rows store.Rows) store.Reply

	// Batch runs statements that are all known beforehand in one transaction that
	// writes, in as few round trips as the protocol can.
	Batch(ctx context.Context, batch *store.Batch) store.Reply

	// Transaction runs a transaction whose statements follow from one another, each
	// in a round trip of its own, and COMMIT alone. writes is whether it may write.
	// An error of work ends it without COMMIT, whatever work did. work may be
	// running still, in another goroutine, when this returns; then the reply is not
	// Committed.
	Transaction(ctx context.Context, writes bool, work func(context.Context, Transaction) error) store.Reply

	// Learn makes a further statement known, and returns its index. It can be called
	// within a Transaction; an error is then to end it.
	Learn(ctx context.Context, statement Statement) (int, error)

	// Waiting reports, while another goroutine uses the connection, whether what it does
	// waits for another session; see store.Session.
	Waiting(ctx context.Context) (waiting, known bool, err error)

	// Close ends the session. What is in flight is abandoned.
	Close()
}

// Transaction is one that is under way. After an error it is to be left.
type Transaction interface {
	Execute(ctx context.Context, statement int, parameters ...store.Value) error
	Query(ctx context.Context, statement int, row func(store.Row) error, parameters ...store.Value) error
	// Change is Execute, and returns how many rows were changed.
	Change(ctx context.Context, statement int, parameters ...store.Value) (int64, error)
}

// ValueReader is a Reader that asks in another way for rows of columns that are not
// known beforehand (Row.AppendValues).
type ValueReader interface {
	Reader
	WithValues() Reader
}

// Statement is one that a Connection runs many times.
type Statement struct {
	// Name is one word, unique within the session: the statement's name where it is
	// prepared, and what it does in errors.
	Name string
	Text string
}
