package postgres

import (
	"errors"
	"net/url"
	"strings"
	"testing"

	"assay/driver/drivertest"
	"assay/workload"
	"assay/workload/bulkupdate"
)

func openBulkUpdate(t *testing.T, target workload.Target) bulkupdate.Store {
	t.Helper()
	store, err := bulkupdate.Opener(Driver().Open)(t.Context(), target)
	if err != nil {
		t.Fatal(err)
	}
	return store
}

func bulkUpdateHarness(t *testing.T, waits bool, changes ...func(*url.URL)) drivertest.BulkUpdate {
	u, err := url.Parse(server.Address())
	if err != nil {
		t.Fatal(err)
	}
	return drivertest.BulkUpdate{
		Secret: secret, Waits: waits,
		Open: func(t *testing.T) bulkupdate.Store { return openBulkUpdate(t, target(t, changes...)) },
		MakeForeign: func(t *testing.T) {
			conn := admin(t)
			exec(t, conn, `CREATE SCHEMA assay_bulkupdate`)
			t.Cleanup(func() { exec(t, admin(t), `DROP SCHEMA assay_bulkupdate CASCADE`) })
			exec(t, conn, `CREATE TABLE assay_bulkupdate.document AS SELECT 'mine'::text AS owner`)
		},
		ForeignIntact: func(t *testing.T) {
			var owner string
			if err := admin(t).QueryRow(t.Context(), `SELECT min(owner) FROM assay_bulkupdate.document`).Scan(&owner); err != nil || owner != "mine" {
				t.Errorf("the foreign schema was touched: owner %q, %v", owner, err)
			}
		},
		Server: u.Host,
		OpenVia: func(t *testing.T, addr string) (bulkupdate.Store, error) {
			return bulkupdate.Opener(Driver().Open)(t.Context(), target(t, append(changes, host(addr))...))
		},
	}
}

func TestBulkUpdate(t *testing.T) {
	for name, changes := range map[string][]func(*url.URL){
		"prepared":                    nil,
		"without prepared statements": {parameter("default_query_exec_mode", "exec")},
	} {
		t.Run(name, func(t *testing.T) { drivertest.RunBulkUpdate(t, bulkUpdateHarness(t, true, changes...)) })
	}
	store := openBulkUpdate(t, target(t))
	run := drivertest.ShortRun{Workload: bulkupdate.Definition(), Seed: 1, Attempts: 5,
		Config: &bulkupdate.Config{Users: 20, Documents: 200, Workers: "1,6", Field: bulkupdate.FieldOff, Loaders: 2}}
	facts := run.Valid(t.Context(), t, store).Facts
	if len(facts["1 worker"]) != 5 || len(facts["6 workers"]) != 5 {
		t.Errorf("facts %+v", facts)
	}
	if err := errors.Join(store.Drop(t.Context()), store.Close()); err != nil {
		t.Error(err)
	}
}

// TestBulkUpdateSeesWhoWaits holds a user's documents while a session wants
// them.
func TestBulkUpdateSeesWhoWaits(t *testing.T) {
	to := target(t)
	to.Isolation = "serializable"
	store := openBulkUpdate(t, to)
	defer store.Close()
	config := bulkupdate.Config{Users: 1, Documents: 10, Workers: "1", Field: bulkupdate.FieldOff, Loaders: 1}
	if err := store.Create(t.Context(), workload.Marker{Run: "r", Workload: "bulkupdate"}); err != nil {
		t.Fatal(err)
	}
	if err := bulkupdate.Open(t.Context(), store, config, 1, func(int64, int64) {}); err != nil {
		t.Fatal(err)
	}
	holder := admin(t)
	exec(t, holder, `BEGIN`)
	exec(t, holder, `UPDATE assay_bulkupdate.document SET number = number`)
	session, err := store.Session(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer session.Close()
	done := make(chan bulkupdate.Reply, 1)
	go func() { done <- session.Update(t.Context(), 1, 1, true) }()
	for waiting := int64(0); waiting == 0; {
		waits, err := store.Waits(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, w := range waits {
			if strings.Contains(w.Name, "a Lock wait") {
				waiting = w.Value
			}
		}
	}
	exec(t, holder, `COMMIT`)
	// In between the rows have got new versions, which serializable refuses.
	if r := <-done; r.Outcome.String() != "failed" || r.Class != "serialization failure" || r.Broken {
		t.Errorf("%+v", r)
	}
	if err := store.Drop(t.Context()); err != nil {
		t.Error(err)
	}
}
