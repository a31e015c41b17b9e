package mysql

import (
	"context"
	"errors"
	"strconv"
	"testing"
	"time"

	"assay/history"
	"assay/workload"
	"assay/workload/availability"
	"assay/workload/keyvalue"
)

func openKeyValue(t *testing.T, to workload.Target, table keyvalue.Table) keyvalue.Store {
	t.Helper()
	store, err := keyvalue.By(Open)(context.Background(), to, table)
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
	return keyvalue.Over(schema, availability.Table()), schema
}

func TestAvailabilityReads(t *testing.T) {
	for _, read := range []string{workload.ReadNearest, workload.ReadSecondaryPreferred, "farthest"} {
		to := target()
		to.Read = read
		_, err := keyvalue.By(Open)(context.Background(), to, availability.Table())
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
