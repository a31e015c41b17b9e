package mysql

import (
	"context"
	"testing"

	"assay/driver/drivertest"
	"assay/workload/script"
)

func TestScript(t *testing.T) {
	drivertest.RunScript(t, drivertest.Script{
		Secret: secret, Others: others("assay_script"),
		Open: func(t *testing.T) script.Store {
			store, err := script.Opener(Open)(context.Background(), target())
			if err != nil {
				t.Fatal(err)
			}
			return store
		},
		MakeForeign:   func(t *testing.T) { makeForeign(t, "assay_script", "entry") },
		ForeignIntact: func(t *testing.T) { foreignIntact(t, "assay_script", "entry") },
	})
}
