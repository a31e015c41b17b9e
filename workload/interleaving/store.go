// Package interleaving plays the steps of several transactions in a fixed order,
// each transaction in a session of its own, and says which anomalies of isolation
// come about. The scripts are those of Hermitage (M. Kleppmann,
// github.com/ept/hermitage). Whether an anomaly came about is judged by the rows
// that were read and those that are left, never by the name of the level.
//
// It must not know any driver.
package interleaving

import (
	"context"

	"assay/store"
	"assay/workload"
)

// Store is what a database must offer: the schema of workload isolation, whose
// registers are the rows, at one isolation level. All methods are safe for
// concurrent use.
type Store interface {
	workload.Store

	// Promise is as in isolation.Store.
	Promise() string

	// Create is as in isolation.Store.
	Create(ctx context.Context, mark workload.Marker) error

	// Levels are the isolation levels that this database has, weaker ones first.
	Levels() []Level

	// Interleaved opens a session. It is used by one goroutine at a time, but for
	// Waiting.
	Interleaved(ctx context.Context) (Session, error)
}

// Level is an isolation level.
type Level = store.Level

// Session is one session of a script.
type Session interface {
	// Transact runs a transaction whose operations work asks for one by one, and
	// which is committed when work returns nil. An error of work ends it without
	// effect. writes is whether it may write. The reply is as with
	// isolation.Session.Do.
	Transact(ctx context.Context, writes bool, work func(do Do) error) workload.Reply

	// Waiting reports whether what the session does now waits for another session,
	// by the database's own account. known is false if the database does not say.
	// It is called from another goroutine than Transact.
	Waiting(ctx context.Context) (waiting, known bool, err error)

	// Close ends the session.
	Close()
}

// Do does one operation in a transaction and returns the rows of a read, in any
// order. After an error the transaction is to be left.
type Do func(ctx context.Context, o Operation) ([]Row, error)

type Row struct{ ID, Value int64 }

type Action uint8

const (
	// Read reads the row ID.
	Read Action = iota + 1
	// ReadAll reads all rows, ReadEqual those whose value is Value, ReadMultiple
	// those whose value is a multiple of Value: each by a predicate.
	ReadAll
	ReadEqual
	ReadMultiple
	// Set sets the row ID, if it exists, to Value.
	Set
	// AddAll adds Value to all rows.
	AddAll
	// Insert adds the row ID with Value.
	Insert
	// DeleteEqual deletes the rows whose value is Value, DeleteAll all rows.
	DeleteEqual
	DeleteAll
)

// Operation is one operation of a transaction.
type Operation struct {
	Action    Action
	ID, Value int64
}

// Writes is whether the operation changes anything.
func (o Operation) Writes() bool { return o.Action >= Set }
