package postgres

import (
	"testing"

	"assay/driver/drivertest"
	"assay/workload/tpcc"
)

func TestTPCC(t *testing.T) {
	drivertest.RunTPCC(t, drivertest.TPCC{
		Secret: secret,
		Open: func(t *testing.T) tpcc.Store {
			store, err := tpcc.Opener(Open)(t.Context(), target(t))
			if err != nil {
				t.Fatalf("open: %v", err)
			}
			return store
		},
		MakeForeign: func(t *testing.T) {
			exec(t, admin(t), `CREATE SCHEMA assay_tpcc`)
			t.Cleanup(func() { exec(t, admin(t), `DROP SCHEMA assay_tpcc CASCADE`) })
			exec(t, admin(t), `CREATE TABLE assay_tpcc.warehouse AS SELECT 'mine'::text AS owner`)
		},
		ForeignIntact: func(t *testing.T) {
			var owner string
			if err := admin(t).QueryRow(t.Context(), `SELECT min(owner) FROM assay_tpcc.warehouse`).Scan(&owner); err != nil || owner != "mine" {
				t.Errorf("the foreign schema was touched: owner %q, %v", owner, err)
			}
		},
	})
}

// TestTPCCIsolation: at read committed, which is the default, what a transaction reads
// twice may differ; a snapshot prevents that.
func TestTPCCIsolation(t *testing.T) {
	drivertest.RunTPCCIsolation(t, func(t *testing.T, isolation string) tpcc.Store {
		store, err := tpcc.Opener(Open)(t.Context(), at(t, isolation))
		if err != nil {
			t.Fatal(err)
		}
		return store
	}, map[string][]int{"": {7, 8, 9}, "repeatable read": nil, "serializable": nil})
}
