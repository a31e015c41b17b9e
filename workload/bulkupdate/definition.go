package bulkupdate

import (
	"context"

	"assay/load"
	"assay/report"
	"assay/workload"
	"assay/workload/definition"
)

// Name is the workload's name.
const Name = "bulkupdate"

// By is the support of the workload by a driver's function.
func By(open func(ctx context.Context, target workload.Target) (Store, error)) definition.Support {
	return definition.By(Name, open)
}

// Definition is the workload.
func Definition() definition.Workload {
	return definition.Workload{
		Name: Name, Key: "bulkupdate",
		Summary: "all documents of a user updated at once, by more and more workers; task times, lock waits, every document checked",
		Short:   "All documents of a user updated at once, by more and more workers; task times and lock waits",
		Long: `All documents of a user updated by one statement, by more and more workers.

In each round there is one task for each user: set a boolean in all of the
user's documents. So many workers share the tasks; the report has the time of
each task, of all of them, and what the server says of its locks and queues
meanwhile. Every document is checked afterwards: it must be as the last update
that was acknowledged has left it, and none may have reached a part only.`,
		Example: `  assay run bulkupdate
  assay run bulkupdate --cluster mongodb:1 --users 200 --documents 1000 --workers 1,5,15,30
  assay run bulkupdate --cluster mariadb:1 --users 1000 --documents 5000 --workers 1..30`,
		Checks: []definition.Check{
			{Name: CheckDocuments, Asserts: "Every document is there once, as it was loaded but for what the last acknowledged update of its user has set. No acknowledged update reached a part of its user's documents only; where the database promises it, no update at all did."},
			{Name: CheckCounts, Asserts: "Every acknowledged update was said to have changed all documents of its user."},
		},
		Config:     func() definition.Config { c := Defaults(); return &c },
		Unused:     []string{"clients", "rate", "arrivals", "duration", "ops", "warmup", "ramp"},
		WhyUnused:  "has no meaning in this workload: --workers says how many work, --users how much there is to do",
		State:      FileState,
		Operations: map[uint8]string{KindUpdate: "update"},
		Measures:   func(kind uint8) bool { return kind == KindUpdate },
		Limit:      definition.LimitTasks,
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

// Plan implements definition.Config: all that says how many clients do how much is
// left to the rounds.
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

// Volume implements definition.Sized.
func (c *Config) Volume() definition.Volume {
	workers, _ := c.workers() // what is wrong is for Validate to say
	rows := c.Users * c.Documents
	return definition.Volume{Rows: rows, RowBytes: 40, Worked: rows * int64(len(workers))}
}

func (c *Config) Options(definition.Support) []report.Setting { return definition.Settings(c.Flags()) }

func (c *Config) Open(_ context.Context, store workload.Store, seed uint64, _ int) (definition.Work, error) {
	return NewWork(store.(Store), *c, seed)
}

func (c *Config) Judge(_ context.Context, seed uint64, e definition.Evidence) (definition.Judgement, error) {
	return Judge(*c, seed, e)
}
