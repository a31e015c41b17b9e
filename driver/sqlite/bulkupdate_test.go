package sqlite

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"assay/driver/drivertest"
	"assay/workload"
	"assay/workload/bulkupdate"
)

func TestBulkUpdate(t *testing.T) {
	for _, parameters := range []string{"?journal=delete&synchronous=off"} {
		t.Run("parameters "+parameters, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "bulkupdate.db")
			foreign := &foreignFile{path: path}
			open := func(t *testing.T) bulkupdate.Store {
				s, err := bulkupdate.Opener(Driver().Open)(t.Context(), workload.Target{Address: "sqlite:" + path + parameters})
				if err != nil {
					t.Fatal(err)
				}
				return s
			}
			drivertest.RunBulkUpdate(t, drivertest.BulkUpdate{Open: open, MakeForeign: foreign.make, ForeignIntact: foreign.intact})
			store := open(t)
			run := drivertest.ShortRun{Workload: bulkupdate.Definition(), Seed: 1, Attempts: 5,
				Config: &bulkupdate.Config{Users: 20, Documents: 30, Workers: "1,4", Field: bulkupdate.FieldAlternate, Loaders: 2}}
			if j := run.Valid(t.Context(), t, store); len(j.Facts) != 0 {
				t.Errorf("facts %v, and SQLite tells none", j.Facts)
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

func TestBulkUpdateOptions(t *testing.T) {
	for _, target := range []workload.Target{
		{Address: "sqlite:x.db?speed=1"}, {Address: "sqlite:x.db", Isolation: "read committed"}, {Address: "sqlite:"},
	} {
		var refused *workload.OptionError
		if _, err := bulkupdate.Opener(Driver().Open)(t.Context(), target); !errors.As(err, &refused) {
			t.Errorf("%+v: %v", target, err)
		}
	}
}
