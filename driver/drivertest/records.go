package drivertest

import (
	"context"
	"slices"
	"testing"

	"assay/internal/expect"
	"assay/store"
	"assay/workload/availability"
	"assay/workload/keyvalue"
)

// Records is a session on the rows of workload availability.
type Records struct{ store.Session }

// OpenRecords opens a session of Records.
func OpenRecords(t testing.TB, db store.Database) Records {
	t.Helper()
	session, err := db.Session(t.Context(), keyvalue.Statements(availability.Schema()))
	expect.NoError(t, err)
	return Records{session}
}

// Add inserts a key's row.
func (r Records) Add(ctx context.Context, key int64) store.Reply {
	return r.Run(ctx, store.Call{Statement: keyvalue.Insert, Parameters: availability.Row(1, key)}).Inserted()
}

// Find reads a key's row. found is 0 if there is none, and -1 if it differs from Add's.
func (r Records) Find(ctx context.Context, key int64) (found int, reply store.Reply) {
	rows := new([][]store.Value)
	reply = r.Run(ctx, store.Call{Statement: keyvalue.Get, Parameters: store.OfInts(key), Row: func(row store.Row) error {
		v := make([]int64, 2)
		err := row.Scan(&v[0], &v[1])
		*rows = append(*rows, store.OfInts(v...))
		return err
	}})
	if len(*rows) > 0 && !slices.EqualFunc((*rows)[0], availability.Row(1, key), func(a, b store.Value) bool { return a.Number == b.Number }) {
		return -1, reply
	}
	return len(*rows), reply
}
