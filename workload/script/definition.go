package script

import (
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"assay/load"
	"assay/report"
	"assay/store"
	"assay/store/promise"
	"assay/workload/definition"
)

const Name = "script"

func Definition() definition.Workload {
	return definition.Workload{
		Name: Name, Key: "script", Argument: "script", Several: true,
		Summary: "your own transactions, in Starlark or pgbench's language, with what must hold of them",
		Short:   "Your own transactions, and what must hold of them",
		Long: `Your own transactions, and what must hold of them.

FILE is a script in Starlark, whose syntax is Python's, or in pgbench's language.
Several of these are chosen from by weight (FILE@WEIGHT). A script in Starlark
declares tables and rows, weighted transactions, and what must hold: invariants,
numbers or lists of rows, and answers. A script in pgbench's language declares what
must hold in comments, and its tables in --setup. docs/guides/my-transaction.md has
all of it.

Everything is in a schema of assay's own. assay refuses a statement that names another.`,
		Example: `  assay run script examples/bank.star
  assay run script examples/bank.star --db postgres://user@localhost/test --isolation 'read committed'
  assay run script examples/bank-mongodb.star --cluster mongodb:1
  assay run script examples/pgbench.sql --setup examples/pgbench-setup.sql --define scale=1
  assay run script examples/pgbench.sql@3 examples/pgbench-select.sql@7 --setup examples/pgbench-setup.sql --define scale=1`,
		Checks: []definition.Check{
			{Name: CheckInvariants, Asserts: "Each invariant that the script declares held in every state that was looked at while transactions went on, and at the end.", Tests: promise.Invariant},
			{Name: CheckCounted, Asserts: "There are as many rows as the acknowledged transactions must have left, and no more than those and the unknown ones can have. Each transaction has left all of its rows or none.",
				Kinds: map[string]promise.Property{"lost": promise.Durability, "surplus": promise.Atomicity, kindHalf: promise.Atomicity}},
			{Name: CheckListed, Asserts: "Each operation that took effect has left its own rows, with its identifiers, and nobody else any; one that ended unknown has left all of its rows or none.",
				Kinds: map[string]promise.Property{"lost": promise.Durability, "surplus": promise.Atomicity, kindHalf: promise.Atomicity}},
			{Name: CheckExpected, Asserts: "Each answer that a transaction which committed had expected was so.", Tests: promise.Invariant},
		},
		Schema:     schemaOn,
		Needs:      []store.Need{{Capability: store.Language}, {Capability: store.Transactions}},
		Config:     func() definition.Config { c := Defaults(); return &c },
		Bugs:       Bugs(),
		State:      FileState,
		Operations: map[uint8]string{KindObserve: "observation"},
		Measures:   func(kind uint8) bool { return kind != KindObserve },
		SizeLoaded: true,
	}
}

func (c *Config) Flags() []definition.Flag {
	return []definition.Flag{
		{Name: "script", Value: c.files(), Usage: "a script, as FILE or FILE@WEIGHT behind the command; several in pgbench's language are chosen from by their weights"},
		{Name: "file", Short: "f", Value: c.files(), Usage: "the same: -f a.sql@3 -f b.sql@7"},
		{Name: "language", Value: (*string)(&c.Language), Values: []string{string(PgbenchLanguage), string(StarlarkLanguage)}, Empty: true, Usage: "what the script is written in, if its content does not tell"},
		{Name: "protocol", Value: (*string)(&c.Protocol), Values: []string{"simple", "extended", "prepared"}, Empty: true, Usage: "how statements in pgbench's language are sent, as pgbench's -M (default simple)"},
		{Name: "setup", Value: file{&c.Setup, &c.SetupText}, Usage: "of a script in pgbench's language: a file of SQL that makes tables and rows"},
		{Name: "define", Value: c.definitions(), Usage: "parameters of the script, such as scale=10,users=500; repeatable"},
		{Name: "observe", Value: &c.Observe, Max: 1000, Range: "0 to 1000 a second", Usage: "how many times a second the invariants are looked at meanwhile; 0 for at the end alone"},
		{Name: "pause", Value: &c.Pause, Max: 1000, Range: "0 to 1000 milliseconds", Usage: "longest pause before each statement of a transaction but the first, in milliseconds, so that transactions meet; 0 for none"},
		{Name: "loaders", Value: &c.Loaders, Min: 1, Max: 256, Usage: "batches of rows that are loaded at the same time"},
		{Name: "allow-foreign", Value: &c.AllowForeign, Usage: "allow statements that name tables outside of assay's schema"},
	}
}

func (c *Config) UseExisting() { c.Existing = true }

func (c *Config) Touched() (read, written []string) {
	p, err := c.compile(0)
	if err != nil {
		return nil, nil // Validate says so
	}
	for i := range p.transactions {
		of := p.transactions[i].texts
		if of == nil {
			continue
		}
		read, written = append(read, of.touches.reads...), append(written, of.touches.writes...)
	}
	_ = p.each(func(_ string, d *declaration, _ *string) error {
		if all, err := wholeTokens(d.query.Text); err == nil {
			tables, _ := tablesOf(all)
			read = append(read, tables...)
		}
		return nil
	})
	slices.Sort(read)
	slices.Sort(written)
	return slices.Compact(read), slices.Compact(written)
}

func (c *Config) Plan(p load.Plan) (load.Plan, error) { return definition.OneIDEach(p) }

func (c *Config) Volume() definition.Volume {
	p, err := c.compile(0)
	if err != nil {
		return definition.Volume{}
	}
	rows, _ := p.rehearsed() // 0 of what cannot be run
	return definition.Volume{Rows: rows, RowBytes: 100, Inserts: 1}
}

func (c *Config) OperationNames() map[uint8]string {
	names := map[uint8]string{KindObserve: "observation"}
	if p, err := c.compile(0); err == nil {
		for i := range p.transactions {
			names[kindOf(i)] = p.transactions[i].name
		}
	}
	return names
}

func (c *Config) Options(definition.Support) []report.Setting {
	var names []string
	for _, of := range c.scripts() {
		names = append(names, filepath.Base(of.File))
	}
	all := []report.Setting{{Name: "script", Value: strings.Join(names, ", ")}}
	if p, err := c.compile(0); err == nil {
		var mix []string
		for i := range p.transactions {
			mix = append(mix, fmt.Sprintf("%s %d", p.transactions[i].name, p.transactions[i].weight))
		}
		all = append(all, report.Setting{Name: "mix", Value: strings.Join(mix, ", ")},
			report.Setting{Name: "judged", Value: fmt.Sprintf("%d invariants, %d counts", len(p.invariants), len(p.counts))})
	}
	if of, err := c.languageOfScripts(); err == nil && of == PgbenchLanguage {
		all = append(all, report.Setting{Name: "protocol", Value: string(c.protocol())})
	}
	if c.Define != "" {
		all = append(all, report.Setting{Name: "define", Value: c.Define})
	}
	all = append(all, report.Setting{Name: "observations", Value: strconv.FormatFloat(c.Observe, 'g', -1, 64) + "/s"})
	if c.Pause > 0 {
		all = append(all, report.Setting{Name: "pause", Value: strconv.FormatFloat(c.Pause, 'g', -1, 64) + " ms at the most"})
	}
	if c.AllowForeign {
		all = append(all, report.Setting{Name: "allow foreign", Value: "true"})
	}
	return all
}
