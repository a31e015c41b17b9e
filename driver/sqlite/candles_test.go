package sqlite

import (
	"os"
	"path/filepath"
	"testing"

	"assay/driver/drivertest"
	"assay/workload"
	"assay/workload/candles"
)

func TestCandles(t *testing.T) {
	for _, parameters := range []string{"?journal=delete&synchronous=off"} {
		t.Run("parameters "+parameters, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "candles.db")
			foreign := &foreignFile{path: path}
			drivertest.RunCandles(t, drivertest.Candles{
				Open: func(t *testing.T) candles.Store {
					s, err := candles.Opener(Driver().Open)(t.Context(), workload.Target{Address: "sqlite:" + path + parameters})
					if err != nil {
						t.Fatal(err)
					}
					return s
				},
				MakeForeign: foreign.make, ForeignIntact: foreign.intact,
			})
			if entries, err := os.ReadDir(filepath.Dir(path)); err != nil || len(entries) != 0 {
				t.Errorf("left behind: %v, %v", entries, err)
			}
		})
	}
}
