package main

import (
	"github.com/spf13/cobra"

	"assay/workload/entity"
)

func addEntity(cmd *cobra.Command, c *entity.Config) {
	flags := cmd.Flags()
	flags.Float64Var(&c.WriteShare, "write-share", c.WriteShare, "share of operations that write, 0 to 1; the others read")
	flags.Int64Var(&c.Entities, "entities", c.Entities, "how many entities are there before the run")
}

func newRunEntity(version string) *cobra.Command {
	f := newRunFlags(entity.Name)
	f.scenario.Load = entity.LoadDefaults()
	cmd := &cobra.Command{
		Use:   entity.Name,
		Short: "Entities of seven fields, written and read by their id, directly or through a web service",
		Long: `Entities of seven fields, written and read by their id.

Clients write entities with realistic values and read those that anybody was
acknowledged, in the mix that --write-share says. Every read is compared with
what was written, field by field, and every acknowledged entity must be there in
the end as it was written. Told are writes and reads a second, and the point at
which the throughput falls for good, if there is one. The database is met
directly, or through the web service that assay serve offers (--db http://...).
How many nodes have to answer is an option of the database's address.`,
		Example: `  assay run entity
  assay run entity --cluster cassandra:3 --option consistency=one --clients 100 --ramp 1/s --warmup 15s --duration 2m
  assay run entity --db http://127.0.0.1:8080 --write-share 0`,
	}
	return f.complete(cmd, version, useless{}, nil)
}
