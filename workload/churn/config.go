package churn

import (
	"fmt"
	"math"
	"strconv"

	"assay/workload"
	"assay/workload/definition"
)

// Config is what a user can set of the workload. It is a definition.Config.
type Config struct {
	// Rows is how many there are when the table is full.
	Rows int64 `yaml:"rows" json:"rows"`
	// RowBytes is the length of a row's payload.
	RowBytes int `yaml:"row_bytes" json:"row_bytes"`
	// DeleteShare is the share of the rows, 0 to 1, that each deletion takes.
	DeleteShare float64 `yaml:"delete_share" json:"delete_share"`
	// Cycles is how many times rows are deleted and filled in again.
	Cycles int64 `yaml:"cycles" json:"cycles"`
	// Batch is the most rows that one statement inserts or deletes.
	Batch int64 `yaml:"batch" json:"batch"`
	// Repair has the database's own repair run at the end.
	Repair bool `yaml:"repair" json:"repair"`
}

const (
	maxRows    = 100_000_000
	shareRange = "more than 0, at most 1"
)

// Defaults returns the configuration of a run without flags.
func Defaults() Config {
	return Config{Rows: 20_000, RowBytes: 200, DeleteShare: 0.5, Cycles: 3, Batch: 200, Repair: true}
}

// Validate returns a *workload.OptionError for the first value that cannot be
// used.
func (c Config) Validate() error {
	if err := definition.CheckRanges(c.Flags()); err != nil {
		return err
	}
	if c.DeleteShare == 0 {
		return &workload.OptionError{Option: "--delete-share", Value: "0", Want: shareRange}
	}
	if most := maxRows / (c.Cycles + 1); c.Rows > most {
		return &workload.OptionError{Option: "--rows", Value: strconv.FormatInt(c.Rows, 10), Want: fmt.Sprintf("1 to %d with so many cycles", most)}
	}
	return nil
}

// tasks is how many batches the rows make.
func (c Config) tasks() int64 { return (c.Rows + max(c.Batch, 1) - 1) / max(c.Batch, 1) }

// rows are those of a configuration and seed: pure functions of their numbers.
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

// places are those of a task, from the first to before the end.
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
