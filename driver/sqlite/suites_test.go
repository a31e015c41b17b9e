package sqlite

import (
	"path/filepath"
	"testing"

	"assay/driver/drivertest"
	"assay/workload"
	"assay/workload/script"
	"assay/workload/tpcc"
)

func TestTPCC(t *testing.T) {
	target := workload.Target{Address: "sqlite:" + filepath.Join(t.TempDir(), "tpcc.db")}
	drivertest.RunTPCC(t, drivertest.TPCC{Open: func(t *testing.T) tpcc.Store {
		s, err := tpcc.Opener(Open)(t.Context(), target)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}})
}

func TestScript(t *testing.T) {
	target := workload.Target{Address: "sqlite:" + filepath.Join(t.TempDir(), "script.db")}
	drivertest.RunScript(t, drivertest.Script{Open: func(t *testing.T) script.Store {
		s, err := script.Opener(Open)(t.Context(), target)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}})
}
