package store

import "context"

// Administration is the part of a Database that does not depend on the schema's tables: what
// it is asked by whoever runs a workload on it.
//
// Create, which Database adds, makes what the workload needs, empty and under the
// mark, after dropping what an earlier run left under a mark of ours. Something
// of our name without our mark gives *ForeignError, a lease that is alive and not
// this Database's *HeldError; nothing is changed then. The lease outlives Create.
//
// All methods are safe for concurrent use.
type Administration interface {
	// Describe returns what the database says of itself.
	Describe(ctx context.Context) (Product, error)

	// Find returns what an earlier run left under our mark, or nil if there is
	// none. It changes nothing. Something of our name without our mark gives
	// *ForeignError. A lease alone is nothing.
	Find(ctx context.Context) (*Leftover, error)

	// Marker is Find without counting.
	Marker(ctx context.Context) (*Marker, error)

	// Settle returns when nothing that a session of this run started is still
	// in flight inside the database, so that no operation can take effect any
	// more. It is called after all sessions were closed; ctx bounds it, and an
	// error says what is still in flight. Sessions of other runs are neither
	// waited for nor ended.
	Settle(ctx context.Context) error

	// Blocked tells what keeps a call of this Database that is under way from going on, and what
	// to do about it: a lock of somebody else's, a replica that does not confirm. It is empty
	// if nothing does, or if the database does not tell. Never data or a password.
	Blocked(ctx context.Context) (by string, err error)

	// Size asks the database what the workload's data take on disk, without mark
	// and lease.
	Size(ctx context.Context) (Size, error)

	// Removable returns nil if Create and Drop would remove nothing but what assay made,
	// and else *ForeignError, which names what others have made inside of it or on it. It
	// changes nothing.
	Removable(ctx context.Context) error

	// Drop removes what carries our mark, and the lease with it. A lease that is
	// alive and not this Database's gives *HeldError, and what Removable refuses gives
	// its error; nothing is changed then.
	Drop(ctx context.Context) error

	// Close releases all connections. It never changes data, and does not
	// release the lease.
	Close() error

	Leaser
}
