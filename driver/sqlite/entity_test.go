package sqlite

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"assay/driver/drivertest"
	"assay/workload"
	"assay/workload/entity"
)

func TestEntity(t *testing.T) {
	path := filepath.Join(t.TempDir(), "entity.db")
	foreign := &foreignFile{path: path}
	open := func(t *testing.T) entity.Store {
		s, err := OpenEntity(t.Context(), workload.Target{Address: "sqlite:" + path + "?synchronous=off"})
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	drivertest.RunEntity(t, drivertest.Entity{Open: open, MakeForeign: foreign.make, ForeignIntact: foreign.intact})
	store := open(t)
	config := entity.Defaults()
	config.Entities = 20
	run := drivertest.EntityRun{Config: config, Seed: 1, Clients: 3, Each: 60, Attempts: 1}
	if f := run.Valid(t.Context(), t, store).Figures; f.Writes.Outcomes.Committed+f.Reads.Outcomes.Committed != 180 || f.Stale != 0 {
		t.Errorf("%+v", f)
	}
	if err := errors.Join(store.Drop(t.Context()), store.Close()); err != nil {
		t.Error(err)
	}
	entries, err := os.ReadDir(filepath.Dir(path))
	if err != nil || len(entries) != 0 {
		t.Errorf("left behind: %v, %v", entries, err)
	}
}
