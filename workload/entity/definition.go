package entity

import (
	"context"

	"assay/check"
	"assay/history"
	"assay/load"
	"assay/measure"
	"assay/report"
	"assay/store"
	"assay/workload/definition"
	"assay/workload/keyvalue"
)

// Name names the workload.
const Name = "entity"

// Definition describes the workload.
func Definition() definition.Workload {
	return definition.Workload{
		Name: Name, Key: "entity",
		Summary: "entities of seven fields written and read by id, directly or through assay serve; every read is compared",
		Short:   "Entities of seven fields, written and read by their id, directly or through a web service",
		Long: `Entities of seven fields, written and read by their id.

Clients write entities with realistic values and read acknowledged ones. assay
compares every read, field by field, and looks for every acknowledged entity in
the end. The report has the point at which the throughput falls for good, if
there is one. Clients reach the database directly, through assay serve
(--db http://...), or through a service within the run (--through-service).`,
		Example: `  assay run entity
  assay run entity --cluster cassandra:3 --option consistency=one --clients 100 --ramp 1/s --warmup 15s --duration 2m
  assay run entity --cluster mongodb:2+arbiter --option w=1 --through-service --clients 100 --ramp 10/s
  assay run entity --db http://127.0.0.1:8080 --write-share 0`,
		Checks:      keyvalue.Checks("an", "entity"),
		Schema:      definition.Fixed(Schema),
		Config:      func() definition.Config { c := Defaults(); return &c },
		Bugs:        Bugs(),
		Load:        LoadDefaults,
		State:       FileState,
		Losses:      true,
		Operations:  keyvalue.Operations(),
		Measures:    func(kind uint8) bool { return kind == keyvalue.KindInsert || kind == keyvalue.KindGet },
		Degradation: true,
	}
}

func (c *Config) Flags() []definition.Flag {
	return []definition.Flag{
		{Name: "write-share", Value: &c.WriteShare, Max: 1, Range: "0 (only reads) to 1 (only writes)", Setting: "write share", Usage: "share of operations that write, 0 to 1; the others read"},
		{Name: "entities", Value: &c.Entities, Max: MaxEntities, Setting: "entities", Usage: "how many entities are there before the run"},
		{Name: "through-service", Value: &c.ThroughService, Usage: "start the web service of assay serve in front of the database for the run, within this process, and go through it"},
	}
}

func (c *Config) Served() bool { return c.ThroughService }

func (c *Config) Plan(p load.Plan) (load.Plan, error) { return definition.InTurn(p) }

func (c *Config) Volume() definition.Volume {
	return definition.Volume{Rows: c.Entities, RowBytes: 400, Inserts: 1}
}

func (c *Config) Options(definition.Support) []report.Setting {
	settings := definition.Settings(c.Flags())
	if c.ThroughService {
		settings = append(settings, report.Setting{Name: "through", Value: "a web service in assay's own process"})
	}
	return settings
}

func (c *Config) Open(_ context.Context, db store.Database, seed uint64, _ int) (definition.Work, error) {
	return &work{Work: keyvalue.NewWork(db, preset(*c, seed), FileState, maxRecent), config: *c, seed: seed}, nil
}

func (c *Config) Judge(_ context.Context, seed uint64, e definition.Evidence) (definition.Judgement, error) {
	results, f, err := Judge(*c, seed, e)
	if err != nil {
		return definition.Judgement{}, err
	}
	out := definition.Judgement{Results: results, WorkloadFigures: report.WorkloadFigures{Entity: section(f)}, Counts: f.Writes.Outcomes.Plus(f.Reads.Outcomes)}
	out.Notes = e.UnknownNotes("write that ended unknown", "writes that ended unknown", f.Writes.Outcomes.Unknown, f.UnknownDone)
	return out, nil
}

func section(f Figures) *report.Entity {
	return &report.Entity{
		Writes: f.Writes, Reads: f.Reads, Rows: f.Rows, Compared: f.Answered, Wrong: f.Wrong, NotRead: f.Missing,
		Lost: f.Lost, Altered: f.Altered, Stale: f.Stale, StaleBy: float64(max(f.StaleBy, 0)) / 1e6,
		UnknownDone: f.UnknownDone, FailedDone: f.FailedDone,
	}
}

// Config is a definition.Config.
type Config struct {
	WriteShare float64 `yaml:"write_share" json:"write_share"`
	// Without Entities, a read that has nothing to read yet becomes a write.
	Entities       int64 `yaml:"entities" json:"entities"`
	ThroughService bool  `yaml:"through_service,omitempty" json:"through_service,omitempty"`
}

// MaxEntities bounds Config.Entities.
const MaxEntities = 100_000_000

// Defaults returns the default configuration.
func Defaults() Config { return Config{WriteShare: 0.5, Entities: 1000} }

// LoadDefaults returns a short load.
func LoadDefaults() load.Plan {
	p := load.Defaults()
	p.Clients = 16
	return p
}

func (c Config) Validate() error {
	if err := definition.CheckFlags(c.Flags()); err != nil {
		return err
	}
	if c.Entities == 0 && c.WriteShare == 0 {
		return &store.OptionError{Option: "--entities", Value: "0", Want: "1 or more where nobody writes: there would be nothing to read"}
	}
	return nil
}

// NotApplicable is the check of reads if there are none.
func (c *Config) NotApplicable() []check.NotApplicable {
	if c.WriteShare < 1 {
		return nil
	}
	return []check.NotApplicable{{Name: keyvalue.CheckReads, Reason: "with --write-share 1 nobody reads"}}
}

// Judge is keyvalue.Judge, without CheckReads if the mix has no reads. All seven fields of an
// entity must be as written.
func Judge(config Config, seed uint64, e definition.Evidence) ([]check.Result, Figures, error) {
	var writes, reads *definition.Pace
	results, figures, err := keyvalue.Judge(preset(config, seed), e, func(scope measure.Scope) history.Visitor {
		writes, reads = definition.NewPace(scope), definition.NewPace(scope)
		return history.Visitor{Op: func(op *history.Op) error {
			switch op.Kind {
			case keyvalue.KindInsert:
				writes.Op(op)
			case keyvalue.KindGet:
				reads.Op(op)
			}
			return nil
		}}
	})
	if err != nil {
		return nil, Figures{}, err
	}
	return check.Applicable(results, config.NotApplicable()), Figures{figures, writes.Flow(), reads.Flow()}, nil
}

// Figures are counts beside the verdicts.
type Figures struct {
	keyvalue.Figures
	Writes, Reads report.Flow
}
