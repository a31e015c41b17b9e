package mysql

import (
	"context"
	"errors"
	"testing"
	"time"

	"assay/driver/drivertest"
	"assay/workload"
	"assay/workload/bulkupdate"
)

func openBulkUpdate(t *testing.T, to workload.Target) bulkupdate.Store {
	t.Helper()
	store, err := bulkupdate.Opener(Driver().Open)(context.Background(), to)
	if err != nil {
		t.Fatal(err)
	}
	return store
}

func TestBulkUpdate(t *testing.T) {
	for name, changes := range map[string][]func(*spot){"InnoDB": nil, "RocksDB": {parameter("engine", "rocksdb")}} {
		t.Run(name, func(t *testing.T) {
			drivertest.RunBulkUpdate(t, drivertest.BulkUpdate{
				Secret: secret, Waits: true,
				Open:          func(t *testing.T) bulkupdate.Store { return openBulkUpdate(t, target(changes...)) },
				MakeForeign:   func(t *testing.T) { makeForeign(t, "assay_bulkupdate", "document") },
				ForeignIntact: func(t *testing.T) { foreignIntact(t, "assay_bulkupdate", "document") },
				Server:        node.Node(0).Address(),
				OpenVia: func(t *testing.T, addr string) (bulkupdate.Store, error) {
					ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
					defer cancel()
					return bulkupdate.Opener(Driver().Open)(ctx, target(append(changes, atHosts(addr))...))
				},
			})
			store := openBulkUpdate(t, target(changes...))
			run := drivertest.ShortRun{Workload: bulkupdate.Definition(), Seed: 1, Attempts: 20,
				Config: &bulkupdate.Config{Users: 20, Documents: 100, Workers: "1,6", Field: bulkupdate.FieldOff, Loaders: 2}}
			if facts := run.Valid(t.Context(), t, store).Facts; len(facts["6 workers"]) == 0 {
				t.Errorf("facts %+v", facts)
			}
			if err := errors.Join(store.Drop(t.Context()), store.Close()); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestBulkUpdateOptions(t *testing.T) {
	for _, to := range []workload.Target{target(parameter("engine", "NoSuchEngine")), at("chaos")} {
		var refused *workload.OptionError
		if _, err := bulkupdate.Opener(Driver().Open)(context.Background(), to); !errors.As(err, &refused) {
			t.Errorf("%v", err)
		}
	}
}
