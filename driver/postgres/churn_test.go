package postgres

import (
	"testing"

	"assay/driver/drivertest"
	"assay/workload/churn"
)

func TestChurn(t *testing.T) {
	drivertest.RunChurn(t, drivertest.Churn{
		Secret: secret, Shrinks: true,
		Open: func(t *testing.T) churn.Store {
			store, err := churn.Opener(Driver().Open)(t.Context(), target(t))
			if err != nil {
				t.Fatal(err)
			}
			return store
		},
		MakeForeign: func(t *testing.T) {
			exec(t, admin(t), `CREATE SCHEMA assay_churn`)
			t.Cleanup(func() { exec(t, admin(t), `DROP SCHEMA assay_churn CASCADE`) })
			exec(t, admin(t), `CREATE TABLE assay_churn.entry AS SELECT 'mine'::text AS owner`)
		},
		ForeignIntact: func(t *testing.T) {
			var owner string
			if err := admin(t).QueryRow(t.Context(), `SELECT min(owner) FROM assay_churn.entry`).Scan(&owner); err != nil || owner != "mine" {
				t.Errorf("the foreign schema was touched: owner %q, %v", owner, err)
			}
		},
	})
}
