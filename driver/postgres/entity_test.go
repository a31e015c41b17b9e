package postgres

import (
	"errors"
	"net/url"
	"testing"

	"assay/driver/drivertest"
	"assay/workload"
	"assay/workload/entity"
)

func openEntity(t *testing.T, target workload.Target) entity.Store {
	t.Helper()
	store, err := OpenEntity(t.Context(), target)
	if err != nil {
		t.Fatal(err)
	}
	return store
}

func entityHarness(t *testing.T, changes ...func(*url.URL)) drivertest.Entity {
	u, err := url.Parse(server.Address())
	if err != nil {
		t.Fatal(err)
	}
	return drivertest.Entity{
		Secret: secret,
		Open:   func(t *testing.T) entity.Store { return openEntity(t, target(t, changes...)) },
		MakeForeign: func(t *testing.T) {
			conn := admin(t)
			exec(t, conn, `CREATE SCHEMA assay_entity`)
			t.Cleanup(func() { exec(t, admin(t), `DROP SCHEMA assay_entity CASCADE`) })
			exec(t, conn, `CREATE TABLE assay_entity.entity AS SELECT 'mine'::text AS owner`)
		},
		ForeignIntact: func(t *testing.T) {
			var owner string
			if err := admin(t).QueryRow(t.Context(), `SELECT min(owner) FROM assay_entity.entity`).Scan(&owner); err != nil || owner != "mine" {
				t.Errorf("the foreign schema was touched: owner %q, %v", owner, err)
			}
		},
		Server: u.Host,
		OpenVia: func(t *testing.T, addr string) (entity.Store, error) {
			return OpenEntity(t.Context(), target(t, append(changes, host(addr))...))
		},
	}
}

func TestEntity(t *testing.T) {
	drivertest.RunEntity(t, entityHarness(t))
	store := openEntity(t, target(t, parameter("default_query_exec_mode", "exec")))
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
