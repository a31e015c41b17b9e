package postgres

import (
	"strings"
	"testing"

	"assay/workload"
	"assay/workload/bulkupdate"
)

func openBulkUpdate(t *testing.T, target workload.Target) bulkupdate.Store {
	t.Helper()
	store, err := bulkupdate.Opener(Open)(t.Context(), target)
	if err != nil {
		t.Fatal(err)
	}
	return store
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
