// Package bank is the workload of money transfers between accounts, with a journal of them that
// proves itself.
//
// The seed and an operation's id decide everything that it does. So the judge compares a row of
// the journal bit by bit, without a record of what was sent.
//
// It must not know any driver.
package bank

import (
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
const Name = "bank"

// Definition describes the workload.
func Definition() definition.Workload {
	return definition.Workload{
		Name: Name, Key: "bank",
		Summary: "money transfers between accounts; the ledger is checked to the last transfer",
		Short:   "Money transfers between accounts, checked to the last one",
		Long: `Money transfers between accounts.

Loads accounts, moves money between them from many clients, reads everything back
and checks the total, each account against the journal, and each transfer against
the database's answer.`,
		Example: `  assay run bank
  assay run bank --db postgres://user@localhost/test --clients 16 --duration 1m
  assay run bank --db 'mongodb://localhost/?replicaSet=rs0' --rate 200 --threshold 'p99<100ms'`,
		Checks: []definition.Check{
			{Name: "total", Asserts: "The balances add up to what was loaded, every account is there, and none is below zero.",
				Kinds: map[string]promise.Property{"sum": promise.Atomicity, "missing-account": promise.Durability}},
			{Name: "accounts", Asserts: "Each account has the balance and the version that its opening balance and the rows of the journal give it.", Tests: promise.Atomicity},
			{Name: "transfers", Asserts: "A committed transfer has exactly one row in the journal, a rejected or failed one has none, and one that ended unknown has none or one. Each row is as it was sent.",
				Kinds: map[string]promise.Property{"lost": promise.Durability, "applied-though-failed": promise.Atomicity, "applied-though-rejected": promise.Atomicity}},
			{Name: "order", Asserts: "The rows gave each account the versions from 1 on, once each. They agree on one order for all accounts, which agrees with real time where the database promises that.",
				Kinds: map[string]promise.Property{"lost-update": promise.Isolation, "dirty-write": promise.Isolation, "acknowledged-balance": promise.Isolation, "stale-order": promise.Recency, "missing-version": promise.Atomicity}},
			{Name: "snapshots", Asserts: "Each audit saw one state of that order: both sides of a transfer or neither, and where the database promises it all that had been acknowledged.", Tests: promise.Snapshot,
				Kinds: map[string]promise.Property{"stale-read": promise.Recency, "stale-order": promise.Recency, "future-read": promise.Rules, "gone-read": promise.Permanence}},
			{Name: "replicas", Asserts: "Every replica holds the same state once it has caught up.", Tests: promise.Agreement},
			{Name: "restored", Asserts: "A restored backup holds a state that the database was in at one moment: whole transfers, and everything that came before any of them. A backup of the only node holds everything acknowledged when it was begun. A restore to a moment holds everything acknowledged before it, and nothing started after it.", Tests: promise.Atomicity,
				Kinds: map[string]promise.Property{"lost-update": promise.Isolation, "dirty-write": promise.Isolation, "acknowledged-balance": promise.Isolation, "stale-order": promise.Recency, "missing-before-target": promise.Durability, "missing-before-backup": promise.Durability}},
		},
		Schema:     definition.Fixed(Schema),
		Needs:      []store.Need{{Capability: store.Transactions, Why: "a transfer could be half done"}},
		Config:     func() definition.Config { c := Defaults(); return &c },
		Bugs:       Bugs(),
		Keys:       "accounts",
		State:      FileState,
		Losses:     true,
		Reloads:    true,
		Restores:   true,
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

func (c *Config) Plan(p load.Plan) (load.Plan, error) { return definition.InTurn(p) }

func (c *Config) Volume() definition.Volume {
	return definition.Volume{Rows: c.Accounts, RowBytes: 40, Inserts: 1, JudgeRow: 83, JudgeOperation: 55}
}

func (c *Config) Options(definition.Support) []report.Setting { return definition.Settings(c.Flags()) }

// WithoutObservers switches the audits off, where a database has none, and says so.
func (c *Config) WithoutObservers() (note string) {
	if c.Audits == 0 {
		return ""
	}
	c.Audits = 0
	return "this database offers no audits during the run; the check of snapshots is left out"
}

// NotApplicable is the check of the audits if there are none.
func (c *Config) NotApplicable() []check.NotApplicable {
	if c.Audits > 0 {
		return nil
	}
	return []check.NotApplicable{{Name: "snapshots", Reason: "with --audits 0 nobody reads the accounts while the transfers go on"}}
}

// Config is a definition.Config.
type Config struct {
	Accounts int64 `yaml:"accounts" json:"accounts"`
	// Keys is "uniform" or, after YCSB, "zipf:THETA" with 0 < THETA < 5 and THETA != 1.
	Keys string `yaml:"keys" json:"keys"`
	// Payroll is the share of transfers, 0 to 1, out of few corporate accounts.
	Payroll float64 `yaml:"payroll" json:"payroll"`
	Loaders int     `yaml:"loaders" json:"loaders"`
	Audits  float64 `yaml:"audits" json:"audits"`
}

// MaxAccounts is the largest Config.Accounts.
const MaxAccounts = 1_000_000_000

// Defaults returns the default configuration.
func Defaults() Config {
	return Config{Accounts: 10_000, Keys: "uniform", Payroll: 0.2, Loaders: 4, Audits: 10}
}

func (c Config) Validate() error {
	if err := definition.CheckFlags(c.Flags()); err != nil {
		return err
	}
	_, err := c.theta()
	return err
}

// theta is the Zipf exponent, 0 for uniform.
func (c Config) theta() (float64, error) {
	if c.Keys == "uniform" {
		return 0, nil
	}
	refuse := &store.OptionError{Option: "--keys", Value: c.Keys,
		Want: "uniform, or zipf:THETA with THETA above 0, below 5 and not 1, such as zipf:0.99"}
	text, found := strings.CutPrefix(c.Keys, "zipf:")
	if !found {
		return 0, refuse
	}
	theta, err := strconv.ParseFloat(text, 64)
	if err != nil || !(theta > 0 && theta < 5) || theta == 1 {
		return 0, refuse
	}
	return theta, nil
}
