package mem

import (
	"testing"

	"assay/driver/drivertest"
	"assay/store"
	"assay/workload"
)

func TestInterleaving(t *testing.T) {
	drivertest.RunInterleaving(t, Open, func(store.Level) workload.Target { return workload.Target{Address: "mem://"} },
		[]drivertest.Shown{{Level: "strict serializable"}})
}
