package mem

import (
	"testing"

	"assay/driver/drivertest"
	"assay/store"
)

func TestInterleaving(t *testing.T) {
	drivertest.RunInterleaving(t, Open, func(store.Level) store.Target { return store.Target{Address: "mem://"} },
		[]drivertest.Shown{{Level: "strict serializable"}})
}
