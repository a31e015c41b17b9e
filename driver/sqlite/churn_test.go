package sqlite

import (
	"os"
	"path/filepath"
	"testing"

	"assay/driver/drivertest"
	"assay/workload"
	"assay/workload/churn"
)

func TestChurn(t *testing.T) {
	for _, parameters := range []string{"?journal=delete&synchronous=off"} {
		t.Run("parameters "+parameters, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "churn.db")
			foreign := &foreignFile{path: path}
			drivertest.RunChurn(t, drivertest.Churn{Shrinks: true, MakeForeign: foreign.make, ForeignIntact: foreign.intact,
				Open: func(t *testing.T) churn.Store {
					s, err := churn.Opener(Driver().Open)(t.Context(), workload.Target{Address: "sqlite:" + path + parameters})
					if err != nil {
						t.Fatal(err)
					}
					return s
				}})
			entries, err := os.ReadDir(filepath.Dir(path))
			if err != nil || len(entries) != 0 {
				t.Errorf("left behind: %v, %v", entries, err)
			}
		})
	}
}
