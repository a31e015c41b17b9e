package sqlite

import (
	"path/filepath"
	"testing"

	"assay/driver/drivertest"
	"assay/workload"
	"assay/workload/interleaving"
	"assay/workload/isolation"
)

// TestInterleaving: one writer at a time, and readers with a snapshot, show nothing.
func TestInterleaving(t *testing.T) {
	for _, journal := range []string{"wal", "delete"} {
		t.Run(journal, func(t *testing.T) {
			address := "sqlite:" + filepath.Join(t.TempDir(), "matrix.sqlite") + "?journal=" + journal
			drivertest.RunInterleaving(t, func(t *testing.T, _ interleaving.Level) isolation.Store {
				store, err := isolation.Opener(Driver().Open)(t.Context(), workload.Target{Address: address})
				if err != nil {
					t.Fatal(err)
				}
				return store
			}, []drivertest.Shown{{Level: "serializable"}})
		})
	}
}
