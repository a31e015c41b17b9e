// Package keyvalue is the engine of the workloads that insert records and read
// them by key: the statements, the part of the clients that they share, the record of
// what became of each insert, and the judge of loss, doubling, alteration and staleness.
//
// A workload is a Preset of it: which table it has, which record belongs to which
// operation, and what is kept of a record to know it again. Its load, its flags
// and its own figures stay in the workload's package.
//
// It must not know any driver, cluster or fault.
package keyvalue

import (
	"context"

	"assay/store"
)

// The numbers of Statements.
const (
	Insert = iota
	Get
)

// Statements are the statements of a session on a schema of one table. Insert takes all columns of
// a record and is acknowledged in the database's ordinary way, Get takes its key and gives
// all columns.
func Statements(of store.Schema) []store.Statement {
	t := of.Tables[0]
	return []store.Statement{
		Insert: {Name: "insert", Verb: store.Insert, Table: t.Name, Columns: t.Names()},
		Get:    {Name: "get", Verb: store.Read, Table: t.Name, Columns: t.Names(), Where: store.Where(t.Key()...)},
	}
}

// Read gives every record of a schema of one table, in any order, as one consistent view of
// what is there for good where the database has such. It stops at the first error, of the
// database's or of the callback's, and returns it.
func Read(ctx context.Context, db store.Database, of store.Schema, use func(store.Row) error) error {
	t := of.Tables[0]
	return store.ReadAll(ctx, db.View, func(r store.Reader) error {
		return store.Whole(ctx, r, store.Statement{Table: t.Name, Columns: t.Names()}, use)
	})
}
