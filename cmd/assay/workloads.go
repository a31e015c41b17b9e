package main

import (
	"github.com/spf13/cobra"

	"assay/workload/availability"
	"assay/workload/bank"
	"assay/workload/bulkupdate"
	"assay/workload/candles"
	"assay/workload/churn"
	"assay/workload/entity"
	"assay/workload/isolation"
)

// addWorkload adds the flags that belong to the scenario's workload alone.
func (f *runFlags) addWorkload(cmd *cobra.Command) {
	switch f.scenario.Workload {
	case isolation.Name:
		addIsolation(cmd, &f.scenario.Transactions)
	case availability.Name:
		addAvailability(cmd, &f.scenario.Availability)
	case entity.Name:
		addEntity(cmd, &f.scenario.Entity)
	case candles.Name:
		addCandles(cmd, &f.scenario.Candles)
	case bulkupdate.Name:
		addBulkUpdate(cmd, &f.scenario.BulkUpdate)
	case churn.Name:
		addChurn(cmd, &f.scenario.Churn)
	default:
		addBank(cmd, &f.scenario.Bank)
	}
}

func addAvailability(cmd *cobra.Command, c *availability.Config) {
	flags := cmd.Flags()
	flags.StringVar((*string)(&c.Policy), "policy", string(c.Policy), "what the client does about calls that fail or hang: none, timeout, retry or idempotent")
	flags.StringVar(&c.Read, "read", c.Read, "which member answers reads: primary, secondary-preferred or nearest")
	flags.IntVar(&c.Readers, "readers", c.Readers, "how many clients read beside the writers")
	flags.Float64Var(&c.ReadRate, "read-rate", c.ReadRate, "reads a second over all readers; 0 for none")
}

func newRunAvailability(version string) *cobra.Command {
	f := newRunFlags(availability.Name)
	f.scenario.Load = availability.LoadDefaults()
	cmd := &cobra.Command{
		Use:   availability.Name,
		Short: "Inserts and reads at a set rate while nodes fail; hangs, outages and losses are told",
		Long: `Inserts and reads at a set rate under a client's policy, while nodes fail.

Writers insert rows, readers read back what was acknowledged. The policy is what
the application does: none (no time limit), timeout, retry (repeat whatever did
not succeed) or idempotent (repeat it under an id made by the client, and take a
duplicate for success). Told are the longest call, how long writes and reads
were away at each fault, acknowledged writes that are lost, rows that are there
twice, and reads that came too late.`,
		Example: `  assay run availability --cluster mongodb:3 --fault 'kill primary at 10s'
  assay run availability --cluster mongodb:3 --policy none --fault 'isolate primary at 10s for 30s'
  assay run availability --cluster postgres:3 --policy idempotent --read secondary-preferred \
    --fault 'pause primary at 10s for 20s'`,
	}
	return f.complete(cmd, version, useless{
		flags: []string{"retry", "max-attempts"},
		why:   "is decided by --policy in this workload",
	}, nil)
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
	f := newRunFlags(isolation.Name)
	cmd := &cobra.Command{
		Use:   isolation.Name,
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
	}
	return f.complete(cmd, version, useless{}, nil)
}
