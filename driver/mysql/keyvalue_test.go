package mysql

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"assay/driver/drivertest"
	"assay/history"
	"assay/internal/expect"
	"assay/store"
	"assay/workload/availability"
)

func openAvailability(t *testing.T, to store.Target) *schema {
	t.Helper()
	db, err := openSchema(context.Background(), to, availability.Schema())
	expect.NoError(t, err)
	return db
}

func TestAvailabilityReads(t *testing.T) {
	for _, read := range []string{store.ReadNearest, store.ReadSecondaryPreferred, "farthest"} {
		to := target()
		to.Read = read
		_, err := Open(context.Background(), to, availability.Schema())
		if refused := (*store.OptionError)(nil); !errors.As(err, &refused) || refused.Value != read {
			t.Errorf("%s with one host: %v", read, err)
		}
	}
	judged := store.Schema{Workload: "isolation", Transactions: true, Judged: true, Reads: true}
	if _, err := Open(context.Background(), store.Target{Address: "mysql://u@h:1,h:2/", Read: store.ReadNearest}, judged); !strings.Contains(fmt.Sprint(err), "no manual promises") {
		t.Errorf("transactions elsewhere: %v", err)
	}
	to := target()
	to.Read = store.ReadPrimary
	db := openAvailability(t, to)
	if promise := db.Promises().Reads; promise != store.Linearizable {
		t.Errorf("one server promises %q", promise)
	}
	expect.NoError(t, db.Close())
}

// TestIdleConnectionsThatEnd: the server ends idle connections, and nothing unsent is unknown.
func TestIdleConnectionsThatEnd(t *testing.T) {
	ctx, cancel := context.WithTimeout(context.Background(), expect.Patience)
	defer cancel()
	db := openAvailability(t, target())
	defer db.Close()
	expect.NoError(t, db.Create(ctx, store.Marker{Workload: "availability"}))
	session := drivertest.OpenRecords(t, db)
	scene := setScene(t, target())
	killer := admin(t)
	ids := []string{strconv.FormatInt(scene.look.id, 10)}
	for _, s := range db.Sessions.All() {
		ids = append(ids, s.ID)
	}
	for _, id := range ids {
		exec(t, killer, `KILL CONNECTION ?`, id)
		for value(t, killer, `SELECT count(*) FROM information_schema.processlist WHERE id = ?`, id) != "0" {
			time.Sleep(time.Millisecond)
		}
	}
	if r := session.Add(ctx, 1); r.Outcome != history.Committed {
		t.Errorf("an application's next insert: %+v", r)
	}
	if r := scene.session.Transfer(ctx, scene.next(1, 2)); r.Outcome != history.Failed || r.Class != store.ClassLost || !r.Broken {
		t.Errorf("a transfer: %+v, want failed (%s), broken", r, store.ClassLost)
	}
	session.Close()
	expect.NoError(t, db.Settle(ctx), db.Drop(ctx))
}
