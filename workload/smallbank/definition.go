package smallbank

import (
	"context"
	"fmt"
	"time"

	"assay/check"
	"assay/check/cycle"
	"assay/load"
	"assay/measure"
	"assay/report"
	"assay/store"
	"assay/store/promise"
	"assay/workload/definition"
	"assay/workload/journal"
)

// Name names the workload.
const Name = "smallbank"

// Definition describes the workload.
func Definition() definition.Workload {
	return definition.Workload{
		Name: Name, Key: "smallbank",
		Summary: "SmallBank: five small transactions whose write skew under snapshot isolation is found and named",
		Short:   "SmallBank (Alomari et al. 2008): write skew is found and named",
		Long: `SmallBank, after Alomari, Cahill, Fekete and Röhm (ICDE 2008).

Customers have a savings and a checking account. Five transactions read and write
them, most of them in a hotspot. Under snapshot isolation a WriteCheck can charge
a penalty on a total that a Balance has shown to be another. No serial order has
that result, and assay names it. It judges the run by what the level promises, or
by --model.`,
		Example: `  assay run smallbank
  assay run smallbank --db postgres://user@localhost/test --isolation serializable --retry failed
  assay run smallbank --cluster postgres:1 --isolation 'repeatable read' --hotspot 10 --clients 16 --model serializable`,
		Checks: []definition.Check{
			{Name: journal.CheckOperations, Asserts: "A committed operation that writes has exactly one row in the journal, a rejected or failed one has none, and one that ended unknown has none or one. Each row is as it was asked for. A WriteCheck charges the penalty if and only if what it read is less than the check.",
				Kinds: map[string]promise.Property{"lost": promise.Durability, "failed": promise.Atomicity}},
			{Name: CheckAccounts, Asserts: "The journal's rows of each account follow one another from the opening balance on, each overwrites the one before it, and they lead to the balance that is there. Each balance that was acknowledged or read is the one that its writer left. Customers have the names that they were loaded with.",
				Kinds: map[string]promise.Property{"missing": promise.Durability, "overwritten": promise.Isolation, "gap": promise.Atomicity, "balance": promise.Atomicity, "previous": promise.Atomicity, "acknowledged": promise.Isolation, "read": promise.Isolation}},
			{Name: CheckIsolation, Asserts: "What the operations have read from each other and overwritten shows no anomaly that the model forbids.", Tests: promise.Isolation,
				Kinds: map[string]promise.Property{"stale-read": promise.Recency, "lost-append": promise.Durability}},
		},
		Schema:     definition.Fixed(Schema),
		Needs:      []store.Need{{Capability: store.Transactions, Why: "an operation could be half done"}},
		Config:     func() definition.Config { c := Defaults(); return &c },
		Bugs:       Bugs(),
		Load:       loadDefaults,
		State:      state().File,
		Operations: kindNames(),
		// The workload is made for conflicts, so they do not make a measurement invalid.
		Limit:      func(l *measure.Limits) { l.MaxErrorShare = 1 },
		SizeLoaded: true,
	}
}

func state() journal.State {
	return journal.State{File: "smallbank.bin", Tables: Tables(), RowFile: definition.RowFile{Magic: "ASSAYM02", End: 0xff}, Former: "ASSAYM01"}
}

func (c *Config) Flags() []definition.Flag {
	hotspot := fmt.Sprintf("0 to %d, the number of customers", c.Customers)
	return []definition.Flag{
		{Name: "customers", Value: &c.Customers, Min: 2, Max: 10_000_000, Setting: "customers", Usage: "how many customers, 2 to 10000000"},
		{Name: "hotspot", Value: &c.Hotspot, Max: float64(c.Customers), Range: hotspot, Setting: "hotspot", Usage: "how many customers most operations deal with; 0 for 1000, or all where there are fewer"},
		{Name: "hotspot-share", Value: &c.HotspotShare, Max: 1, Range: "a share from 0 to 1", Setting: "hotspot share", Usage: "share of the operations that deal with these, 0 to 1"},
		{Name: "balance-share", Value: &c.BalanceShare, Max: 1, Range: "a share from 0 to 1", Setting: "balance share", Usage: "share of Balance, 0 to 1; the other four are equally frequent"},
		{Name: "model", Value: &c.Model, Usage: "the consistency model that is judged; what the database promises if not given"},
		{Name: "loaders", Value: &c.Loaders, Min: 1, Max: 256, Usage: "batches of rows that are loaded at the same time"},
	}
}

