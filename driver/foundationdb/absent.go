//go:build !foundationdb

package foundationdb

import (
	"context"

	"assay/store"
	"assay/workload"
	"assay/workload/bulkupdate"
	"assay/workload/candles"
	"assay/workload/isolation"
)

// Missing says why this build cannot open FoundationDB; empty if it can.
func Missing() string { return (*NotBuiltError)(nil).Error() }

// NotBuiltError means that this build has no FoundationDB in it.
type NotBuiltError struct{}

func (*NotBuiltError) Error() string {
	return "this assay was built without FoundationDB; build it with -tags foundationdb on a machine with its client library (docs/foundationdb.md says how)"
}

// refuse tells first what would be wrong with the address in any build.
func refuse(target workload.Target, work string) error {
	if _, err := parseFor(target, work); err != nil {
		return err
	}
	return &NotBuiltError{}
}

// Open returns a *workload.OptionError for an address that cannot be used, else
// *NotBuiltError.
func Open(_ context.Context, target workload.Target, schema store.Schema) (store.Database, error) {
	if _, err := parseSchema(target, &schema); err != nil {
		return nil, err
	}
	return nil, &NotBuiltError{}
}

// OpenIsolation, and those below, return the same.
func OpenIsolation(_ context.Context, target workload.Target) (isolation.Store, error) {
	return nil, refuse(target, "isolation")
}

func OpenBulkUpdate(_ context.Context, target workload.Target) (bulkupdate.Store, error) {
	return nil, refuse(target, "bulkupdate")
}

func OpenCandles(_ context.Context, target workload.Target) (candles.Store, error) {
	return nil, refuse(target, "candles")
}
