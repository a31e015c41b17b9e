//go:build foundationdb

package foundationdb

import (
	"fmt"

	"assay/driver/ordered"
	"assay/store"
)

// limits are FoundationDB's (manual, "Known Limitations"): values of 100,000 bytes, and 10,000,000
// bytes of affected data in a transaction, which are its writes and the keys and ranges of its
// reads and writes. Transactions above about 1 MB should be avoided ("Large transactions").
func limits() ordered.Limits {
	return ordered.Limits{Value: 100_000, Changed: 10_000_000, Part: 1_000_000}
}

func compile(forms ordered.Forms, s *store.Statement, direct bool) (*ordered.Plan, error) {
	p, err := ordered.Compile(forms, s, direct)
	if err != nil {
		return nil, fmt.Errorf("foundationdb: %w", err)
	}
	return p, nil
}
