package runner

import (
	"context"
	"errors"
	"path/filepath"

	"assay/cluster"
	"assay/fault"
	"assay/runner/nodes"
)

const folderLogs = "nodes"

// provide starts the scenario's servers, or finds existing ones, and sets the run's address.
// stop keeps the logs of started servers, ends them and removes their data.
func (r *run) provide(ctx context.Context) (stop func() error, err error) {
	if IsManifest(r.scenario.Cluster) {
		return r.apply(ctx)
	}
	if r.scenario.Kubernetes != "" {
		return r.attach(ctx)
	}
	if r.scenario.Nodes != "" {
		return r.attachHosts()
	}
	if r.scenario.Cluster == "" {
		return func() error { return nil }, nil
	}
	if r.options.Shared != nil {
		return r.workOn(ctx, r.options.Shared, r.options.Shared.Logged())
	}
	spec, err := cluster.ParseSpec(r.scenario.Cluster)
	if err != nil {
		return nil, err
	}
	faults, err := r.scenario.faults()
	if err != nil {
		return nil, err
	}
	spec = fault.WithMeans(spec, faults)
	r.options.Progress.Stage("starting " + spec.String())
	own, err := nodes.Start(ctx, spec, r.options.Servers)
	if err != nil {
		return nil, err
	}
	keep, err := r.workOn(ctx, own, nil)
	if err != nil {
		return nil, errors.Join(err, own.Close())
	}
	return func() error { return errors.Join(keep(), own.Close()) }, nil
}

// workOn has the run use these servers. keep saves their logs if the run has a folder, each log
// from its offset in logged on, in bytes.
func (r *run) workOn(ctx context.Context, servers *nodes.Nodes, logged map[string]int64) (keep func() error, err error) {
	if err := r.scenario.refuseFaults(ctx, fault.Servers(servers.Cluster)); err != nil {
		return nil, err
	}
	r.cluster, r.address, r.nodes = servers, servers.Address(), servers.Report()
	return func() error {
		if r.folder == "" || !exists(r.folder, FileScenario) {
			return nil
		}
		return servers.KeepLogs(filepath.Join(r.folder, folderLogs), logged)
	}, nil
}

// refuseFaults refuses, before anything is loaded, faults that cannot be done there.
func (s Scenario) refuseFaults(ctx context.Context, there fault.System) error {
	faults, err := s.faults()
	if err != nil || len(faults) == 0 {
		return err
	}
	return fault.Validate(ctx, faults, there)
}

// restartable is a workload that restarts its server between rounds.
type restartable interface {
	RestartWith(restart func(ctx context.Context, meanwhile func() error) error)
}

// offerRestart lets the workload restart the run's own single server. A cluster of several
// would hold an election or lose its quorum.
func (r *run) offerRestart() {
	w, wants := r.store.Work.(restartable)
	if !wants || r.cluster == nil || len(r.cluster.Nodes()) != 1 {
		return
	}
	node := r.cluster.Nodes()[0]
	w.RestartWith(func(ctx context.Context, meanwhile func() error) error {
		if err := node.Stop(ctx); err != nil {
			return err
		}
		if err := errors.Join(meanwhile(), node.Start(ctx)); err != nil {
			return err
		}
		return r.cluster.Settled(ctx)
	})
}
