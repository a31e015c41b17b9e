package postgres

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"assay/internal/expect"
	"assay/store"
	"assay/workload/bulkupdate"
	"assay/workload/definition"
)

// TestBulkUpdateSeesWhoWaits holds a user's documents while a session wants
// them.
func TestBulkUpdateSeesWhoWaits(t *testing.T) {
	to := target(t)
	to.Isolation = "serializable"
	db, err := Open(t.Context(), to, bulkupdate.Schema())
	expect.NoError(t, err)
	defer db.Close()
	config := bulkupdate.Config{Users: 1, Documents: 10, Workers: "1", Field: bulkupdate.FieldOff, Loaders: 1}
	w, err := config.Open(t.Context(), db, 1, 1)
	if err == nil {
		err = errors.Join(w.Create(t.Context(), store.Marker{Run: "r", Workload: "bulkupdate"}), w.Load(t.Context(), func(int64, int64) {}))
	}
	expect.NoError(t, err)
	holder := admin(t)
	exec(t, holder, `BEGIN`)
	exec(t, holder, `UPDATE assay_bulkupdate.document SET number = number`)
	client, err := w.(definition.Rounds).Rounds()[0].Client(t.Context(), 0)
	expect.NoError(t, err)
	defer client.Close()
	counting, is := store.As[store.Counting](db)
	if !is {
		t.Fatal("it does not tell of waits")
	}
	ended := make(chan string, 1)
	go func() {
		a := client.Attempt(t.Context(), 0, 1)
		ended <- fmt.Sprintln(a.Outcome, a.Class, a.Disconnected)
	}()
	for waiting := int64(0); waiting == 0; {
		waits, err := counting.Waits(t.Context())
		expect.NoError(t, err)
		for _, w := range waits {
			if strings.Contains(w.Name, "a Lock wait") {
				waiting = w.Value
			}
		}
	}
	exec(t, holder, `COMMIT`)
	// In between the rows have got new versions, which serializable refuses.
	if how := <-ended; how != "failed serialization failure false\n" {
		t.Error(how)
	}
	if err := db.Drop(t.Context()); err != nil {
		t.Error(err)
	}
}
