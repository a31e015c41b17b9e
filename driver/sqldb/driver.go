package sqldb

import (
	"context"

	"assay/workload"
	"assay/workload/tpcc"
)

// Driver opens a workload's Schema on the database that a target names. Errors:
// *workload.OptionError for an address or an isolation level that cannot be used,
// *workload.UnreachableError after at most the target's ConnectTimeout a host,
// *workload.AuthError.
type Driver func(ctx context.Context, target workload.Target, of Schema) (Database, error)

// DriverOf is the Driver that opens a database by this function.
func DriverOf[D Database](open func(context.Context, workload.Target, Schema) (D, error)) Driver {
	return func(ctx context.Context, target workload.Target, of Schema) (Database, error) {
		db, err := open(ctx, target, of)
		if err != nil {
			return nil, err // and not a typed nil
		}
		return db, nil
	}
}

// TPCC gives *workload.OptionError also for another schema than the normalized one.
func (d Driver) TPCC(ctx context.Context, target workload.Target) (tpcc.Store, error) {
	if target.Schema != "" && target.Schema != tpcc.SchemaNormalized {
		return nil, &workload.OptionError{Option: "--schema", Value: target.Schema, Reason: "an order and its lines are rows of two tables in SQL",
			Want: tpcc.SchemaNormalized + "; " + tpcc.SchemaDenormalized + " is a form of documents, for MongoDB"}
	}
	return storeOf(TPCC)(d(ctx, target, TPCCSchema()))
}

// storeOf makes a workload's Store of the database that was opened, or returns the
// error of that.
func storeOf[S any](store func(Database) S) func(Database, error) (S, error) {
	return func(db Database, err error) (opened S, _ error) {
		if err != nil {
			return opened, err
		}
		return store(db), nil
	}
}
