package main

import (
	"github.com/spf13/cobra"

	"assay/runner"
	"assay/workload/bulkupdate"
)

func addBulkUpdate(cmd *cobra.Command, c *bulkupdate.Config) {
	flags := cmd.Flags()
	flags.Int64Var(&c.Users, "users", c.Users, "how many users there are; each is one task of a round")
	flags.Int64Var(&c.Documents, "documents", c.Documents, "how many documents each user has; a task updates all of them")
	flags.StringVar(&c.Workers, "workers", c.Workers, "how many workers share the tasks, a round each: numbers and ranges, such as 1..30 or 1,5,15,30")
	flags.StringVar(&c.Field, "field", c.Field, "the boolean at first: off, alternate or random")
	flags.IntVar(&c.Loaders, "loaders", c.Loaders, "batches of documents that are loaded at the same time")
}

func newRunBulkUpdate(version string) *cobra.Command {
	f := newRunFlags(bulkupdate.Name)
	cmd := &cobra.Command{
		Use:   bulkupdate.Name,
		Short: "All documents of a user updated at once, by more and more workers; task times and lock waits",
		Long: `All documents of a user updated by one statement, by more and more workers.

In each round there is one task for each user: set a boolean in all of the
user's documents. So many workers share the tasks; told are the time of each
task, of all of them, and what the server says of its locks and queues
meanwhile. Every document is checked afterwards: it must be as the last update
that was acknowledged has left it, and none may have reached a part only.`,
		Example: `  assay run bulkupdate
  assay run bulkupdate --cluster mongodb:1 --users 200 --documents 1000 --workers 1,5,15,30
  assay run bulkupdate --cluster mariadb:1 --users 1000 --documents 5000 --workers 1..30`,
	}
	return f.complete(cmd, version, useless{
		flags: []string{"clients", "rate", "arrivals", "duration", "ops", "warmup", "ramp"},
		why:   "has no meaning in this workload: --workers says how many work, --users how much there is to do",
	}, func(s *runner.Scenario) { s.Load = bulkupdate.Plan(s.BulkUpdate, s.Load) })
}
