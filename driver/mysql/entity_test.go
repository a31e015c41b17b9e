package mysql

import (
	"context"
	"errors"
	"testing"
	"time"

	"assay/driver/drivertest"
	"assay/workload"
	"assay/workload/entity"
)

func openEntity(t *testing.T, to workload.Target) entity.Store {
	t.Helper()
	store, err := OpenEntity(context.Background(), to)
	if err != nil {
		t.Fatal(err)
	}
	return store
}

func TestEntity(t *testing.T) {
	drivertest.RunEntity(t, drivertest.Entity{
		Secret:        secret,
		Open:          func(t *testing.T) entity.Store { return openEntity(t, target()) },
		MakeForeign:   func(t *testing.T) { makeForeign(t, entitySchema, "entity") },
		ForeignIntact: func(t *testing.T) { foreignIntact(t, entitySchema, "entity") },
		Server:        node.Node(0).Address(),
		OpenVia: func(t *testing.T, addr string) (entity.Store, error) {
			ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
			defer cancel()
			return OpenEntity(ctx, target(atHosts(addr)))
		},
	})
	store := openEntity(t, target(parameter("engine", "rocksdb")))
	config := entity.Defaults()
	config.Entities = 20
	run := drivertest.EntityRun{Config: config, Seed: 1, Clients: 3, Each: 60, Attempts: 1}
	if f := run.Valid(t.Context(), t, store).Figures; f.Writes.Outcomes.Committed+f.Reads.Outcomes.Committed != 180 {
		t.Errorf("%+v", f)
	}
	if err := errors.Join(store.Drop(t.Context()), store.Close()); err != nil {
		t.Error(err)
	}
}
