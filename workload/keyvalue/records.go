// Package keyvalue is the engine of workloads that insert records and read them by key. It has
// the statements, the common part of the clients, the outcome of each insert, and the judge of
// lost, doubled, altered and stale records.
//
// A workload is a Preset of it. Its load, flags and figures stay in its own package.
//
// It must not know any driver, cluster or fault.
package keyvalue

import (
	"context"

	"assay/store"
)

// Indexes into Statements.
const (
	Insert = iota
	Get
)

// Statements are a session's. Insert takes a whole record; Get takes its key and gives it.
func Statements(of store.Schema) []store.Statement {
	t := of.Tables[0]
	return []store.Statement{
		Insert: {Name: "insert", Verb: store.Insert, Table: t.Name, Columns: t.Names()},
		Get:    {Name: "get", Verb: store.Read, Table: t.Name, Columns: t.Names(), Where: store.Where(t.Key()...)},
	}
}

// Read gives every record of a schema of one table in any order, as one consistent and durable
// view if the database has such. It stops at the first error, of the database or of the
// callback.
func Read(ctx context.Context, db store.Database, of store.Schema, use func(store.Row) error) error {
	t := of.Tables[0]
	return store.ReadAll(ctx, db.View, func(r store.Reader) error {
		return store.Whole(ctx, r, store.Statement{Table: t.Name, Columns: t.Names()}, use)
	})
}
