package mongodb

import (
	"errors"
	"testing"
	"time"

	cluster "assay/cluster/mongodb"
	"assay/driver/drivertest"
	"assay/workload"
	"assay/workload/entity"
	"assay/workload/keyvalue"
)

// testKeyValue has the network break between assay and one node.
func testKeyValue(t *testing.T, set *cluster.ReplicaSet) {
	address := "mongodb://" + set.Node(0).Address() + "/?directConnection=true"
	client := plainClient(t, address)
	for _, table := range drivertest.KeyValueTables() {
		t.Run(table.Workload, func(t *testing.T) {
			database := client.Database("assay_" + table.Workload)
			drivertest.RunKeyValue(t, table, drivertest.KeyValue{
				Open:          opening(keyvalue.By(Open).On(table), address),
				MakeForeign:   func(t *testing.T) { makeForeign(t, database) },
				ForeignIntact: func(t *testing.T) { foreignIntact(t, database) },
				Server:        set.Node(0).Address(),
				OpenVia: func(t *testing.T, addr string) (keyvalue.Store, error) {
					target := workload.Target{Address: "mongodb://" + addr + "/?directConnection=true", ConnectTimeout: 3 * time.Second}
					return keyvalue.By(Open)(t.Context(), target, table)
				},
			})
		})
	}
	t.Run("entity run", func(t *testing.T) { testEntity(t, address) })
	t.Run("mutable", func(t *testing.T) {
		drivertest.RunMutable(t, false, opening(keyvalue.By(Open).On(drivertest.MutableTable()), address))
	})
}

func testEntity(t *testing.T, address string) {
	store := opening(keyvalue.By(Open).On(entity.Table()), address+"&w=1&readConcernLevel=linearizable")(t)
	config := entity.Defaults()
	config.Entities = 20
	run := drivertest.ShortRun{Workload: entity.Definition(), Config: &config, Seed: 1, Clients: 3, Each: 60, Attempts: 1}
	if j := run.Valid(t.Context(), t, store); j.Counts.Committed != 180 {
		t.Errorf("%+v", j.Entity)
	}
	if promise := keyvalue.PromiseOf(store); promise != "" {
		t.Errorf("with writes acknowledged by one member %q is promised", promise)
	}
	if err := errors.Join(store.Drop(t.Context()), store.Close()); err != nil {
		t.Error(err)
	}
}
