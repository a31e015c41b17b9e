package sqlite

import (
	"path/filepath"
	"testing"

	"assay/driver/drivertest"
	"assay/store"
	"assay/workload"
	"assay/workload/isolation"
)

// TestInterleaving: one writer at a time, and readers with a snapshot, show nothing.
func TestInterleaving(t *testing.T) {
	for _, journal := range []string{"wal", "delete"} {
		t.Run(journal, func(t *testing.T) {
			address := "sqlite:" + filepath.Join(t.TempDir(), "matrix.sqlite") + "?journal=" + journal
			drivertest.RunInterleaving(t, func(t *testing.T, _ store.Level) store.Database {
				db, err := Open(t.Context(), workload.Target{Address: address}, isolation.Schema())
				if err != nil {
					t.Fatal(err)
				}
				return db
			}, []drivertest.Shown{{Level: "serializable"}})
		})
	}
}
