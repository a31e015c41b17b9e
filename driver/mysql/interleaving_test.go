package mysql

import (
	"strings"
	"testing"

	"assay/driver/drivertest"
	"assay/store"
)

// TestInterleaving compares with Hermitage's table for MySQL, which is MariaDB's as
// well: read uncommitted prevents G0 alone, repeatable read protects what is only
// read. With innodb_snapshot_isolation it is snapshot isolation. PMP-write is not
// shown at read uncommitted, which Hermitage does not try: what T2 reads there, T1 has
// written already.
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
