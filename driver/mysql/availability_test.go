package mysql

import (
	"context"
	"errors"
	"testing"
	"time"

	"assay/driver/drivertest"
	"assay/history"
	"assay/workload"
	"assay/workload/availability"
)

func openAvailability(t *testing.T, to workload.Target) availability.Store {
	t.Helper()
	store, err := OpenAvailability(context.Background(), to)
	if err != nil {
		t.Fatal(err)
	}
	return store
}

func TestAvailability(t *testing.T) {
	for name, changes := range map[string][]func(*spot){"InnoDB": nil, "RocksDB": {parameter("engine", "rocksdb")}} {
		t.Run(name, func(t *testing.T) {
			drivertest.RunAvailability(t, drivertest.Availability{
				Secret:        secret,
				Open:          func(t *testing.T) availability.Store { return openAvailability(t, target(changes...)) },
				MakeForeign:   func(t *testing.T) { makeForeign(t, availabilitySchema, "entry") },
				ForeignIntact: func(t *testing.T) { foreignIntact(t, availabilitySchema, "entry") },
				Server:        node.Node(0).Address(),
				OpenVia: func(t *testing.T, addr string) (availability.Store, error) {
					ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
					defer cancel()
					return OpenAvailability(ctx, target(append(changes, atHosts(addr))...))
				},
			})
		})
	}
}

func TestAvailabilityReads(t *testing.T) {
	for _, read := range []string{workload.ReadNearest, workload.ReadSecondaryPreferred, "farthest"} {
		to := target()
		to.Read = read
		_, err := OpenAvailability(context.Background(), to)
		if refused := (*workload.OptionError)(nil); !errors.As(err, &refused) || refused.Value != read {
			t.Errorf("%s with one host: %v", read, err)
		}
	}
	to := target()
	to.Read = workload.ReadPrimary
	store := openAvailability(t, to)
	if promise := store.(availability.Promising).Promise(); promise != availability.PromiseLinearizable {
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
	store := openAvailability(t, target())
	defer store.Close()
	if err := store.Create(ctx, workload.Marker{Workload: "availability"}); err != nil {
		t.Fatal(err)
	}
	s, err := store.Session(ctx)
	if err != nil {
		t.Fatal(err)
	}
	session := s.(*availabilitySession)
	scene := setScene(t, target())
	killer := admin(t)
	for _, id := range []int64{session.writer.look.id, scene.look.id} {
		exec(t, killer, `KILL CONNECTION ?`, id)
		for value(t, killer, `SELECT count(*) FROM information_schema.processlist WHERE id = ?`, id) != "0" {
			time.Sleep(time.Millisecond)
		}
	}
	if r := session.Insert(ctx, availability.Row{Key: 1, Value: 2}); r.Outcome != history.Committed {
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
