package tpcb

import (
	"context"

	"assay/load"
	"assay/report"
	"assay/store"
	"assay/store/promise"
	"assay/workload/definition"
	"assay/workload/journal"
)

// Name names the workload.
const Name = "tpcb"

// Config is a definition.Config.
type Config struct {
	Scale    int64 `yaml:"scale" json:"scale"`
	Accounts int64 `yaml:"accounts" json:"accounts"`
	Batch    bool  `yaml:"batch" json:"batch"`
	Loaders  int   `yaml:"loaders" json:"loaders"`
}

const maxAccounts = 100_000

// Defaults returns the default configuration.
func Defaults() Config { return Config{Scale: 1, Accounts: maxAccounts, Loaders: 4} }

func (c Config) Validate() error {
	return definition.CheckFlags(c.Flags())
}

// Definition describes the workload.
func Definition() definition.Workload {
	return definition.Workload{
		Name: Name, Key: "tpcb",
		Summary: "TPC-B as pgbench runs it; every transaction and every balance is accounted for",
		Short:   "TPC-B as pgbench runs it, every transaction accounted for",
		Long: `TPC-B as pgbench runs it (its built-in transaction tpcb-like).

A transaction adds an amount to a branch, a teller and an account, reads the
account, and enters itself in the history. The statements are pgbench's, sent one
by one, or together with --batch. In the end each balance must be the sum of its
rows in the history, and each acknowledged transaction must have exactly one.`,
		Example: `  assay run tpcb
  assay run tpcb --db postgres://user@localhost/test --scale 2 --clients 8 --duration 1m
  assay run tpcb --cluster postgres:1 --batch`,
		Checks: []definition.Check{
			{Name: journal.CheckOperations, Asserts: "A committed transaction has exactly one row in the history, a failed one has none, and one that ended unknown has none or one. Each row is as it was asked for.",
				Kinds: map[string]promise.Property{"lost": promise.Durability, "failed": promise.Atomicity}},
			{Name: CheckTotal, Asserts: "The balances of branches, of tellers and of accounts and the amounts of the history have one and the same sum, and exactly the rows that were loaded are there, with their filler.",
				Kinds: map[string]promise.Property{"sum": promise.Atomicity, "missing": promise.Durability}},
			{Name: CheckBalances, Asserts: "Each branch, each teller and each account has the balance that its rows of the history add up to.", Tests: promise.Atomicity},
			{Name: CheckOrder, Asserts: "The balances that were acknowledged of an account are those that its transactions leave in some order, each of which begins with what the one before it left.", Tests: promise.Isolation},
		},
		Schema:     definition.Fixed(Schema),
		Needs:      []store.Need{{Capability: store.Transactions, Why: "an operation could be half done"}},
		Config:     func() definition.Config { c := Defaults(); return &c },
		Bugs:       Bugs(),
		State:      state().File,
		Operations: map[uint8]string{kindTransaction: "transaction"},
		SizeLoaded: true,
		NotJudged:  []definition.Unjudged{{Table: "history", Column: "mtime", What: "of a transaction without an answer"}},
	}
}

// kindTransaction has, if acknowledged, the account's balance and the moment in its row as
// Values. Runs of earlier versions lack the moment.
const kindTransaction uint8 = 1

func state() journal.State {
	return journal.State{File: "tpcb.bin", Tables: Tables(), RowFile: definition.RowFile{Magic: "ASSAYT02", End: 0xff}, Former: "ASSAYT01"}
}

func (c *Config) Flags() []definition.Flag {
	return []definition.Flag{
		{Name: "scale", Value: &c.Scale, Min: 1, Max: 1000, Setting: "scale", Usage: "how many branches, each with 10 tellers, 1 to 1000"},
		{Name: "accounts", Value: &c.Accounts, Min: 1, Max: maxAccounts, Setting: "accounts a branch", Usage: "accounts of each branch, 1 to 100000; pgbench has 100000"},
		{Name: "batch", Value: &c.Batch, Usage: "send a transaction's statements together, not one by one as pgbench does"},
		{Name: "loaders", Value: &c.Loaders, Min: 1, Max: 256, Usage: "batches of rows that are loaded at the same time"},
	}
}

func (c *Config) Plan(p load.Plan) (load.Plan, error) { return definition.InTurn(p) }

func (c *Config) Volume() definition.Volume {
	return definition.Volume{Rows: c.Scale * c.Accounts, RowBytes: 130, Inserts: 1}
}

func (c *Config) Options(definition.Support) []report.Setting {
	sent := "one by one"
	if c.Batch {
		sent = "together"
	}
	return append(definition.Settings(c.Flags()), report.Setting{Name: "statements", Value: sent})
}

type work struct {
	journal.Work[store.Session]
	definition.NoPromise
}

func (c *Config) Open(_ context.Context, db store.Database, seed uint64, _ int) (definition.Work, error) {
	transactions := &Transactions{*c, seed}
	w := &work{}
	w.Loaded = definition.Loaded{Database: db, Loaders: c.Loaders, One: "row", Many: "rows"}
	for table := Branches; table <= Accounts; table++ {
		filler, of := store.OfText(filler(table)), Tables()[table]
		w.Contents = append(w.Contents, definition.Contents{
			Table: of.Name, Columns: of.Names(), Rows: transactions.rows(table),
			Row: func(i int64, into []store.Value) []store.Value {
				for _, n := range transactions.opening(table, i) {
					into = append(into, store.OfInt(n))
				}
				return append(into, filler)
			}})
	}
	w.State = state()
	w.Session = func(ctx context.Context) (store.Session, error) { return db.Session(ctx, statements()) }
	w.Kind = func(int64) uint8 { return kindTransaction }
	together, sql := c.Batch, db.Lacks()[store.SQL] == ""
	w.Do = func(ctx context.Context, session store.Session, id int64) (store.Reply, []int64) {
		x := transactions.At(id)
		return x.do(ctx, session, together, sql)
	}
	return w, nil
}
