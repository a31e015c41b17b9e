package sqlite

import (
	"path/filepath"
	"testing"

	"assay/driver/drivertest"
	"assay/store"
)

// TestInterleaving: one writer at a time, and readers with a snapshot, show no anomaly.
func TestInterleaving(t *testing.T) {
	for _, journal := range []string{"wal", "delete"} {
		t.Run(journal, func(t *testing.T) {
			address := "sqlite:" + filepath.Join(t.TempDir(), "matrix.sqlite") + "?journal=" + journal
			drivertest.RunInterleaving(t, Open, func(store.Level) store.Target { return store.Target{Address: address} },
				[]drivertest.Shown{{Level: "serializable"}})
		})
	}
}
