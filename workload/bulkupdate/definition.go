package bulkupdate

import (
	"fmt"
	"strconv"
	"strings"

	"assay/check"
	"assay/load"
	"assay/report"
	"assay/store"
	"assay/store/promise"
	"assay/workload/definition"
)

// Name names the workload.
const Name = "bulkupdate"

// Definition describes the workload.
func Definition() definition.Workload {
	return definition.Workload{
		Name: Name, Key: "bulkupdate",
		Summary: "all documents of a user updated at once, by more and more workers; task times, lock waits, every document checked",
		Short:   "All documents of a user updated at once, by more and more workers; task times and lock waits",
		Long: `All documents of a user updated by one statement, by more and more workers.

In each round there is one task for each user: set a boolean in all of the
user's documents. So many workers share the tasks. The report has the time of
each task, and the server's locks and queues meanwhile. In the end every document
must be as its last acknowledged update left it.`,
		Example: `  assay run bulkupdate
  assay run bulkupdate --cluster mongodb:1 --users 200 --documents 1000 --workers 1,5,15,30
  assay run bulkupdate --cluster mariadb:1 --users 1000 --documents 5000 --workers 1..30`,
		Checks: []definition.Check{
			{Name: CheckDocuments, Asserts: "Every document is there once, as it was loaded but for what the last acknowledged update of its user has set. No acknowledged update reached a part of its user's documents only; where the database promises it, no update at all did.",
				Kinds: map[string]promise.Property{"lost": promise.Durability, "partial": promise.Atomicity, "failed": promise.Atomicity}},
			{Name: CheckCounts, Asserts: "Every acknowledged update was said to have changed all documents of its user.", Tests: promise.Atomicity},
		},
		Schema:     definition.Fixed(Schema),
		Needs:      []store.Need{{Capability: store.Sets}},
		Config:     func() definition.Config { c := Defaults(); return &c },
		Bugs:       Bugs(),
		Unused:     []string{"clients", "rate", "arrivals", "duration", "ops", "warmup", "ramp"},
		WhyUnused:  "has no meaning in this workload: --workers says how many work, --users how much there is to do",
		State:      FileState,
		Operations: map[uint8]string{KindUpdate: "update"},
		Measures:   func(kind uint8) bool { return kind == KindUpdate },
		Limit:      definition.LimitTasks,
		Tasks:      true,
	}
}

func (c *Config) Flags() []definition.Flag {
	return []definition.Flag{
		{Name: "users", Value: &c.Users, Min: 1, Max: 1_000_000, Setting: "users", Usage: "how many users there are; each is one task of a round"},
		{Name: "documents", Value: &c.Documents, Min: 1, Max: maxDocuments, Setting: "documents", Unit: " each", Usage: "how many documents each user has; a task updates all of them"},
		{Name: "workers", Value: &c.Workers, Setting: "workers", Usage: "how many workers share the tasks, a round each: numbers and ranges, such as 1..30 or 1,5,15,30"},
		{Name: "field", Value: &c.Field, Setting: "field", Usage: "the boolean at first: off, alternate or random", Values: fields()},
		{Name: "loaders", Value: &c.Loaders, Min: 1, Max: 256, Usage: "batches of documents that are loaded at the same time"},
	}
}

// Plan implements definition.Config. The rounds decide clients and operations.
func (c *Config) Plan(p load.Plan) (load.Plan, error) {
	workers, err := c.workers()
	if err != nil {
		return p, err
	}
	p.Warmup, p.Ramp, p.Rate, p.Arrivals = 0, 0, 0, load.Closed
	p.Clients, p.Ops, p.Duration = 1, uint64(max(c.Users, 1))*uint64(len(workers)), 0
	for _, n := range workers {
		p.Clients = max(p.Clients, n)
	}
	return p, p.Validate()
}

func (c *Config) Volume() definition.Volume {
	workers, _ := c.workers() // Validate says what is wrong
	rows := c.Users * c.Documents
	return definition.Volume{Rows: rows, RowBytes: 40, Worked: rows * int64(len(workers))}
}

func (c *Config) Options(definition.Support) []report.Setting { return definition.Settings(c.Flags()) }

// Config is a definition.Config.
type Config struct {
	Users     int64  `yaml:"users" json:"users"`
	Documents int64  `yaml:"documents" json:"documents"`
	Workers   string `yaml:"workers" json:"workers"`
	Field     string `yaml:"field" json:"field"`
	Loaders   int    `yaml:"loaders" json:"loaders"`
}

// Values of Config.Field: a document's first boolean. Each round sets all documents alike, so
// from the second on it flips all.
const (
	// FieldOff is false in all documents.
	FieldOff = "off"
	// FieldAlternate is true in every second document.
	FieldAlternate = "alternate"
	// FieldRandom is true in half of the documents, by the seed.
	FieldRandom = "random"
)

func fields() []string { return []string{FieldOff, FieldAlternate, FieldRandom} }

const (
	// maxRounds is one less than the bits of a mask.
	maxRounds = 63
	// maxDocuments limits the judge to some 13 MB of bits.
	maxDocuments = 100_000_000
)

// Defaults returns a configuration that takes some seconds.
func Defaults() Config {
	return Config{Users: 200, Documents: 500, Workers: "1,4,8", Field: FieldOff, Loaders: 4}
}

func (c Config) Validate() error {
	if err := definition.CheckFlags(c.Flags()); err != nil {
		return err
	}
	if most := maxDocuments / c.Users; c.Documents > most {
		return &store.OptionError{Option: "--documents", Value: strconv.FormatInt(c.Documents, 10),
			Want: fmt.Sprintf("1 to %d for so many users: at most %d documents in all", most, maxDocuments)}
	}
	_, err := c.workers()
	return err
}

func (c Config) workers() ([]int, error) {
	refuse := func(why string) error {
		return &store.OptionError{Option: "--workers", Value: c.Workers,
			Want: fmt.Sprintf("numbers and ranges from 1 to %d, each number once and at most %d of them, such as 1..30 or 1,5,15,30 (%s)", load.MaxClients, maxRounds, why)}
	}
	var all []int
	seen := map[int]bool{}
	for _, item := range strings.Split(c.Workers, ",") {
		from, to, isRange := strings.Cut(strings.TrimSpace(item), "..")
		if !isRange {
			to = from
		}
		first, err := strconv.Atoi(from)
		last, err2 := strconv.Atoi(to)
		if err != nil || err2 != nil || first < 1 || last > load.MaxClients || last < first {
			return nil, refuse(fmt.Sprintf("not %q", item))
		}
		for n := first; n <= last; n++ {
			if seen[n] {
				return nil, refuse(fmt.Sprintf("%d is there twice", n))
			}
			if len(all) == maxRounds {
				return nil, refuse("these are more")
			}
			seen[n] = true
			all = append(all, n)
		}
	}
	return all, nil
}

func roundName(workers int) string {
	return check.Counted(workers, "worker", "workers")
}

func (c Config) RoundNames() (names []string) {
	workers, _ := c.workers() // Validate says what is wrong
	for _, n := range workers {
		names = append(names, roundName(n))
	}
	return names
}
