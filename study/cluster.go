package study

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"assay/cluster"
	"assay/workload"
)

// clusterSpecs lists what provide can start.
func clusterSpecs() []string { return []string{"postgres:1", "mongodb:1", "mongodb:3"} }

// provide starts the servers that Options.Cluster asks for and sets the
// scenario's address. The returned function stops them and removes their data.
func (r *run) provide(ctx context.Context) (stop func() error, err error) {
	spec := r.scenario.Cluster
	if spec == "" {
		return func() error { return nil }, nil
	}
	r.options.Progress.Stage("starting " + spec)
	switch spec {
	case "postgres:1":
		p, err := cluster.StartPostgres(ctx, cluster.PostgresOptions{})
		if err != nil {
			return nil, fmt.Errorf("start %s: %w", spec, err)
		}
		r.address = p.Address()
		return p.Close, nil
	case "mongodb:1", "mongodb:3":
		nodes := 1
		if spec == "mongodb:3" {
			nodes = 3
		}
		m, err := cluster.StartMongoDB(ctx, cluster.MongoDBOptions{Nodes: nodes})
		if err != nil {
			return nil, fmt.Errorf("start %s: %w", spec, err)
		}
		if _, err := m.WaitPrimary(ctx); err != nil {
			return nil, errors.Join(fmt.Errorf("start %s: %w", spec, err), m.Close())
		}
		r.address = m.Address()
		return m.Close, nil
	default:
		return nil, validateCluster(spec)
	}
}

func validateCluster(spec string) error {
	if spec == "" || slices.Contains(clusterSpecs(), spec) {
		return nil
	}
	return &workload.OptionError{Option: "--cluster", Value: spec, Want: strings.Join(clusterSpecs(), ", ")}
}
