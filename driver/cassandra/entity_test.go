package cassandra

import (
	"errors"
	"testing"
	"time"

	"assay/driver/drivertest"
	"assay/workload"
	"assay/workload/entity"
)

func openEntities(t *testing.T, address string) entity.Store {
	t.Helper()
	store, err := OpenEntity(t.Context(), workload.Target{Address: address, ConnectTimeout: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	return store
}

func TestEntity(t *testing.T) {
	c := startRing(t, 1)
	address := c.Address()
	drivertest.RunEntity(t, drivertest.Entity{
		Replaces: true,
		Open:     func(t *testing.T) entity.Store { return openEntities(t, address) },
		MakeForeign: func(t *testing.T) {
			admin(t, address, "CREATE KEYSPACE assay_entity WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 1}",
				"CREATE TABLE assay_entity.theirs (id int PRIMARY KEY)", "INSERT INTO assay_entity.theirs (id) VALUES (7)")
			t.Cleanup(func() { admin(t, address, "DROP KEYSPACE assay_entity") })
		},
		ForeignIntact: func(t *testing.T) {
			store := closing(t, address)
			var id int
			if err := store.session.Query("SELECT id FROM assay_entity.theirs").ScanContext(t.Context(), &id); err != nil || id != 7 {
				t.Errorf("what is not ours holds %d, %v", id, err)
			}
		},
		Server: c.Node(0).Address(),
		OpenVia: func(t *testing.T, addr string) (entity.Store, error) {
			to := "cassandra://" + addr
			s, err := parse(workload.Target{Address: to, ConnectTimeout: 10 * time.Second})
			if err != nil {
				return nil, err
			}
			s.revisit = time.Second // nobody else tells when the proxy lets it through again
			return openEntity(t.Context(), s, to)
		},
	})
	store := openEntities(t, address+"?consistency=one")
	config := entity.Defaults()
	config.Entities = 20
	run := drivertest.EntityRun{Config: config, Seed: 1, Clients: 3, Each: 60, Attempts: 1}
	if f := run.Valid(t.Context(), t, store).Figures; f.Writes.Outcomes.Committed+f.Reads.Outcomes.Committed != 180 {
		t.Errorf("%+v", f)
	}
	if promise := store.(entity.Promising).Promise(); promise != "" {
		t.Errorf("with consistency one %q is promised", promise)
	}
	if err := errors.Join(store.Drop(t.Context()), store.Close()); err != nil {
		t.Error(err)
	}
}
