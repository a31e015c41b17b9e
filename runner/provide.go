package runner

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"assay/runner/nodes"
	"assay/store"
)

// provide starts the scenario's servers or finds existing ones, and sets the run's system and address.
func (r *run) provide(ctx context.Context) (err error) {
	if r.faults, err = r.scenario.faults(); err != nil {
		return err
	}
	hosts, err := r.scenario.hosts()
	if err != nil {
		return err
	}
	r.address = r.scenario.Database
	r.system, err = nodes.Asked{
		Cluster: r.scenario.Cluster, Kubernetes: r.scenario.Kubernetes, Hosts: hosts, HostsFile: r.scenario.Nodes, Faults: r.faults,
		Programs: r.options.Servers, Shared: r.options.Shared, Stage: r.options.Progress.Stage, Account: func(ctx context.Context) (store.Statistics, string) {
			account, why := r.account(ctx)
			return account, fmt.Sprintf("%s (%s)", r.driver.Name, why)
		},
	}.Provide(ctx)
	if err == nil && r.system.Started != nil {
		r.address = r.system.Started.Address()
	}
	return err
}

// account opens the database's own statistics; see catalog.Driver.OpenStatistics.
func (r *run) account(ctx context.Context) (store.Statistics, string) {
	return r.driver.OpenStatistics(ctx, r.scenario.Workload, store.Target{Address: r.address, ConnectTimeout: r.scenario.ConnectTimeout})
}

const folderLogs = "nodes"

// keepLogs keeps the logs of the servers that the run has used, if it has begun.
func (r *run) keepLogs() error {
	if r.folder == "" || !exists(r.folder, FileScenario) {
		return nil
	}
	return r.system.KeepLogs(filepath.Join(r.folder, folderLogs))
}

// restartable is a workload that restarts its server between rounds.
type restartable interface {
	RestartWith(restart func(ctx context.Context, meanwhile func() error) error)
}

// offerRestart lets the workload restart the run's own single server. A cluster of several
// would hold an election or lose its quorum.
func (r *run) offerRestart() {
	w, wants := r.store.Work.(restartable)
	servers := r.system.Started
	if !wants || servers == nil || len(servers.Nodes()) != 1 {
		return
	}
	node := servers.Nodes()[0]
	w.RestartWith(func(ctx context.Context, meanwhile func() error) error {
		if err := node.Stop(ctx); err != nil {
			return err
		}
		if err := errors.Join(meanwhile(), node.Start(ctx)); err != nil {
			return err
		}
		return servers.Settled(ctx)
	})
}
