package postgres

import (
	"testing"

	"assay/driver/drivertest"
	"assay/workload/interleaving"
	"assay/workload/isolation"
)

// TestInterleaving compares with Hermitage's table for PostgreSQL: read committed is
// monotonic atomic view, repeatable read snapshot isolation.
func TestInterleaving(t *testing.T) {
	drivertest.RunInterleaving(t, func(t *testing.T, level interleaving.Level) isolation.Store {
		store, err := isolation.Opener(Driver().Open)(t.Context(), at(t, level.Isolation))
		if err != nil {
			t.Fatal(err)
		}
		return store
	}, []drivertest.Shown{
		{Level: "read committed", Anomalies: "PMP PMP-write P4 G-single G-single-predicate G-single-write G2-item G2 G2-two-edges"},
		{Level: "repeatable read", Anomalies: "G2-item G2 G2-two-edges"},
		{Level: "serializable"},
	})
}
