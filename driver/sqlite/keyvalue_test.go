package sqlite

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"assay/driver/drivertest"
	"assay/workload"
	"assay/workload/availability"
	"assay/workload/entity"
	"assay/workload/keyvalue"
)

func TestKeyValue(t *testing.T) {
	for _, table := range drivertest.KeyValueTables() {
		for _, parameters := range []string{"", "?journal=delete&synchronous=off"} {
			t.Run(table.Workload+" "+parameters, func(t *testing.T) {
				path := filepath.Join(t.TempDir(), "records.db")
				foreign := &foreignFile{path: path}
				open := func(t *testing.T) keyvalue.Store {
					s, err := keyvalue.By(Driver().Open)(t.Context(), workload.Target{Address: "sqlite:" + path + parameters}, table)
					if err != nil {
						t.Fatal(err)
					}
					return s
				}
				drivertest.RunKeyValue(t, table, drivertest.KeyValue{Open: open, MakeForeign: foreign.make, ForeignIntact: foreign.intact})
				store := open(t)
				if table.Workload == entity.Table().Workload {
					judgeEntity(t, store)
				} else {
					judgeAvailability(t, store)
				}
				if err := errors.Join(store.Drop(t.Context()), store.Close()); err != nil {
					t.Error(err)
				}
				entries, err := os.ReadDir(filepath.Dir(path))
				if err != nil || len(entries) != 0 {
					t.Errorf("left behind: %v, %v", entries, err)
				}
			})
		}
	}
}

// judgeAvailability does a short run under blind repetition, whose calls are
// given up after a short while.
func judgeAvailability(t *testing.T, store keyvalue.Store) {
	t.Helper()
	config := availability.Defaults()
	config.Policy, config.Readers = availability.PolicyRetry, 2
	run := drivertest.ShortRun{Workload: availability.Definition(), Config: &config, Seed: 1, Clients: 3, Each: 30, Attempts: 1000, Limit: 5 * time.Second}
	if f := run.Valid(t.Context(), t, store).Availability; f.Writes.Committed != 90 || f.Rows != 90+f.Surplus || f.Stale != 0 {
		t.Errorf("%+v", f)
	}
}

func judgeEntity(t *testing.T, store keyvalue.Store) {
	t.Helper()
	config := entity.Defaults()
	config.Entities = 20
	run := drivertest.ShortRun{Workload: entity.Definition(), Config: &config, Seed: 1, Clients: 3, Each: 60, Attempts: 1}
	if j := run.Valid(t.Context(), t, store); j.Counts.Committed != 180 || j.Entity.Stale != 0 {
		t.Errorf("%+v", j.Entity)
	}
}

func TestKeyValueHasOneMember(t *testing.T) {
	for read, possible := range map[string]bool{
		"": true, workload.ReadPrimary: true, workload.ReadSecondaryPreferred: false, workload.ReadNearest: false,
	} {
		_, err := keyvalue.By(Driver().Open)(t.Context(), workload.Target{Address: "sqlite:x.db", Read: read}, availability.Table())
		var refused *workload.OptionError
		if possible != (err == nil) || !possible && !errors.As(err, &refused) {
			t.Errorf("read %q: %v", read, err)
		}
	}
}

func TestMutable(t *testing.T) {
	path := filepath.Join(t.TempDir(), "records.db")
	drivertest.RunMutable(t, false, func(t *testing.T) keyvalue.Store {
		s, err := keyvalue.By(Driver().Open)(t.Context(), workload.Target{Address: "sqlite:" + path}, drivertest.MutableTable())
		if err != nil {
			t.Fatal(err)
		}
		return s
	})
}
