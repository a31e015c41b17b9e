package main

import (
	"github.com/spf13/cobra"

	"assay/runner"
	"assay/workload/churn"
)

func addChurn(cmd *cobra.Command, c *churn.Config) {
	flags := cmd.Flags()
	flags.Int64Var(&c.Rows, "rows", c.Rows, "how many rows there are when the table is full")
	flags.IntVar(&c.RowBytes, "row-bytes", c.RowBytes, "length of a row's payload")
	flags.Float64Var(&c.DeleteShare, "delete-share", c.DeleteShare, "share of the rows that each deletion takes, more than 0, at most 1")
	flags.Int64Var(&c.Cycles, "cycles", c.Cycles, "how many times rows are deleted and filled in again")
	flags.Int64Var(&c.Batch, "batch", c.Batch, "most rows that one statement inserts or deletes")
	flags.BoolVar(&c.Repair, "repair", c.Repair, "run the database's own repair at the end: vacuum, compact or optimize")
}

func newRunChurn(version string) *cobra.Command {
	f := newRunFlags(churn.Name)
	cmd := &cobra.Command{
		Use:   churn.Name,
		Short: "Rows deleted and filled in again; size on disk over time, and what a repair gives back",
		Long: `Rows deleted and filled in again, and what they take on disk meanwhile.

The table is filled, a share of its rows is deleted and as many new ones are
filled in, --cycles times over; then the database's own repair is run, in rounds
of its own. The size on disk is asked for after each round. In the end exactly
the rows that should be there must be there, as they were inserted.`,
		Example: `  assay run churn
  assay run churn --cluster mongodb:1 --rows 200000 --cycles 5
  assay run churn --cluster postgres:1 --delete-share 0.9 --timeout 5m`,
	}
	return f.complete(cmd, version, useless{
		flags: []string{"rate", "arrivals", "duration", "ops", "warmup", "ramp"},
		why:   "has no meaning in this workload: --rows and --cycles say how much there is to do",
	}, func(s *runner.Scenario) { s.Load = churn.Plan(s.Churn, s.Load) })
}
