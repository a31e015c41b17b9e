package mongodb

import (
	"strings"
	"testing"
	"time"

	"assay/driver/drivertest"
	"assay/store"
)

// testInterleaving: on a replica set every transaction reads from one snapshot,
// whatever its concerns are (manual, "Transactions", "Read Concern/Write
// Concern/Read Preference").
func testInterleaving(t *testing.T, address string) {
	const skew = "G2-item G2 G2-two-edges"
	drivertest.RunInterleaving(t, Open, func(level store.Level) store.Target {
		return store.Target{Address: address + "&" + strings.Join(level.Options, "&"), ConnectTimeout: 20 * time.Second}
	}, []drivertest.Shown{
		{Level: "local, w=1", Anomalies: skew}, {Level: "local, w=majority", Anomalies: skew},
		{Level: "majority, w=majority", Anomalies: skew}, {Level: "snapshot, w=majority", Anomalies: skew},
	})
}
