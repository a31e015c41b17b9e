package mem

import (
	"testing"

	"assay/driver/drivertest"
	"assay/workload"
	"assay/workload/interleaving"
	"assay/workload/isolation"
)

func TestInterleaving(t *testing.T) {
	drivertest.RunInterleaving(t, func(t *testing.T, _ interleaving.Level) isolation.Store {
		store, err := isolation.Opener(Open)(t.Context(), workload.Target{Address: "mem://"})
		if err != nil {
			t.Fatal(err)
		}
		return store
	}, []drivertest.Shown{{Level: "strict serializable"}})
}
