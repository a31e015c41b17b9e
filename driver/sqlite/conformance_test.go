package sqlite_test

import (
	"os"
	"path/filepath"
	"testing"

	"assay/driver/drivertest"
	"assay/driver/sqldb"
	"assay/driver/sqlite"
	"assay/workload"
	"assay/workload/bank"
	"assay/workload/bulkupdate"
	"assay/workload/candles"
	"assay/workload/churn"
	"assay/workload/isolation"
	"assay/workload/keyvalue"
	"assay/workload/smallbank"
	"assay/workload/tpcb"
)

// TestStore runs what every driver passes.
func TestStore(t *testing.T) {
	path := filepath.Join(t.TempDir(), "conformance.db")
	drivertest.RunStore(t, drivertest.Store{
		Open: sqlite.Driver().Open, Lacks: sqldb.Lacks(), Target: workload.Target{Address: "sqlite:" + path},
		Others: func(workload string) []drivertest.Other { return others(path) },
		MakeForeign: func(t *testing.T, workload string) (intact func(t *testing.T)) {
			const content = "another program's file"
			if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { os.Remove(path) })
			return func(t *testing.T) {
				if got, err := os.ReadFile(path); err != nil || string(got) != content {
					t.Errorf("the file holds %q, %v", got, err)
				}
			}
		},
	})
}

// TestConformance runs what every driver passes.
func TestConformance(t *testing.T) {
	path := filepath.Join(t.TempDir(), "conformance.db")
	drivertest.Run(t, drivertest.Driver{
		Target:     workload.Target{Address: "sqlite:" + path},
		Bank:       bank.Opener(sqlite.Driver().Open),
		Isolation:  isolation.Opener(sqlite.Driver().Open),
		KeyValue:   keyvalue.By(sqlite.Driver().Open),
		Candles:    candles.Opener(sqlite.Driver().Open),
		BulkUpdate: bulkupdate.Opener(sqlite.Driver().Open),
		Churn:      churn.Opener(sqlite.Driver().Open),
		SmallBank:  smallbank.Opener(sqlite.Driver().Open),
		TPCB:       tpcb.Opener(sqlite.Driver().Open),
		TPCC:       sqlite.Driver().TPCC,
		Script:     sqlite.Driver().Script,
		Others:     func(workload string) []drivertest.Other { return others(path) },
		MakeForeign: func(t *testing.T, workload string) (intact func(t *testing.T)) {
			const content = "another program's file"
			if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { os.Remove(path) })
			return func(t *testing.T) {
				if got, err := os.ReadFile(path); err != nil || string(got) != content {
					t.Errorf("the file holds %q, %v", got, err)
				}
			}
		},
	})
}
