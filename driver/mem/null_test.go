package mem

import (
	"context"
	"errors"
	"testing"

	"assay/history"
	"assay/internal/expect"
	"assay/store"
)

// TestTheNullStoreKeepsNothing: it acknowledges every statement, returns due rows of zeros, and
// keeps nothing.
func TestTheNullStoreKeepsNothing(t *testing.T) {
	ctx := t.Context()
	for _, address := range []string{"null", "mem://", "null://host", "null://?latency=1ms"} {
		if _, err := OpenNull(ctx, store.Target{Address: address}, ledgerSchema()); err == nil {
			t.Errorf("%q was opened", address)
		}
	}
	db, err := OpenNull(ctx, store.Target{Address: "null://"}, ledgerSchema())
	expect.NoError(t, err)
	expect.NoError(t, db.Create(ctx, store.Marker{Run: "r"}))
	if _, is := store.As[store.Replicated](db); is || db.Lacks()[store.Snapshots] == "" || db.Lacks()[store.Transactions] != "" {
		t.Errorf("it has replicas, %v, or lacks %v", is, db.Lacks())
	}
	n, err := db.Session(ctx, ledgerStatements())
	expect.NoError(t, err)
	state := [2]int64{7, 7}
	given := 0
	row := func(row store.Row) error { given++; return row.Scan(&state[0], &state[1]) }
	r := n.Batch(ctx, &store.Batch{Calls: []store.Call{{Statement: 0, Parameters: store.OfInts(1, 5), Row: row}, {Statement: 1, Parameters: store.OfInts(1, 2, 3, 4)}}})
	if r.Outcome != history.Committed || given != 1 || state != [2]int64{} {
		t.Errorf("%+v; %d rows, the last %v", r, given, state)
	}
	r = n.Transaction(ctx, true, func(ctx context.Context, x store.Transaction) error {
		_, err := x.Do(ctx, 0, row, store.OfInts(1, 5)...)
		return err
	})
	if r.Outcome != history.Committed || given != 2 {
		t.Errorf("%+v; %d rows", r, given)
	}
	if r := n.Run(ctx, store.Call{Statement: 2, Parameters: store.OfInts(1), Row: row}); r.Outcome != history.Committed || given != 2 {
		t.Errorf("%+v; %d rows of what was never written", r, given)
	}
	if r := n.Insert(ctx, store.Rows{Table: "account", Count: 1}); r.Outcome != history.Committed {
		t.Error(r)
	}
	counted := int64(-1)
	err = db.View(ctx, func(r store.Reader) error {
		count := store.Statement{Name: "count", Verb: store.Count, Table: "account"}
		return errors.Join(r.Read(ctx, ledgerStatements()[2], row, store.OfInt(1)), r.Read(ctx, count, func(row store.Row) error { return row.Scan(&counted) }))
	})
	if found, left := db.Find(ctx); err != nil || given != 2 || counted != 0 || found != nil || left != nil {
		t.Errorf("%v; %d rows, %d counted; found %+v, %v", err, given, counted, found, left)
	}
}
