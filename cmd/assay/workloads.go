package main

import (
	"github.com/spf13/cobra"

	"assay/catalog"
	"assay/workload/bank"
	"assay/workload/isolation"
)

// addWorkload adds the flags that belong to the scenario's workload alone.
func (f *runFlags) addWorkload(cmd *cobra.Command) {
	if f.scenario.Workload == catalog.Isolation {
		addIsolation(cmd, &f.scenario.Transactions)
		return
	}
	addBank(cmd, &f.scenario.Bank)
}

func addBank(cmd *cobra.Command, c *bank.Config) {
	flags := cmd.Flags()
	flags.Int64Var(&c.Accounts, "accounts", c.Accounts, "how many accounts, 2 to 100000000")
	flags.StringVar(&c.Keys, "keys", c.Keys, "how accounts are chosen: uniform or zipf:THETA, such as zipf:0.99")
	flags.Float64Var(&c.Payroll, "payroll", c.Payroll, "share of transfers out of the few corporate accounts, 0 to 1")
	flags.Float64Var(&c.Audits, "audits", c.Audits, "how many times a second accounts are read in one transaction meanwhile; 0 for none")
	flags.IntVar(&c.Loaders, "loaders", c.Loaders, "batches of accounts that are loaded at the same time")
}

func addIsolation(cmd *cobra.Command, c *isolation.Config) {
	flags := cmd.Flags()
	flags.StringVar(&c.Test, "test", c.Test, "what transactions are made of: append, register, predicate, pairs or all")
	flags.StringVar(&c.Model, "model", c.Model, "the consistency model that is judged; what the database promises if not given")
	flags.IntVar(&c.Keys, "keys", c.Keys, "how many lists or registers are in use at the same time")
	flags.IntVar(&c.Length, "length", c.Length, "the most operations of one transaction")
	flags.IntVar(&c.PerKey, "per-key", c.PerKey, "transactions of one client before keys are replaced by new ones")
	flags.BoolVar(&c.Rewrite, "rewrite", c.Rewrite, "append by reading and writing the whole list, as applications often do")
}

func newRunIsolation(version string) *cobra.Command {
	f := newRunFlags(catalog.Isolation)
	cmd := &cobra.Command{
		Use:   catalog.Isolation,
		Short: "Small transactions over shared data; anomalies are found and named",
		Long: `Small transactions over shared data.

Clients append to and read lists (or write and read registers, count groups, keep
a rule over two rows), each transaction at the database's isolation level. From
what they were told, the dependencies between transactions are inferred, and
every anomaly is named in the terms of the literature, with the transactions
that prove it. The verdict is held against what the level promises, or --model.`,
		Example: `  assay run isolation
  assay run isolation --db postgres://user@localhost/test --isolation serializable
  assay run isolation --cluster postgres:1 --rewrite --model snapshot-isolation`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			s, err := f.resolve(cmd)
			if err != nil {
				return err
			}
			return runScenario(cmd, version, s, f)
		},
	}
	f.add(cmd)
	return cmd
}
