package postgres

import (
	"testing"

	"assay/driver/drivertest"
	"assay/driver/sqldb"
	"assay/store"
	"assay/workload/definition"
	"assay/workload/tpcc"
)

// TestTPCCIsolation: at read committed, the default, two reads may differ; a snapshot prevents
// that.
func TestTPCCIsolation(t *testing.T) {
	drivertest.RunTPCCIsolation(t, definition.SupportOf(tpcc.Definition(), Open, sqldb.Lacks()), func(isolation string) store.Target { return at(t, isolation) },
		map[string][]int{"": {7, 8, 9}, "repeatable read": nil, "serializable": nil})
}
