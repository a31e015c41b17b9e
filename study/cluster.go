package study

import (
	"context"
	"errors"
	"fmt"

	"assay/cluster"
	"assay/workload"
)

// clusterSpecs lists what provide can start.
const clusterSpecs = "postgres:1, mongodb:1, mongodb:3"

// provide starts the servers that Options.Cluster asks for and sets the
// scenario's address. The returned function stops them and removes their data.
func (r *run) provide(ctx context.Context) (stop func() error, err error) {
	if r.options.Cluster == "" {
		return func() error { return nil }, nil
	}
	r.options.Progress.Stage("starting " + r.options.Cluster)
	switch r.options.Cluster {
	case "postgres:1":
		p, err := cluster.StartPostgres(ctx, cluster.PostgresOptions{})
		if err != nil {
			return nil, fmt.Errorf("start %s: %w", r.options.Cluster, err)
		}
		r.scenario.Database = p.Address()
		return p.Close, nil
	case "mongodb:1", "mongodb:3":
		nodes := 1
		if r.options.Cluster == "mongodb:3" {
			nodes = 3
		}
		m, err := cluster.StartMongoDB(ctx, cluster.MongoDBOptions{Nodes: nodes})
		if err != nil {
			return nil, fmt.Errorf("start %s: %w", r.options.Cluster, err)
		}
		if _, err := m.WaitPrimary(ctx); err != nil {
			return nil, errors.Join(fmt.Errorf("start %s: %w", r.options.Cluster, err), m.Close())
		}
		r.scenario.Database = m.Address()
		return m.Close, nil
	default:
		return nil, &workload.OptionError{Option: "--cluster", Value: r.options.Cluster, Want: clusterSpecs}
	}
}
