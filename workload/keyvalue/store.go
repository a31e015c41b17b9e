// Package keyvalue is the engine of the workloads that insert records and read
// them by key: the contract with a database (Store), the part of the clients that
// they share, the record of what became of each insert, and the judge of loss,
// doubling, alteration and staleness.
//
// A workload is a Preset of it: which table it has, which record belongs to which
// operation, and what is kept of a record to know it again. Its load, its flags
// and its own figures stay in the workload's package.
//
// It must not know any driver, cluster or fault.
package keyvalue

import (
	"context"
	"slices"

	"assay/workload"
)

// Type is the type of a key or of another column.
type Type uint8

// The types. A Value of Bigint or Integer is an int64, one of Text a string, one
// of UUID a uuid.UUID (github.com/google/uuid).
const (
	// Bigint is an integer of 64 bits.
	Bigint Type = iota + 1
	// Integer is an integer of 32 bits.
	Integer
	// Text is UTF-8 without null characters, at most Column.Max bytes.
	Text
	// UUID is sixteen bytes (RFC 9562).
	UUID
)

// Value is the value of a column, of the Go type that its Type names.
type Value any

// Column describes one column. None is ever null.
type Column struct {
	Name string
	Type Type
	// Max is the most bytes of a Text. An Integer that has it is 0 to Max.
	Max int
}

// Table describes the only table of a workload. A driver may call it and its
// columns otherwise where a name is reserved.
type Table struct {
	// Workload names what the table lies in: a database, schema, keyspace or
	// prefix of keys.
	Workload string
	// Space is as in store.Schema.
	Space string
	Name  string
	// Key is the primary key.
	Key Column
	// Columns are the others.
	Columns []Column
	// Loaded is true if records are loaded in bulk and then changed all the time; see
	// Mutable.
	Loaded bool
}

// All returns the key and the other columns.
func (t Table) All() []Column { return append([]Column{t.Key}, t.Columns...) }

// Record is one record of a table. Two records are compared by Equal.
type Record struct {
	Key Value
	// Values are in the order of Table.Columns.
	Values []Value
}

// Equal reports whether two records have the same key and values.
func (r Record) Equal(other Record) bool {
	return r.Key == other.Key && slices.Equal(r.Values, other.Values)
}

// Store is what a database must offer, on one table that it is opened for. A
// driver implements it in its database's own idiom, for any table. How many
// nodes acknowledge a write or answer a read is chosen in the address, in the
// database's own words; which member answers reads is workload.Target.Read.
//
// All methods are safe for concurrent use.
type Store interface {
	workload.Store

	// Create makes an empty table, replicated to all members before it returns
	// where the database can tell; see workload.Store. Marker.Loaded is set from
	// the start, since records that are loaded are ordinary inserts.
	Create(ctx context.Context, mark workload.Marker) error

	// Session opens what one client uses. It is used by one goroutine at a
	// time. A database whose ordinary client keeps a pool that watches the
	// members (MongoDB, Cassandra) shares that pool between sessions, as an
	// application would.
	Session(ctx context.Context) (Session, error)

	// Read gives every record, in any order, as one consistent view of what is
	// there for good where the database has such views. The record is the
	// callback's to keep. Read stops at the first error, of the database's or
	// of the callback's, and returns it.
	Read(ctx context.Context, use func(Record) error) error
}

// Opener opens the Store of one table.
type Opener func(ctx context.Context, target workload.Target, table Table) (Store, error)

// On returns the opener of the Store of this table.
func (o Opener) On(table Table) func(ctx context.Context, target workload.Target) (Store, error) {
	return func(ctx context.Context, target workload.Target) (Store, error) { return o(ctx, target, table) }
}

// Promising is a Store that promises something of reads under Target.Read, as
// its database does by its vendor's own documentation; one that is none promises
// nothing.
type Promising interface {
	// Promise is PromiseLinearizable or empty.
	Promise() string
}

// PromiseLinearizable is the promise that no read misses what was acknowledged
// before it began, whichever node fails (M. Herlihy, J. Wing, "Linearizability:
// A Correctness Condition for Concurrent Objects", ACM TOPLAS 12(3), 1990).
const PromiseLinearizable = "linearizable"

// PromiseOf is what a Store promises of reads.
func PromiseOf(store Store) string {
	if p, ok := store.(Promising); ok {
		return p.Promise()
	}
	return ""
}

// Session is one client's connection. No method retries, and none has a time
// limit beside those that the database's client library has by default: how
// long a call may take is the caller's ctx, which may have no deadline.
type Session interface {
	// Insert adds one record in the database's ordinary way of acknowledging.
	// A key that is there already gives Failed with Duplicate; a database in
	// which an insert replaces what is there (Cassandra) says Committed.
	Insert(ctx context.Context, record Record) Reply

	// Get reads the record of a key. A key that is not there is Committed with
	// Found false. A read without an answer is Failed, since it has no effect.
	Get(ctx context.Context, key Value) Reply

	// Close ends the session. What is in flight is abandoned.
	Close()
}

// Reply is how one attempt ended.
type Reply struct {
	workload.Reply
	// Record is what Get found, if Found.
	Record Record
	Found  bool
}

// Mutable is a Store whose records can be changed after they were inserted, and that
// loads in bulk. A Table of such a Store is opened with Table.Loaded.
type Mutable interface {
	Store

	// LoadRecords inserts records by the fastest way that the database has. It is
	// called from several goroutines with disjoint records, before FinishLoad, which
	// is called once: it does what an administrator does after many rows came in, and
	// sets Marker.Loaded.
	LoadRecords(ctx context.Context, records []Record) error
	FinishLoad(ctx context.Context) error

	// MutableSession is Session.
	MutableSession(ctx context.Context) (MutableSession, error)

	// Scans says whether sessions scan in the order of keys, and what the database
	// promises of each record that a scan returns or passes over, as Promising does of
	// a read. The error is a *workload.OptionError that says why they cannot.
	Scans() (promise string, err error)
}

// MutableSession is a Session that also changes records and scans. For its methods the
// same holds as for those of Session.
type MutableSession interface {
	Session

	// Update replaces all values of the record of this key, in the database's ordinary
	// way of acknowledging; they are never those that it has. A key that is not there is Committed with Found false, and
	// nothing is changed; a database in which an update inserts what is not there
	// (Cassandra) says Found.
	Update(ctx context.Context, record Record) Reply

	// Scan gives the records with the lowest keys from this one on, in the order of
	// their keys, at most limit of them. A scan without an answer is Failed.
	Scan(ctx context.Context, from Value, limit int) ([]Record, Reply)
}
