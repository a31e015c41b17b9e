// Package entity is the workload of a web service's storage: entities of seven
// fields with realistic values are written and read by their id, in a mix that
// can be chosen, directly or through a service. Every read is compared with
// what was written, and every acknowledged entity must be there in the end as
// it was written.
//
// What it keeps to judge a run is a byte for each entity: a run that writes a
// million takes a megabyte, two while the slices grow. The state that was read
// back is gone through and not kept.
//
// It must not know any driver, or the service.
package entity

import (
	"context"

	"github.com/google/uuid"

	"assay/workload"
)

// Store is what a database must offer for this workload. A driver implements
// it in its database's own idiom. How many nodes acknowledge a write or answer
// a read is chosen in the database's address, in its own words.
//
// All methods are safe for concurrent use.
type Store interface {
	workload.Store

	// Create makes an empty table; see workload.Store. Mark.Loaded is set from the
	// start, since what is loaded are ordinary writes.
	Create(ctx context.Context, mark workload.Marker) error

	// Session opens what one client uses. It is used by one goroutine at a
	// time. A database whose ordinary client keeps a pool that watches the
	// members shares that pool between sessions.
	Session(ctx context.Context) (Session, error)

	// Read gives every entity, in any order, as one consistent view of what is
	// there for good where the database has such views. Read stops at the
	// first error, of the database's or of the callback's, and returns it.
	Read(ctx context.Context, entity func(Entity) error) error
}

// Promising is a Store whose database promises something of reads by its
// vendor's own documentation; one that is none promises nothing.
type Promising interface {
	// Promise is PromiseLinearizable or empty.
	Promise() string
}

// PromiseLinearizable is the promise that no read misses what was acknowledged
// before it began (M. Herlihy, J. Wing, "Linearizability: A Correctness
// Condition for Concurrent Objects", ACM TOPLAS 12(3), 1990).
const PromiseLinearizable = "linearizable"

// Session is one client's connection. Neither method retries; how long a call
// may take is the caller's ctx.
type Session interface {
	// Put writes a new entity. An id that is there already gives Failed with
	// Duplicate; a database in which a write replaces what is there (Cassandra)
	// says Committed.
	Put(ctx context.Context, e Entity) Reply

	// Get reads the entity of an id. An id that is not there is Committed with
	// Found false. A read without an answer is Failed, since it has no effect.
	Get(ctx context.Context, id uuid.UUID) Reply

	// Close ends the session. What is in flight is abandoned.
	Close()
}

// Reply is how one attempt ended.
type Reply struct {
	workload.Reply
	// Entity is what Get found, if Found.
	Entity Entity
	Found  bool
}
