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
	"math"

	"assay/store"
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
func Columns() store.Columns[Row] {
	return store.Columns[Row]{Names: []string{"id", "payload"}, Fields: func(r *Row) []any { return []any{&r.ID, &r.Payload} }}
}

// Schema is the table.
func Schema() store.Schema {
	return store.Schema{Workload: Name, Durable: true, Tables: []store.Table{{
		Name: table, Columns: []store.Column{{Name: "id"}, {Name: "payload", Type: store.String, Length: 10000}},
	}}}
}

const table = "entry"

// MaxBatch is the most rows that a statement inserts or deletes.
const MaxBatch = 1000

// tasks is how many batches the rows make.
func (c Config) tasks() int64 { return (c.Rows + max(c.Batch, 1) - 1) / max(c.Batch, 1) }

// rows are the rows of a configuration and seed: pure functions of their numbers.
// There are Config.Rows places. The row in a place is deleted in some of the
// cycles, and the refill of the same cycle puts another one there, whose id is
// the cycle's number times Config.Rows above the place's.
type rows struct {
	config Config
	seed   uint64
}

// split is the cycle that put a row there (0 for the fill), and its place from
// 1; false for an id that no row can have.
func (r rows) split(id int64) (cycle, place int64, ok bool) {
	if id < 1 || id > (r.config.Cycles+1)*r.config.Rows {
		return 0, 0, false
	}
	cycle, place = (id-1)/r.config.Rows, (id-1)%r.config.Rows+1
	return cycle, place, cycle == 0 || r.goes(cycle, place)
}

func (r rows) id(cycle, place int64) int64 { return cycle*r.config.Rows + place }

// goes reports whether a cycle deletes the row in a place.
func (r rows) goes(cycle, place int64) bool {
	return float64(workload.Mix(r.seed^workload.Mix(uint64(cycle)<<40^uint64(place))))/math.MaxUint64 < r.config.DeleteShare
}

// before is the cycle that put the row there which a cycle deletes.
func (r rows) before(cycle, place int64) int64 {
	for cycle--; cycle > 0 && !r.goes(cycle, place); cycle-- {
	}
	return cycle
}

// places are the places of a task, from the first to before the end.
func (r rows) places(task int64) (first, end int64) {
	first = task*r.config.Batch + 1
	return first, min(first+r.config.Batch, r.config.Rows+1)
}

// taskOf is whose task a place is in.
func (r rows) taskOf(place int64) int64 { return (place - 1) / r.config.Batch }

// inserted are the rows that a task of a cycle puts there, 0 being the fill.
func (r rows) inserted(cycle, task int64) (all []Row) {
	for place, end := r.places(task); place < end; place++ {
		if cycle == 0 || r.goes(cycle, place) {
			all = append(all, r.row(r.id(cycle, place)))
		}
	}
	return all
}

// deleted are the ids of the rows that a task of a cycle takes away.
func (r rows) deleted(cycle, task int64) (ids []int64) {
	for place, end := r.places(task); place < end; place++ {
		if r.goes(cycle, place) {
			ids = append(ids, r.id(r.before(cycle, place), place))
		}
	}
	return ids
}

// row is the row of an id.
func (r rows) row(id int64) Row {
	return Row{ID: id, Payload: workload.HexDigits(r.seed, uint64(id), r.config.RowBytes)}
}
