// Package sqldb is the contract (package store) for databases that speak SQL, written once.
// Statements are compiled to texts, by a Dialect, which is where the products' SQL differs;
// a store.Session is over a Connection, and a store.Reader over a Reader.
//
// The statements of a Connection are texts with parameters $1, $2, ... and with table names
// from Dialect.Table; each Connection turns them into what its protocol wants, prepared
// where that pays.
//
// For servers most of store.Database and Connection is here too. A protocol's schema embeds
// a Namespace, which has marker, lease, creation, sessions, views and settling over a Server,
// a Conn and a Catalog; and its Connection is a Session over a Wire.
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
)

// Opener is a store.Opener that opens a database by this function.
func Opener[D store.Database](open func(context.Context, store.Target, store.Schema) (D, error)) store.Opener {
	return func(ctx context.Context, target store.Target, of store.Schema) (store.Database, error) {
		db, err := open(ctx, target, of)
		if err != nil {
			return nil, err // and not a typed nil
		}
		return db, nil
	}
}

// Lacks are the capabilities that no database has that speaks SQL.
func Lacks() store.Lacks {
	return store.Lacks{store.Documents: "a row holds no other rows in SQL"}
}

// Promises are the promises of every SQL database, with this model and promise of reads. A
// statement is a transaction of its own in each, which is "all-or-nothing" (PostgreSQL
// manual, "Transactions"), "forms a single transaction on its own", and is rolled back if it
// fails (MySQL manual, "autocommit, Commit, and Rollback"), or occurs "completely or not at
// all" (https://www.sqlite.org/transactional.html). It sees what a read of one row sees.
func Promises(model, reads string) store.Promises {
	return store.Promises{Model: model, Reads: reads, Scans: reads, Atomic: true}
}

// Reader runs queries in one transaction that sees one state.
type Reader interface {
	// Query gives each row to the callback, as it comes from the socket, which holds the
	// server back if the callback is slow. The error of the callback ends it, and the
	// connection, because the alternative is to receive all the rows that are left.
	Query(ctx context.Context, text string, row func(store.Row) error, parameters ...store.Value) error
}

// ValueReader is a Reader that asks in another way for rows of columns that are not
// known beforehand (Row.AppendValues).
type ValueReader interface {
	Reader
	WithValues() Reader
}

// Connection is one session's. It knows its statements by their index, and is otherwise as
// a store.Session. It is used by one goroutine at a time. No method retries, and none has a
// time limit beside ctx.
type Connection interface {
	// Run does a statement that is a transaction of its own. Without row it gives none. With
	// row it is a query, which has no effect, so that anything but Committed is Failed.
	Run(ctx context.Context, statement int, row func(store.Row) error, parameters []store.Value) store.Reply
	Insert(ctx context.Context, rows store.Rows) store.Reply
	Load(ctx context.Context, rows store.Rows) store.Reply
	Batch(ctx context.Context, batch *store.Batch) store.Reply
	// Transaction is as a store.Session has it, with COMMIT in a round trip of its own. A
	// statement gives rows if and only if row is not nil.
	Transaction(ctx context.Context, writes bool, work func(context.Context, store.Transaction) error) store.Reply
	// Learn makes a further statement known, and returns its index. It can be called
	// within a Transaction; an error is then to end it.
	Learn(ctx context.Context, statement Statement) (int, error)
	Waiting(ctx context.Context) (waiting, known bool, err error)
	Close()
}

// Statement is one that a Connection runs many times.
type Statement struct {
	// Name is one word, unique within the session: the statement's name where it is
	// prepared, and what it does in errors.
	Name string
	Text string
}
