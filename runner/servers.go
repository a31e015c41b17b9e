package runner

import (
	"context"
	"os"
	"path/filepath"
	"runtime"
	"time"

	"assay/measure/pressure"
	"assay/measure/servers"
	"assay/report"
	"assay/store"
)

// FileServers is, in a run's folder, what the servers were doing.
const FileServers = "servers.jsonl"

// testerName is what charts call assay itself.
const testerName = "assay"

// watchServers keeps what the servers are doing, from start until the returned function
// is called. It has no effect on the run: what goes wrong is a gap, or a note.
func (r *run) watchServers(ctx context.Context, start time.Time) (stop func()) {
	if r.scenario.NoServerStats {
		return func() {}
	}
	of := servers.Sources{}
	of.Nodes, of.NoNodes = r.serverSources()
	of.Account, of.NoAccount = r.driver.OpenStatistics(ctx, r.scenario.Workload,
		store.Target{Address: r.address, ConnectTimeout: r.scenario.ConnectTimeout})
	ending := servers.Watch(ctx, filepath.Join(r.folder, FileServers), start, of)
	return func() {
		if err := ending(); err != nil {
			r.note(err.Error())
		}
	}
}

// serverSources are the nodes of the run's own cluster, or the servers of the address
// that run on this machine, and assay itself. why is why there is no server among them.
func (r *run) serverSources() (sources func() []servers.Source, why string) {
	tester := func() []int { return append(r.options.Agents.processes(), os.Getpid()) }
	cpus := float64(runtime.NumCPU())
	own := servers.Source{Node: servers.Node{Name: testerName, CPUs: float64(runtime.GOMAXPROCS(0)), Shared: true, Tester: true},
		Look: func() (servers.Usage, bool) { return servers.Look(tester(), false) }}
	if r.cluster != nil {
		others := r.cluster.Sources()
		return func() []servers.Source { return append([]servers.Source{own}, others()...) }, ""
	}
	if r.result.Database.Embedded {
		return func() []servers.Source { return []servers.Source{own} }, "the database runs inside assay"
	}
	all := []servers.Source{own}
	addresses := hostPorts(r.address)
	if len(addresses) == 0 {
		why = "the address names no host and port"
	}
	for _, address := range addresses {
		processes, unknown := pressure.ServerAt(address)
		if unknown != "" {
			why = unknown
			continue
		}
		all = append(all, servers.Source{Node: servers.Node{Name: address, CPUs: cpus, Shared: true},
			Look: func() (servers.Usage, bool) { return servers.Look(processes(), false) }})
	}
	return func() []servers.Source { return all }, why
}

// serverCharts are the charts of what the servers were doing; none where that is not
// known, of which the result tells.
func serverCharts(folder string) report.ServerCharts {
	record, err := servers.Read(filepath.Join(folder, FileServers))
	if err != nil || record == nil {
		return report.ServerCharts{}
	}
	return report.ServerCharts{At: record.Intervals(), Charts: record.Charts()}
}
