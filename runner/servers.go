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

// FileServers is the file in a run's folder with the observations of the servers.
const FileServers = "servers.jsonl"

const testerName = "assay"

// watchServers observes the servers from start on. Failures leave gaps or notes, and never
// affect the run.
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

// serverSources are assay itself and either the nodes of the run's cluster, or the servers of
// the address on this machine. why says why a server is missing.
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

func serverCharts(folder string) report.ServerCharts {
	record, err := servers.Read(filepath.Join(folder, FileServers))
	if err != nil || record == nil {
		return report.ServerCharts{}
	}
	return report.ServerCharts{At: record.Intervals(), Charts: record.Charts()}
}
