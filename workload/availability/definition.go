package availability

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"assay/check"
	"assay/load"
	"assay/measure"
	"assay/report"
	"assay/store"
	"assay/workload/definition"
	"assay/workload/keyvalue"
)

// Name names the workload.
const Name = "availability"

// Definition describes the workload.
func Definition() definition.Workload {
	return definition.Workload{
		Name: Name, Key: "availability",
		Summary: "inserts and reads at a set rate under a client policy, while nodes fail; hangs, outages and losses are reported",
		Short:   "Inserts and reads at a set rate while nodes fail; hangs, outages and losses are reported",
		Long: `Inserts and reads at a set rate under a client's policy, while nodes fail.

Writers insert rows, readers read back what was acknowledged. The policy is what
the application does: none (no time limit), timeout, retry (repeat whatever did
not succeed) or idempotent (repeat it under an id of the client's until it meets
its own row). The report has the longest call, the outages of writes and reads at
each fault, lost and doubled rows, and reads that came too late.`,
		Example: `  assay run availability --cluster mongodb:3 --fault 'kill primary at 10s'
  assay run availability --cluster mongodb:3 --policy none --fault 'isolate primary at 10s for 30s'
  assay run availability --cluster postgres:3 --policy idempotent --read secondary-preferred \
    --fault 'pause primary at 10s for 20s'`,
		Checks: keyvalue.Checks("a", "record"),
		Schema: definition.Fixed(Schema),
		Config: func() definition.Config { c := Defaults(); return &c },
		Bugs:   Bugs(),
		Load:   LoadDefaults,
		Unused: []string{"retry", "max-attempts"}, WhyUnused: "is decided by --policy in this workload",
		State:      FileState,
		Losses:     true,
		Operations: keyvalue.Operations(),
		Measures:   func(kind uint8) bool { return kind == keyvalue.KindInsert },
		// The figures are single times of few operations, not percentiles of a steady state.
		Limit: func(l *measure.Limits) { l.MinCommitted, l.NoSteadyState = 10, true },
	}
}

func (c *Config) Flags() []definition.Flag {
	return []definition.Flag{
		{Name: "policy", Value: (*string)(&c.Policy), Setting: "policy", Usage: "what the client does about calls that fail or hang: none, timeout, retry or idempotent", Values: policyNames()},
		{Name: "read", Value: &c.Read, Setting: "read", Usage: "which member answers reads: primary, secondary-preferred or nearest", Values: store.Readers(), Empty: true},
		{Name: "readers", Value: &c.Readers, Max: MaxReaders, Setting: "readers", Usage: "how many clients read beside the writers"},
		{Name: "read-rate", Value: &c.ReadRate, Max: 100_000, Range: "0 to 100000 reads a second", Setting: "reads", Unit: "/s", Usage: "reads a second over all readers; 0 for none"},
	}
}

func (c *Config) Plan(p load.Plan) (load.Plan, error) { return Plan(*c, p), nil }

func (c *Config) Target(to *store.Target) { to.Read = c.Read }

func (c *Config) Options(definition.Support) []report.Setting {
	shown := *c
	shown.Read = cmp.Or(c.Read, store.ReadPrimary)
	return definition.Settings(shown.Flags())
}

func (c *Config) Open(_ context.Context, db store.Database, seed uint64, _ int) (definition.Work, error) {
	return &work{keyvalue.NewWork(db, preset(*c, seed), FileState, maxRecent), *c, seed}, nil
}

func (c *Config) Judge(_ context.Context, seed uint64, e definition.Evidence) (definition.Judgement, error) {
	results, f, err := Judge(*c, seed, e)
	if err != nil {
		return definition.Judgement{}, err
	}
	return definition.Judgement{Results: results, WorkloadFigures: report.WorkloadFigures{Availability: c.section(f)}, Notes: notes(e, f), Counts: f.Writes}, nil
}

// NotApplicable is the check of reads if there are none.
func (c *Config) NotApplicable() []check.NotApplicable {
	if c.reads() {
		return nil
	}
	return []check.NotApplicable{{Name: keyvalue.CheckReads, Reason: "without --readers and a --read-rate nobody reads"}}
}

// outage is a gap's length in milliseconds; -1 if it is not known.
func outage(g measure.Gap) float64 {
	if !g.Known {
		return -1
	}
	return float64(g.Length()) / 1e6
}

