package sqldb

import (
	"context"

	"assay/store"
	"assay/workload"
)

// Driver opens a workload's Schema on the database that a target names. Errors:
// *workload.OptionError for an address or an isolation level that cannot be used,
// *workload.UnreachableError after at most the target's ConnectTimeout a host,
// *workload.AuthError.
type Driver func(ctx context.Context, target workload.Target, of store.Schema) (Database, error)

// DriverOf is the Driver that opens a database by this function.
func DriverOf[D Database](open func(context.Context, workload.Target, store.Schema) (D, error)) Driver {
	return func(ctx context.Context, target workload.Target, of store.Schema) (Database, error) {
		db, err := open(ctx, target, of)
		if err != nil {
			return nil, err // and not a typed nil
		}
		return db, nil
	}
}
