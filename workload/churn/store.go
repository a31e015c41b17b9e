// Package churn is the workload of space: rows are filled in, a share of them
// is deleted and filled in again, some times over, and at the end the
// database's own repair is run (vacuum, compact, optimize). It tells what the
// rows take on disk after each of these, and it knows which rows must be there.
//
// What it keeps to judge a run is one bit for each row that ever was.
//
// It must not know any driver.
package churn

import (
	"context"

	"assay/workload"
)

// Row is one row.
type Row struct {
	// ID is unique (the primary key, or _id), from 1.
	ID int64
	// Payload is Config.RowBytes letters and digits.
	Payload string
}

// Columns are how rows are stored.
func Columns() workload.Columns[Row] {
	return workload.Columns[Row]{Names: []string{"id", "payload"}, Fields: func(r *Row) []any { return []any{&r.ID, &r.Payload} }}
}

// Store is what a database must offer for this workload. A driver implements
// it in its database's own idiom, or the cell of the matrix stays empty.
//
// All methods are safe for concurrent use.
type Store interface {
	workload.Store

	// Create makes an empty table under the mark, whose Loaded is set; see
	// workload.Store.
	Create(ctx context.Context, mark workload.Marker) error
	Session(ctx context.Context) (Session, error)

	// Repairs are the database's own ways to give back space, from the mildest
	// on, by the names of its commands.
	Repairs() []string
	// Repair runs one of Repairs, and returns when it is done.
	Repair(ctx context.Context, name string) error

	// Read gives every row, in any order, as one consistent view.
	Read(ctx context.Context, row func(Row) error) error
}

// Session is one client's connection. Neither method retries, and neither has a
// time limit beside ctx. Both are one statement, in the database's ordinary way
// of acknowledging; Failed is said only with proof of no effect.
type Session interface {
	// Insert adds rows, at most MaxBatch.
	Insert(ctx context.Context, rows []Row) Reply
	// Delete takes away the rows of these ids, at most MaxBatch.
	Delete(ctx context.Context, ids []int64) Reply
	// Close ends the session. What is in flight is abandoned.
	Close()
}

// MaxBatch is the most rows that a Session is given at once.
const MaxBatch = 1000

// Reply is how one attempt ended.
type Reply = workload.Reply