func (c *Config) section(f Figures) *report.Availability {
	ms := func(ns int64) float64 { return float64(ns) / 1e6 }
	return &report.Availability{
		Policy: string(c.Policy), Read: cmp.Or(c.Read, store.ReadPrimary),
		Writes: f.Writes, Reads: f.Reads, Rows: f.Rows, NotRead: f.Missing,
		Lost: f.Lost, Duplicates: f.Duplicates, Surplus: f.Surplus, UnknownDone: f.UnknownDone, FailedDone: f.FailedDone, Met: f.Met, MetGone: f.MetGone,
		Stale: f.Stale, StaleBy: ms(f.StaleBy), HungWrites: f.HungWrites, HungReads: f.HungReads,
		LongestWrite: ms(f.Impact.LongestWrite.Length), LongestRead: ms(f.Impact.LongestRead.Length), LongestWriteCut: f.Impact.LongestWrite.Cut, LongestReadCut: f.Impact.LongestRead.Cut,
		WriteOutage: outage(f.Impact.Writes), ReadOutage: outage(f.Impact.Reads), WritesAway: f.Impact.Writes.Open, ReadsAway: f.Impact.Reads.Open,
	}
}

func notes(e definition.Evidence, f Figures) (all []string) {
	all = e.UnknownNotes("insert that ended unknown", "inserts that ended unknown", f.Writes.Unknown, f.UnknownDone)
	if f.Duplicates > 0 {
		all = append(all, fmt.Sprintf("%s left more than one row (%s too many): the client repeated what it took for failed; "+
			"with --policy idempotent it would not", check.Counted(f.Duplicates, "operation", "operations"), check.Counted(f.Surplus, "row", "rows")))
	}
	if hung := f.HungWrites + f.HungReads; hung > 0 {
		all = append(all, check.Counted(hung, "call", "calls")+" without a time limit hung until the run ended")
	}
	return all
}

// Policy is what the writers do about calls that hang and answers that say nothing.
type Policy string

const (
	// PolicyNone has no timeout and no retry: a call may hang as long as the network lets it.
	PolicyNone Policy = "none"
	// PolicyTimeout gives a call up after the timeout, without a retry.
	PolicyTimeout Policy = "timeout"
	// PolicyRetry retries until success, each time as a new row with a new id, as with ids that
	// the database makes: what was done unnoticed is done twice.
	PolicyRetry Policy = "retry"
	// PolicyIdempotent retries with one id made by the client. It takes meeting its own row for
	// success; the judge does not.
	PolicyIdempotent Policy = "idempotent"
)

// Policies returns all policies.
func Policies() []Policy {
	return []Policy{PolicyNone, PolicyTimeout, PolicyRetry, PolicyIdempotent}
}

// Config is a definition.Config.
type Config struct {
	Policy   Policy  `yaml:"policy" json:"policy"`
	Readers  int     `yaml:"readers" json:"readers"`
	ReadRate float64 `yaml:"read_rate" json:"read_rate"`
	Read     string  `yaml:"read" json:"read"`
}

// MaxReaders bounds Config.Readers.
const MaxReaders = 1000

// Defaults returns a configuration of ten reads a second.
func Defaults() Config {
	return Config{Policy: PolicyTimeout, Readers: 40, ReadRate: 10, Read: store.ReadPrimary}
}

// defaultTimeout is of the published experiment with these policies.
const defaultTimeout = 5 * time.Second

// LoadDefaults returns ten inserts a second, whatever became of earlier ones. Each may hang for
// the timeout, so there are as many clients as become due meanwhile: with fewer, no client would
// notice that the database is back. With the readers they stay below PostgreSQL's default of a
// hundred connections.
func LoadDefaults() load.Plan {
	p := load.Defaults()
	p.Clients, p.Rate, p.Arrivals = 50, 10, load.Uniform
	p.Warmup, p.Duration, p.Timeout = 2*time.Second, 50*time.Second, defaultTimeout
	return p
}

func (c Config) Validate() error {
	return definition.CheckFlags(c.Flags())
}

func policyNames() (names []string) {
	for _, p := range Policies() {
		names = append(names, string(p))
	}
	return names
}

func (c Config) reads() bool { return c.Readers > 0 && c.ReadRate > 0 }

func (c Config) primary() bool { return c.Read == "" || c.Read == store.ReadPrimary }

// Plan applies the policy to a load: the attempt's timeout (the plan's, or five seconds; none
// under PolicyNone) and the retries. A run by time retries until its end, a run by operations as
// often as the plan says. The result is still to be validated.
func Plan(c Config, p load.Plan) load.Plan {
	if p.Timeout == 0 {
		p.Timeout = defaultTimeout
	}
	p.Retry = load.RetryNone
	switch c.Policy {
	case PolicyNone:
		p.Timeout = 0
	case PolicyRetry:
		p.Retry = load.RetryBlind
	case PolicyIdempotent:
		p.Retry = load.RetryIdempotent
	}
	if p.Retry != load.RetryNone && p.Ops == 0 {
		p.MaxAttempts = 0
	}
	return p
}

func (Config) Figures() []string {
	return []string{"lost", "done twice", "stale reads", "outage", "read outage"}
}
