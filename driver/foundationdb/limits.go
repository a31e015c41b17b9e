//go:build foundationdb

package foundationdb

import (
	"fmt"

	"assay/driver/ordered"
	"assay/store"
)

// limits are FoundationDB's (manual, "Known Limitations"): "Values cannot exceed 100,000
// bytes in size", "Transaction size cannot exceed 10,000,000 bytes of affected data", which
// is what it writes, with the keys and ranges that it reads and writes; and about 1 MB from
// which on a transaction is to be avoided ("Large transactions").
func limits() ordered.Limits {
	return ordered.Limits{Value: 100_000, Changed: 10_000_000, Part: 1_000_000}
}

// compile makes the plan of a statement; see ordered.Compile.
func compile(forms ordered.Forms, s *store.Statement, direct bool) (*ordered.Plan, error) {
	p, err := ordered.Compile(forms, s, direct)
	if err != nil {
		return nil, fmt.Errorf("foundationdb: %w", err)
	}
	return p, nil
}
