package mysql

import (
	"strings"
	"testing"

	"assay/driver/drivertest"
	"assay/store"
)

// TestInterleaving compares with Hermitage's table for MySQL, which fits MariaDB: read uncommitted
// prevents only G0, repeatable read protects reads. innodb_snapshot_isolation gives snapshot
// isolation. PMP-write is absent at read uncommitted, which Hermitage does not try: there T2 reads
// T1's write.
func TestInterleaving(t *testing.T) {
	drivertest.RunInterleaving(t, Open, func(level store.Level) store.Target {
		var options []func(*spot)
		for _, o := range level.Options {
			name, value, _ := strings.Cut(o, "=")
			options = append(options, parameter(name, value))
		}
		return at(level.Isolation, options...)
	}, []drivertest.Shown{
		{Level: "read uncommitted", Anomalies: "G1a G1b G1c OTV PMP P4 G-single G-single-predicate G-single-write G2-item G2 G2-two-edges"},
		{Level: "read committed", Anomalies: "PMP PMP-write P4 G-single G-single-predicate G-single-write G2-item G2 G2-two-edges"},
		{Level: "repeatable read", Anomalies: "PMP-write P4 G-single-write G2-item G2 G2-two-edges"},
		{Level: "repeatable read (snapshot)", Anomalies: "G2-item G2 G2-two-edges"},
		{Level: "serializable"},
	})
}
