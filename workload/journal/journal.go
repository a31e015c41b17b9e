// Package journal is what workloads have in common whose operations each leave one row
// in a table, the journal, under the operation's id: their tables hold integers, their
// state is read back row by row, and of each operation it is known what it would write.
// The package loads the tables, makes the attempts under one id, keeps the state, and
// judges that every acknowledged operation has exactly one row, every failed one none,
// and every unknown one none or one.
//
// What the rows say of balances is judged by each workload.
//
// It must not know any driver.
package journal

import (
	"context"

	"assay/workload"
	"assay/workload/definition"
)

// Table is one of a workload's tables: its columns of integers, the key first. Others
// are not read back.
type Table struct {
	Name    string
	Columns []string
}

// Row is one row of a table, in the order of its Columns. Values are good until the
// callback that gets the row returns.
type Row struct {
	// Table is the table's number in the list of the workload's tables.
	Table  int
	Values []int64
}

// Session is one client's connection. Each workload's has its operations beside.
type Session interface {
	// Close ends the session. What is in flight is abandoned.
	Close()
}

// Store is what a database must offer for such a workload, with sessions N.
//
// All methods are safe for concurrent use, except where said otherwise.
type Store[N Session] interface {
	workload.Store

	// Create makes the empty tables; see workload.Store.
	Create(ctx context.Context, mark workload.Marker) error

	// LoadRows inserts rows of one table, at most MaxBatch, with whatever columns it
	// has beside. It is called from several goroutines with disjoint rows.
	LoadRows(ctx context.Context, table int, rows [][]int64) error

	// FinishLoad is called once after all rows are in: it builds what is better built
	// late (indexes, statistics) and sets Marker.Loaded.
	FinishLoad(ctx context.Context) error

	// Session opens what one client uses: usually one connection. The session is used
	// by one goroutine at a time.
	Session(ctx context.Context) (N, error)

	// Read gives all rows as one consistent view, a table after the other, in any
	// order within a table and as the database holds them, however wrong. It stops at
	// the first error, of the database's or of the callback's, and returns it.
	Read(ctx context.Context, row func(Row) error) error
}

// MaxBatch is the most rows that LoadRows is given at once.
const MaxBatch = 1000

// State is how the rows of a workload's tables are kept after the run; see
// definition.RowFile. A row's tag is the number of its table.
type State struct {
	// File is its name in the run's folder, and Magic what the file begins with, of
	// eight bytes.
	File, Magic string
	Tables      []Table
}

func (s State) rows() definition.RowFile {
	f := definition.RowFile{Magic: s.Magic, End: 0xff}
	for _, table := range s.Tables {
		f.Columns = append(f.Columns, len(table.Columns))
	}
	return f
}

// Save writes what read gives into a new file; see definition.RowFile.Save.
func (s State) Save(ctx context.Context, path string, read func(context.Context, func(Row) error) error, progress func(rows int64)) error {
	return s.rows().Save(path, progress, func(w *definition.RowWriter) error {
		return read(ctx, func(r Row) error { return w.Put(r.Table, r.Values...) })
	})
}

// Replay gives the rows that were saved; see definition.RowFile.Replay.
func (s State) Replay(path string, row func(Row) error) error {
	return s.rows().Replay(path, func(table int, values []int64) error { return row(Row{Table: table, Values: values}) })
}
