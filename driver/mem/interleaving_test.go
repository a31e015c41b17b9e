package mem

import (
	"testing"

	"assay/driver/drivertest"
	"assay/store"
	"assay/workload"
	"assay/workload/isolation"
)

func TestInterleaving(t *testing.T) {
	drivertest.RunInterleaving(t, func(t *testing.T, _ store.Level) store.Database {
		db, err := Open(t.Context(), workload.Target{Address: "mem://"}, isolation.Schema())
		if err != nil {
			t.Fatal(err)
		}
		return db
	}, []drivertest.Shown{{Level: "strict serializable"}})
}
