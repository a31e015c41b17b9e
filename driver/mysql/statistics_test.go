package mysql

import (
	"testing"

	"assay/driver/drivertest"
	"assay/store"
)

func TestStatistics(t *testing.T) {
	worker := admin(t)
	drivertest.RunStatistics(t, drivertest.Statistics{
		Open: OpenStatistics, Target: target(), Secret: secret, Pause: node.Node(0).Pause, Resume: node.Node(0).Resume, Counter: "asked for",
		Work:  func(t *testing.T) { exec(t, worker, `SELECT count(*) FROM mysql.innodb_table_stats`) },
		Means: []store.Meaning{store.BusySessions, store.LockWaits},
	})
}
