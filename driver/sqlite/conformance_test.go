package sqlite_test

import (
	"os"
	"path/filepath"
	"testing"

	"assay/driver/drivertest"
	"assay/driver/sqldb"
	"assay/driver/sqlite"
	"assay/internal/expect"
	"assay/store"
	"assay/workload/definition"
	"assay/workload/script"
)

func TestStore(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "conformance.db")
	d := drivertest.Store{
		Open: sqlite.Open, Lacks: sqldb.Lacks(), Target: store.Target{Address: "sqlite:" + path}, Shrinks: true,
		Others: func(workload string) []drivertest.Other { return others(path) },
		MakeForeign: func(t *testing.T, workload string) (intact func(t *testing.T)) {
			const content = "another program's file"
			expect.NoError(t, os.WriteFile(path, []byte(content), 0o600))
			t.Cleanup(func() { os.Remove(path) })
			return func(t *testing.T) {
				if got, err := os.ReadFile(path); err != nil || string(got) != content {
					t.Errorf("the file holds %q, %v", got, err)
				}
			}
		},
	}
	drivertest.RunStore(t, d)
	for _, parameters := range []string{"?journal=delete&synchronous=off", "?journal=truncate&synchronous=normal"} {
		t.Run(parameters, func(t *testing.T) {
			d.Target.Address = "sqlite:" + path + parameters
			drivertest.RunOutcomes(t, d)
		})
	}
}

func TestWorkloads(t *testing.T) {
	supports := append(drivertest.Supports(sqlite.Open, sqldb.Lacks()), definition.SupportOf(script.Definition(), sqlite.Open, sqldb.Lacks()))
	for _, parameters := range []string{"", "?journal=delete&synchronous=off"} {
		t.Run(parameters, func(t *testing.T) {
			// Characters with a meaning in an address or a file: URI.
			path := filepath.Join(t.TempDir(), "a %41#b&c é.db")
			drivertest.ShortRuns(t, store.Target{Address: "sqlite:" + path + parameters}, supports...)
			if left, err := os.ReadDir(filepath.Dir(path)); err != nil || len(left) != 0 {
				t.Errorf("left behind: %v, %v", left, err)
			}
		})
	}
}