func (c *Config) Plan(p load.Plan) (load.Plan, error) { return definition.InTurn(p) }

func (c *Config) Volume() definition.Volume {
	return definition.Volume{Rows: 3 * c.Customers, RowBytes: 40, Inserts: 1 - c.BalanceShare}
}

func (c *Config) Options(definition.Support) []report.Setting {
	shown := *c
	shown.Hotspot = c.hotspot()
	return definition.Settings(shown.Flags())
}

type work struct{ journal.Work[store.Session] }

func (w *work) Promise() string { return w.Promises().Model }

func (c *Config) Open(_ context.Context, db store.Database, seed uint64, _ int) (definition.Work, error) {
	operations := &Operations{*c, seed}
	tables := Tables()
	accounts := func(table int) definition.Contents {
		return definition.Contents{Table: tables[table].Name, Columns: tables[table].Columns, Rows: c.Customers, Row: func(i int64, into []store.Value) []store.Value {
			return append(into, store.OfInts(i, operations.Opening(table, i), Nobody, Nobody)...)
		}}
	}
	customers := definition.Contents{Table: tables[Account].Name, Columns: tables[Account].Names(), Rows: c.Customers,
		Row: func(i int64, into []store.Value) []store.Value {
			return append(into, store.OfInt(i), store.OfText(CustomerName(i)))
		}}
	return &work{journal.Work[store.Session]{
		Loaded: definition.Loaded{Database: db, Loaders: c.Loaders, One: "row", Many: "rows",
			Contents: []definition.Contents{customers, accounts(Saving), accounts(Checking)}},
		State:   state(),
		Session: func(ctx context.Context) (store.Session, error) { return db.Session(ctx, statements()) },
		Kind:    func(id int64) uint8 { return operations.At(id).Kind },
		Do: func(ctx context.Context, session store.Session, id int64) (store.Reply, []int64) {
			o := operations.At(id)
			return o.do(ctx, session)
		},
	}}, nil
}

// NotApplicable are the checks of writes if there are none.
func (c *Config) NotApplicable() []check.NotApplicable {
	if c.BalanceShare < 1 {
		return nil
	}
	why := "with --balance-share 1 no operation writes"
	return []check.NotApplicable{{Name: journal.CheckOperations, Reason: why}, {Name: CheckIsolation, Reason: why}}
}

// Config is a definition.Config.
type Config struct {
	Customers    int64   `yaml:"customers" json:"customers"`
	Hotspot      int64   `yaml:"hotspot" json:"hotspot"`
	HotspotShare float64 `yaml:"hotspot_share" json:"hotspot_share"`
	BalanceShare float64 `yaml:"balance_share" json:"balance_share"`
	Loaders      int     `yaml:"loaders" json:"loaders"`
	Model        string  `yaml:"model,omitempty" json:"model,omitempty"`
}

// Defaults returns the paper's customers, hotspot and uniform mix.
func Defaults() Config {
	return Config{Customers: 18_000, HotspotShare: 0.9, BalanceShare: 0.2, Loaders: 4}
}

// The shortest run in which a steady state is looked for: on a database in memory, judging the
// order of the transactions takes several times as long as the run.
func loadDefaults() load.Plan {
	p := load.Defaults()
	p.Duration = 10 * time.Second
	return p
}

const usualHotspot = 1000

func (c *Config) hotspot() int64 {
	if c.Hotspot == 0 {
		return min(usualHotspot, c.Customers)
	}
	return c.Hotspot
}

func (c Config) Validate() error {
	if err := definition.CheckFlags(c.Flags()); err != nil {
		return err
	}
	if _, err := cycle.ParseModel(c.Model); c.Model != "" && err != nil {
		return &store.OptionError{Option: "--model", Value: c.Model, Want: cycle.ModelNames()}
	}
	return nil
}
