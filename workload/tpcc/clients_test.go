package tpcc_test

import (
	"context"
	"errors"
	"maps"
	"path/filepath"
	"testing"

	"assay/driver/mem"
	"assay/driver/sqldb"
	"assay/driver/sqlite"
	"assay/history"
	"assay/internal/expect"
	"assay/load"
	"assay/store"
	"assay/workload/definition"
	"assay/workload/tpcc"
)

// TestClients does a whole deck of operations: each is committed in the end or, where an item
// does not exist, rejected, and what was done is not done again. The isolation tests leave
// nothing.
func TestClients(t *testing.T) {
	for address, by := range map[string]definition.Support{
		"mem://": definition.SupportOf(tpcc.Definition(), mem.Open, mem.Lacks()),
		"sqlite:" + filepath.Join(t.TempDir(), "shop.db"): definition.SupportOf(tpcc.Definition(), sqlite.Open, sqldb.Lacks()),
	} {
		config := tpcc.Config{Warehouses: 2, Items: 100, Customers: 10, Loaders: 2}
		db, err := by.Open(t.Context(), store.Target{Address: address})
		expect.NoError(t, err)
		defer db.Close()
		work, err := config.Open(t.Context(), db, 7, 2)
		expect.NoError(t, err)
		expect.NoError(t, errors.Join(work.Create(t.Context(), store.Marker{Run: "deck", Workload: tpcc.Name}), work.Load(t.Context(), func(int64, int64) {})))
		client, err := work.Client(t.Context(), 0)
		expect.NoError(t, err)
		defer client.Close()
		inputs := tpcc.NewInputs(tpcc.NewPopulation(config, 7))
		for seq := range uint64(100) {
			wantDone(t, client, inputs, seq)
		}
		over, cancel := context.WithCancel(t.Context())
		cancel()
		if a := client.Attempt(over, 100, 1); a.Outcome == history.Committed || a.Class == "" {
			t.Errorf("an operation in a context that was over: %+v", a)
		}
		before, err := db.Size(t.Context())
		expect.NoError(t, err)
		expect.NoError(t, work.(definition.Examiner).Examine(t.Context(), t.TempDir()))
		if after, err := db.Size(t.Context()); err != nil || !maps.Equal(after.Rows, before.Rows) {
			t.Errorf("after the isolation tests there are %v, %v; before %v", after.Rows, err, before.Rows)
		}
	}
}

// wantDone has a client do an operation, and then again.
func wantDone(t *testing.T, client load.Client, inputs *tpcc.Inputs, seq uint64) {
	t.Helper()
	kind, want := inputs.Kind(0, seq), history.Committed
	if in := inputs.NewOrder(tpcc.OperationID(0, seq)); kind == tpcc.KindNewOrder && inputs.RolledBack(&in) {
		want = history.Rejected
	}
	a := client.Attempt(t.Context(), seq, 1)
	if a.Outcome != want || want == history.Rejected && a.Class != tpcc.ClassUnusedItem {
		t.Fatalf("operation %d, of kind %d: %+v, want %v", seq, kind, a, want)
	}
	switch kind {
	case tpcc.KindNewOrder, tpcc.KindPayment, tpcc.KindDelivery:
		a = client.Attempt(t.Context(), seq, 1)
		if want == history.Committed && (a.Outcome == history.Committed || a.Class != store.ClassDuplicate) {
			t.Errorf("operation %d, of kind %d, again: %+v", seq, kind, a)
		}
	}
}
