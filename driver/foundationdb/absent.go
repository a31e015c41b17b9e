//go:build !foundationdb

package foundationdb

import (
	"context"

	"assay/store"
)

// Missing says why this build cannot open FoundationDB; empty if it can.
func Missing() string { return (*NotBuiltError)(nil).Error() }

// NotBuiltError means that this build has no FoundationDB in it.
type NotBuiltError struct{}

func (*NotBuiltError) Error() string {
	return "this assay was built without FoundationDB; build it with -tags foundationdb on a machine with its client library (docs/guides/products.md says how)"
}

// Open returns *store.OptionError for a wrong address, otherwise *NotBuiltError.
func Open(_ context.Context, target store.Target, schema store.Schema) (store.Database, error) {
	if _, err := parseSchema(target, &schema); err != nil {
		return nil, err
	}
	return nil, &NotBuiltError{}
}
