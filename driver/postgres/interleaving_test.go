package postgres

import (
	"testing"

	"assay/driver/drivertest"
	"assay/store"
)

// TestInterleaving compares with Hermitage's table: read committed is monotonic atomic view,
// repeatable read is snapshot isolation.
func TestInterleaving(t *testing.T) {
	drivertest.RunInterleaving(t, Open, func(level store.Level) store.Target {
		return at(t, level.Isolation)
	}, []drivertest.Shown{
		{Level: "read committed", Anomalies: "PMP PMP-write P4 G-single G-single-predicate G-single-write G2-item G2 G2-two-edges"},
		{Level: "repeatable read", Anomalies: "G2-item G2 G2-two-edges"},
		{Level: "serializable"},
	})
}
