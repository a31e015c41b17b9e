// Package sqldb implements the contract (package store) once for databases that speak SQL. A
// Dialect compiles statements to texts. A store.Session is made of a Connection, and a store.Reader
// of a Reader.
//
// A Connection's statements have parameters $1, $2, ... and table names from Dialect.Table. Each
// Connection adapts them to its protocol and prepares them if that pays.
//
// For servers, a protocol's schema embeds a Namespace, which has marker, lease, creation, sessions,
// views and settling over a Server, a Conn and a Catalog. Its Connection is a Session over a Wire.
//
// Rules for sessions:
//
//   - A Connection decides the outcome by its driver's table of errors. Only the workload says what
//     a violated constraint means.
//   - A row is valid until the callback returns. After a reply that is not Committed, another
//     goroutine may still call a callback for a moment: do not read what it writes. Parameters may
//     be read as long.
//   - A session that is Broken is not used again.
//
// It must not know any workload or driver.
package sqldb

import (
	"context"

	"assay/store"
)

// Opener is a store.Opener around a driver's own function.
func Opener[D store.Database](open func(context.Context, store.Target, store.Schema) (D, error)) store.Opener {
	return func(ctx context.Context, target store.Target, of store.Schema) (store.Database, error) {
		db, err := open(ctx, target, of)
		if err != nil {
			return nil, err // and not a typed nil
		}
		return db, nil
	}
}

// Lacks returns the capabilities that no SQL database has.
func Lacks() store.Lacks {
	return store.Lacks{store.Documents: "a row holds no other rows in SQL"}
}

// Promises are every SQL database's promises, with this model and this promise of reads. Each
// statement is an atomic transaction (PostgreSQL manual, "Transactions"; MySQL manual, "autocommit,
// Commit, and Rollback"; https://www.sqlite.org/transactional.html). A scan promises the same as a
// read of one row.
func Promises(model, reads string) store.Promises {
	return store.Promises{Model: model, Reads: reads, Scans: reads, Atomic: true}
}

// Reader runs queries in one transaction on one state.
type Reader interface {
	// Query calls row with each row as it arrives; a slow callback holds the server back. An
	// error of the callback ends the query and the connection, to avoid reading all other rows.
	Query(ctx context.Context, text string, row func(store.Row) error, parameters ...store.Value) error
}

// ValueReader is a Reader that asks differently for rows of unknown columns (store.Row's
// AppendValues).
type ValueReader interface {
	Reader
	WithValues() Reader
}

// Connection is a session's. It is like a store.Session but knows its statements by index. One
// goroutine at a time uses it. No method retries, and only ctx limits the time.
type Connection interface {
	// Run does a statement as a transaction of its own. With row it is a query without effect,
	// whose outcome is Committed or Failed; without row it gives no rows.
	Run(ctx context.Context, statement int, row func(store.Row) error, parameters []store.Value) store.Reply
	Insert(ctx context.Context, rows store.Rows) store.Reply
	Load(ctx context.Context, rows store.Rows) store.Reply
	Batch(ctx context.Context, batch *store.Batch) store.Reply
	// Transaction is store.Session's, with COMMIT in a round trip of its own. A statement gives
	// rows if and only if row is not nil.
	Transaction(ctx context.Context, writes bool, work func(context.Context, store.Transaction) error) store.Reply
	// Learn adds a statement and returns its index. Within a Transaction, its error must end the
	// transaction.
	Learn(ctx context.Context, statement Statement) (int, error)
	Waiting(ctx context.Context) (waiting, known bool, err error)
	Close()
}

// Statement is a statement that a Connection runs many times.
type Statement struct {
	// Name is one word, unique in the session: the name of the prepared statement, and the
	// operation's name in errors.
	Name string
	Text string
}
