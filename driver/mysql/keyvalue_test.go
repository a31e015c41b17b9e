package mysql

import (
	"context"
	"errors"
	"strconv"
	"testing"
	"time"

	"assay/driver/drivertest"
	"assay/driver/sqldb"
	"assay/history"
	"assay/workload"
	"assay/workload/availability"
	"assay/workload/entity"
	"assay/workload/keyvalue"
)

func openKeyValue(t *testing.T, to workload.Target, table keyvalue.Table) keyvalue.Store {
	t.Helper()
	store, err := keyvalue.By(Driver().Open)(context.Background(), to, table)
	if err != nil {
		t.Fatal(err)
	}
	return store
}

// openAvailability returns the Store and the schema that it is on.
func openAvailability(t *testing.T, to workload.Target) (keyvalue.Store, *schema) {
	t.Helper()
	schema, err := openSchema(context.Background(), to, keyvalue.Schema(availability.Table()))
	if err != nil {
		t.Fatal(err)
	}
	return keyvalue.Over(sqldb.StoreOf(schema, keyvalue.Schema(availability.Table())), availability.Table()), schema
}

func TestKeyValue(t *testing.T) {
	for name, changes := range map[string][]func(*spot){"InnoDB": nil, "RocksDB": {parameter("engine", "rocksdb")}} {
		for _, table := range drivertest.KeyValueTables() {
			t.Run(table.Workload+" "+name, func(t *testing.T) {
				database, entries := schemaPrefix+table.Workload, sqldb.Renamed(keyvalue.Schema(table), reserved()).Tables[0].Name
				drivertest.RunKeyValue(t, table, drivertest.KeyValue{
					Secret:        secret,
					Open:          func(t *testing.T) keyvalue.Store { return openKeyValue(t, target(changes...), table) },
					MakeForeign:   func(t *testing.T) { makeForeign(t, database, entries) },
					ForeignIntact: func(t *testing.T) { foreignIntact(t, database, entries) },
					Server:        node.Node(0).Address(),
					OpenVia: func(t *testing.T, addr string) (keyvalue.Store, error) {
						ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
						defer cancel()
						return keyvalue.By(Driver().Open)(ctx, target(append(changes, atHosts(addr))...), table)
					},
				})
			})
		}
	}
	store := openKeyValue(t, target(parameter("engine", "rocksdb")), entity.Table())
	config := entity.Defaults()
	config.Entities = 20
	run := drivertest.ShortRun{Workload: entity.Definition(), Config: &config, Seed: 1, Clients: 3, Each: 60, Attempts: 1}
	if j := run.Valid(t.Context(), t, store); j.Counts.Committed != 180 {
		t.Errorf("%+v", j.Entity)
	}
	if err := errors.Join(store.Drop(t.Context()), store.Close()); err != nil {
		t.Error(err)
	}
}

func TestMutable(t *testing.T) {
	drivertest.RunMutable(t, false, func(t *testing.T) keyvalue.Store { return openKeyValue(t, target(), drivertest.MutableTable()) })
}

func TestAvailabilityReads(t *testing.T) {
	for _, read := range []string{workload.ReadNearest, workload.ReadSecondaryPreferred, "farthest"} {
		to := target()
		to.Read = read
		_, err := keyvalue.By(Driver().Open)(context.Background(), to, availability.Table())
		if refused := (*workload.OptionError)(nil); !errors.As(err, &refused) || refused.Value != read {
			t.Errorf("%s with one host: %v", read, err)
		}
	}
	to := target()
	to.Read = workload.ReadPrimary
	store := openKeyValue(t, to, availability.Table())
	if promise := keyvalue.PromiseOf(store); promise != keyvalue.PromiseLinearizable {
		t.Errorf("one server promises %q", promise)
	}
	if err := store.Close(); err != nil {
		t.Error(err)
	}
}

// TestIdleConnectionsThatEnd has the server end connections while nothing is
// done over them: nothing is unknown of what was not sent.
func TestIdleConnectionsThatEnd(t *testing.T) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	store, schema := openAvailability(t, target())
	defer store.Close()
	if err := store.Create(ctx, workload.Marker{Workload: "availability"}); err != nil {
		t.Fatal(err)
	}
	session, err := store.Session(ctx)
	if err != nil {
		t.Fatal(err)
	}
	scene := setScene(t, target())
	killer := admin(t)
	ids := []string{strconv.FormatInt(scene.look.id, 10)}
	for _, s := range schema.Sessions.All() {
		ids = append(ids, s.ID)
	}
	for _, id := range ids {
		exec(t, killer, `KILL CONNECTION ?`, id)
		for value(t, killer, `SELECT count(*) FROM information_schema.processlist WHERE id = ?`, id) != "0" {
			time.Sleep(time.Millisecond)
		}
	}
	if r := session.Insert(ctx, availability.Row(1, 1)); r.Outcome != history.Committed {
		t.Errorf("an application's next insert: %+v", r)
	}
	if r := scene.session.Transfer(ctx, scene.next(1, 2)); r.Outcome != history.Failed || r.Class != workload.ClassLost || !r.Broken {
		t.Errorf("a transfer: %+v, want failed (%s), broken", r, workload.ClassLost)
	}
	session.Close()
	if err := errors.Join(store.Settle(ctx), store.Drop(ctx)); err != nil {
		t.Error(err)
	}
}
