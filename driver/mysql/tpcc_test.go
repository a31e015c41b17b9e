package mysql

import (
	"testing"

	"assay/driver/drivertest"
	"assay/driver/sqldb"
	"assay/store"
	"assay/workload/definition"
	"assay/workload/tpcc"
)

// TestTPCCIsolation: read uncommitted shows uncommitted and changing data. Repeatable read shows
// one snapshot, and locks the gap in which a Delivery found no order.
func TestTPCCIsolation(t *testing.T) {
	drivertest.RunTPCCIsolation(t, definition.SupportOf(tpcc.Definition(), Open, sqldb.Lacks()), func(isolation string) store.Target { return at(isolation) },
		map[string][]int{"": nil, "read uncommitted": {1, 2, 7, 8, 9}, "serializable": nil})
}
