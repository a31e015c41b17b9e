package mongodb

import (
	"errors"
	"testing"
	"time"

	"assay/driver/drivertest"
	"assay/workload"
	"assay/workload/entity"
)

func openEntity(t *testing.T, address string) entity.Store {
	t.Helper()
	store, err := OpenEntity(t.Context(), workload.Target{Address: address, ConnectTimeout: 20 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	return store
}

func TestEntity(t *testing.T) {
	set := startSet(t, 1)
	address := "mongodb://" + set.Node(0).Address() + "/?directConnection=true"
	database := plainClient(t, address).Database("assay_entity")
	drivertest.RunEntity(t, drivertest.Entity{
		Open:          func(t *testing.T) entity.Store { return openEntity(t, address) },
		MakeForeign:   func(t *testing.T) { makeForeign(t, database) },
		ForeignIntact: func(t *testing.T) { foreignIntact(t, database) },
		Server:        set.Node(0).Address(),
		OpenVia: func(t *testing.T, addr string) (entity.Store, error) {
			return OpenEntity(t.Context(), workload.Target{Address: "mongodb://" + addr + "/?directConnection=true", ConnectTimeout: 3 * time.Second})
		},
	})
	store := openEntity(t, address+"&w=1&readConcernLevel=linearizable")
	config := entity.Defaults()
	config.Entities = 20
	run := drivertest.EntityRun{Config: config, Seed: 1, Clients: 3, Each: 60, Attempts: 1}
	if f := run.Valid(t.Context(), t, store).Figures; f.Writes.Outcomes.Committed+f.Reads.Outcomes.Committed != 180 {
		t.Errorf("%+v", f)
	}
	if promise := store.(entity.Promising).Promise(); promise != "" {
		t.Errorf("with writes acknowledged by one member %q is promised", promise)
	}
	if err := errors.Join(store.Drop(t.Context()), store.Close()); err != nil {
		t.Error(err)
	}
	for _, wrong := range []workload.Target{{Address: address, Isolation: "snapshot"}, {Address: address + "&w=0"}, {Address: address + "&timeoutMS=5"}} {
		var refused *workload.OptionError
		if _, err := OpenEntity(t.Context(), wrong); !errors.As(err, &refused) {
			t.Errorf("%+v: %v", wrong, err)
		}
	}
}
