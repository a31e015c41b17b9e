// Package churn is the workload of space on disk. Rows are filled in, and in each cycle a share
// of them is deleted and filled in again. In the end the database's own repair runs (vacuum,
// compact, optimize). It measures the size after each step and knows which rows must be there.
//
// The judge takes a bit per row that ever was.
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
	// ID is the primary key, from 1.
	ID int64
	// Payload has Config.RowBytes letters and digits.
	Payload string
}

// Columns maps rows to columns.
func Columns() store.Columns[Row] {
	return store.Columns[Row]{Names: []string{"id", "payload"}, Fields: func(r *Row) []any { return []any{&r.ID, &r.Payload} }}
}

// Schema returns the table.
func Schema() store.Schema {
	return store.Schema{Workload: Name, Durable: true, Tables: []store.Table{{
		Name: table, Columns: []store.Column{{Name: "id"}, {Name: "payload", Type: store.String, Length: 10000}},
	}}}
}

const table = "entry"

// MaxBatch bounds the rows of one statement.
const MaxBatch = 1000

func (c Config) tasks() int64 { return (c.Rows + max(c.Batch, 1) - 1) / max(c.Batch, 1) }

// rows computes the rows of a configuration and seed. There are Config.Rows places. Some cycles
// delete the row in a place and put another there. Its id is the place's plus the cycle's number
// times Config.Rows.
type rows struct {
	config Config
	seed   uint64
}

// split is the cycle that put a row there (0 for the fill) and its place from 1; false for an
// impossible id.
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

// before is the cycle that put in the row that a cycle deletes.
func (r rows) before(cycle, place int64) int64 {
	for cycle--; cycle > 0 && !r.goes(cycle, place); cycle-- {
	}
	return cycle
}

// places are a task's places from first to before end.
func (r rows) places(task int64) (first, end int64) {
	first = task*r.config.Batch + 1
	return first, min(first+r.config.Batch, r.config.Rows+1)
}

func (r rows) taskOf(place int64) int64 { return (place - 1) / r.config.Batch }

// inserted are the rows of a task; cycle 0 is the fill.
func (r rows) inserted(cycle, task int64) (all []Row) {
	for place, end := r.places(task); place < end; place++ {
		if cycle == 0 || r.goes(cycle, place) {
			all = append(all, r.row(r.id(cycle, place)))
		}
	}
	return all
}

// deleted are the ids that a task deletes.
func (r rows) deleted(cycle, task int64) (ids []int64) {
	for place, end := r.places(task); place < end; place++ {
		if r.goes(cycle, place) {
			ids = append(ids, r.id(r.before(cycle, place), place))
		}
	}
	return ids
}

func (r rows) row(id int64) Row {
	return Row{ID: id, Payload: workload.HexDigits(r.seed, uint64(id), r.config.RowBytes)}
}
