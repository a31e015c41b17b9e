package sqlite

import (
	"path/filepath"
	"testing"

	"assay/driver/drivertest"
	"assay/workload"
	"assay/workload/bank"
)

func TestAudits(t *testing.T) {
	for _, parameters := range []string{"", "?journal=delete&synchronous=off"} {
		t.Run("parameters "+parameters, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "audits.db")
			drivertest.RunAudits(t, drivertest.Bank{Open: func(t *testing.T) bank.Store {
				s, err := bank.Opener(Driver().Open)(t.Context(), workload.Target{Address: "sqlite:" + path + parameters})
				if err != nil {
					t.Fatal(err)
				}
				return s
			}})
		})
	}
}
