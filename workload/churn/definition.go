package churn

import (
	"fmt"
	"strconv"

	"assay/load"
	"assay/report"
	"assay/store"
	"assay/store/promise"
	"assay/workload/definition"
)

// Name names the workload.
const Name = "churn"

// Definition describes the workload.
func Definition() definition.Workload {
	return definition.Workload{
		Name: Name, Key: "churn",
		Summary: "rows deleted and filled in again; size on disk over time, and what a repair gives back",
		Short:   "Rows deleted and filled in again; size on disk over time, and what a repair gives back",
		Long: `Rows deleted and filled in again, and what they take on disk meanwhile.

--cycles times over, a share of a full table's rows is deleted and as many new
ones are filled in. Then the database's own repair runs. The report has the size
on disk after each round. In the end exactly the rows that should be there must
be there, as they were inserted.`,
		Example: `  assay run churn
  assay run churn --cluster mongodb:1 --rows 200000 --cycles 5
  assay run churn --cluster postgres:1 --delete-share 0.9 --timeout 5m`,
		Checks: []definition.Check{
			{Name: CheckRows, Asserts: "Exactly the rows that must be there are there, each once and as it was inserted.",
				Kinds: map[string]promise.Property{"lost": promise.Durability, "undeleted": promise.Durability, "failed": promise.Atomicity}},
		},
		Schema:     definition.Fixed(Schema),
		Needs:      []store.Need{{Capability: store.Compactions}},
		Config:     func() definition.Config { c := Defaults(); return &c },
		Bugs:       Bugs(),
		Unused:     []string{"rate", "arrivals", "duration", "ops", "warmup", "ramp"},
		WhyUnused:  "has no meaning in this workload: --rows and --cycles say how much there is to do",
		State:      FileState,
		Operations: map[uint8]string{KindInsert: "insert", KindDelete: "delete", KindRepair: "repair"},
		Limit:      definition.LimitTasks,
	}
}

func (c *Config) Flags() []definition.Flag {
	return []definition.Flag{
		{Name: "rows", Value: &c.Rows, Min: 1, Max: maxRows, Setting: "rows", Usage: "how many rows there are when the table is full"},
		{Name: "row-bytes", Value: &c.RowBytes, Min: 1, Max: 10_000, Setting: "row bytes", Usage: "length of a row's payload"},
		{Name: "delete-share", Value: &c.DeleteShare, Max: 1, Range: shareRange, Setting: "delete share", Usage: "share of the rows that each deletion takes, more than 0, at most 1"},
		{Name: "cycles", Value: &c.Cycles, Min: 1, Max: 100, Setting: "cycles", Usage: "how many times rows are deleted and filled in again"},
		{Name: "batch", Value: &c.Batch, Min: 1, Max: MaxBatch, Setting: "batch", Usage: "most rows that one statement inserts or deletes"},
		{Name: "repair", Value: &c.Repair, Setting: "repair", Usage: "run the database's own repair at the end: vacuum, compact or optimize"},
	}
}

// Plan implements definition.Config. The rounds decide the operations.
func (c *Config) Plan(p load.Plan) (load.Plan, error) {
	p.Warmup, p.Ramp, p.Rate, p.Arrivals, p.Duration = 0, 0, 0, load.Closed, 0
	p.Ops = uint64(max(c.tasks()*(2*c.Cycles+1), 1))
	return p, p.Validate()
}

func (c *Config) Volume() definition.Volume {
	return definition.Volume{Rows: c.Rows, RowBytes: int64(c.RowBytes), Worked: int64(float64(2*c.Rows*c.Cycles)*c.DeleteShare) + c.Rows}
}

func (c *Config) Options(definition.Support) []report.Setting { return definition.Settings(c.Flags()) }

// Config is a definition.Config.
type Config struct {
	Rows        int64   `yaml:"rows" json:"rows"`
	RowBytes    int     `yaml:"row_bytes" json:"row_bytes"`
	DeleteShare float64 `yaml:"delete_share" json:"delete_share"`
	Cycles      int64   `yaml:"cycles" json:"cycles"`
	Batch       int64   `yaml:"batch" json:"batch"`
	Repair      bool    `yaml:"repair" json:"repair"`
}

const (
	maxRows    = 100_000_000
	shareRange = "more than 0, at most 1"
)

// Defaults returns the default configuration.
func Defaults() Config {
	return Config{Rows: 20_000, RowBytes: 200, DeleteShare: 0.5, Cycles: 3, Batch: 200, Repair: true}
}

func (c Config) Validate() error {
	if err := definition.CheckFlags(c.Flags()); err != nil {
		return err
	}
	if c.DeleteShare == 0 {
		return &store.OptionError{Option: "--delete-share", Value: "0", Want: shareRange}
	}
	if most := maxRows / (c.Cycles + 1); c.Rows > most {
		return &store.OptionError{Option: "--rows", Value: strconv.FormatInt(c.Rows, 10), Want: fmt.Sprintf("1 to %d with so many cycles", most)}
	}
	return nil
}
