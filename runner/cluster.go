package runner

import (
	"context"
	"errors"
	"path/filepath"

	"assay/cluster"
	"assay/fault"
	"assay/runner/nodes"
)

// folderLogs is the folder of the nodes' logs within a run's folder.
const folderLogs = "nodes"

// provide starts the servers that the scenario asks for and sets the run's
// address. The returned function keeps their logs, ends them and removes their
// data.
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

// workOn has the run work on servers. The returned function keeps their logs, each from this many bytes
// on, if the run has a folder by then.
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

// refuseFaults says before anything is loaded which of the faults cannot be
// done there.
func (s Scenario) refuseFaults(ctx context.Context, there fault.System) error {
	faults, err := s.faults()
	if err != nil || len(faults) == 0 {
		return err
	}
	return fault.Validate(ctx, faults, there)
}

// restartable is a workload that wants its servers restarted between rounds.
type restartable interface {
	RestartWith(restart func(ctx context.Context, meanwhile func() error) error)
}

// offerRestart lets the workload restart the server, if there is one and it is
// the run's own. A cluster of several would elect or lose its quorum.
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
