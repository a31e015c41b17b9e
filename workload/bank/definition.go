package bank

import (
	"context"

	"assay/check"
	"assay/load"
	"assay/report"
	"assay/workload"
	"assay/workload/definition"
)

// Name is the workload's name.
const Name = "bank"

// By is the support of the workload by a driver's function.
func By(open func(ctx context.Context, target workload.Target) (Store, error)) definition.Support {
	return definition.By(Name, open)
}

// Definition is the workload.
func Definition() definition.Workload {
	return definition.Workload{
		Name: Name, Key: "bank",
		Summary: "money transfers between accounts; the ledger is checked to the last transfer",
		Short:   "Money transfers between accounts, checked to the last one",
		Long: `Money transfers between accounts.

Loads accounts with opening balances, moves money between them from many
clients, reads everything back and checks: the total, each account against the
journal, and each single transfer against what the database had answered.`,
		Example: `  assay run bank
  assay run bank --db postgres://user@localhost/test --clients 16 --duration 1m
  assay run bank --db 'mongodb://localhost/?replicaSet=rs0' --rate 200 --threshold 'p99<100ms'`,
		Checks: []definition.Check{
			{Name: "total", Asserts: "The balances add up to what was loaded, every account is there, and none is below zero."},
			{Name: "accounts", Asserts: "Each account has the balance and the version that its opening balance and the rows of the journal give it."},
			{Name: "transfers", Asserts: "A committed transfer has exactly one row in the journal, a rejected or failed one has none, and one that ended unknown has none or one. Each row is as it was sent."},
			{Name: "order", Asserts: "The rows gave each account the versions from 1 on, once each. They agree on one order for all accounts, which agrees with real time where the database promises that."},
			{Name: "snapshots", Asserts: "Each audit saw one state of that order: both sides of a transfer or neither, and where the database promises it all that had been acknowledged."},
			{Name: "replicas", Asserts: "Every replica holds the same state once it has caught up."},
		},
		Config:     func() definition.Config { c := Defaults(); return &c },
		State:      FileState,
		Reloads:    true,
		Operations: map[uint8]string{KindTransfer: "transfer", KindAudit: "audit", KindAuditAll: "full audit"},
		Measures:   func(kind uint8) bool { return kind == KindTransfer },
		SizeLoaded: true,
	}
}

func (c *Config) Flags() []definition.Flag {
	return []definition.Flag{
		{Name: "accounts", Value: &c.Accounts, Min: 2, Max: MaxAccounts, Setting: "accounts", Usage: "how many accounts, 2 to 1000000000"},
		{Name: "keys", Value: &c.Keys, Setting: "keys", Usage: "how accounts are chosen: uniform or zipf:THETA, such as zipf:0.99", Values: []string{"uniform", "zipf:"}, Open: true},
		{Name: "payroll", Value: &c.Payroll, Max: 1, Range: "a share from 0 to 1", Setting: "payroll", Usage: "share of transfers out of the few corporate accounts, 0 to 1"},
		{Name: "audits", Value: &c.Audits, Max: 1000, Range: "0 to 1000 a second", Setting: "audits", Unit: "/s", Usage: "how many times a second accounts are read in one transaction meanwhile; 0 for none"},
		{Name: "loaders", Value: &c.Loaders, Min: 1, Max: 256, Usage: "batches of accounts that are loaded at the same time"},
	}
}

func (c *Config) Plan(p load.Plan) (load.Plan, error) { return definition.OneIDEach(p) }

// Volume implements definition.Sized.
func (c *Config) Volume() definition.Volume {
	return definition.Volume{Rows: c.Accounts, RowBytes: 40, JudgeRow: 75, JudgeOperation: 50}
}

func (c *Config) Options(definition.Support) []report.Setting { return definition.Settings(c.Flags()) }

func (c *Config) Open(_ context.Context, store workload.Store, seed uint64, clients int) (definition.Work, error) {
	return NewWork(store.(Store), *c, seed, clients)
}

// WithoutObservers leaves the audits out where the database offers none, and says
// so.
func (c *Config) WithoutObservers() (note string) {
	if c.Audits == 0 {
		return ""
	}
	c.Audits = 0
	return "this database offers no audits during the run; the check of snapshots is left out"
}

func (c *Config) Judge(_ context.Context, seed uint64, e definition.Evidence) (definition.Judgement, error) {
	j, err := Judge(*c, seed, e)
	if err != nil {
		return definition.Judgement{}, err
	}
	t := j.Tally
	out := definition.Judgement{Results: j.Results, Counts: t.Counts, Emptied: t.Rows == 0 && t.Accounts > 0}
	if t.Unknown > 0 {
		out.Notes = append(out.Notes, e.UnknownNote(check.Counted(t.Unknown, "unknown transfer", "unknown transfers"), t.Unknown, t.UnknownApplied))
	}
	return out, nil
}
