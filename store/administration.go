package store

import "context"

// Administration has the methods of a Database that whoever runs a workload calls. They do not
// depend on the schema's tables, and are safe for concurrent use.
//
// A schema of our name without our mark gives *ForeignError. A live lease of another Database
// gives *HeldError. Either error means that nothing was changed.
type Administration interface {
	// Describe returns what the database says of itself.
	Describe(ctx context.Context) (Product, error)

	// Find returns what an earlier run left under our mark, or nil. A lease alone is nothing.
	Find(ctx context.Context) (*Leftover, error)

	// Marker is Find without counting.
	Marker(ctx context.Context) (*Marker, error)

	// Settle waits until nothing that this run's sessions started is in flight in the database,
	// so that no operation can take effect any more. It is called when all sessions are closed.
	// ctx bounds it, and an error says what is still in flight. It leaves sessions of other runs
	// alone.
	Settle(ctx context.Context) error

	// Blocked says what holds up a call of this Database that is under way, such as a foreign
	// lock, and what to do about it. It is empty if nothing does or the database does not say,
	// and holds no data or password.
	Blocked(ctx context.Context) (by string, err error)

	// Size asks the database for the disk space of the workload's data, without mark and lease.
	Size(ctx context.Context) (Size, error)

	// Removable returns nil if Create and Drop would remove only what assay made. Otherwise the
	// *ForeignError names what others made in it or on it. It changes nothing.
	Removable(ctx context.Context) error

	// Drop removes the marked schema and the lease. It refuses what Removable refuses.
	Drop(ctx context.Context) error

	// Close releases all connections. It changes no data and keeps the lease.
	Close() error

	Leaser
}
