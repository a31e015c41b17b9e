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
	"assay/runner/nodes"
)

// FileServers is the file in a run's folder with the observations of the servers.
const FileServers = "servers.jsonl"

const testerName = "assay"

// watch observes this machine and the servers from start on. Failures leave gaps or notes, and
// never affect the run.
func (r *run) watch(ctx context.Context, start time.Time, rounds bool) (stop func()) {
	who := participants{started: r.system.Started, embedded: r.result.Database.Embedded, address: r.address, testers: r.options.Agents.processes}
	machine := watchMachine(ctx, r.scenario.Load, start, rounds, who.database)
	ending := func() error { return nil }
	if !r.scenario.NoServerStats {
		of := servers.Sources{}
		of.Nodes, of.NoNodes = who.sources()
		of.Account, of.NoAccount = r.account(ctx)
		ending = servers.Watch(ctx, filepath.Join(r.folder, FileServers), start, of)
	}
	return func() {
		if err := ending(); err != nil {
			r.note(err.Error())
		}
		r.options.Monitor.Clients(0)
		r.options.Monitor.Phase(PhaseSettling)
		if u := machine(); u != nil {
			r.result.Machine = u
		} else if runtime.GOOS != "linux" {
			r.note("what else worked on this machine is not known: only Linux tells")
		}
	}
}

// participants are the processes on this machine that take part in a run.
type participants struct {
	started  *nodes.Nodes // nil for none of the run's own
	embedded bool
	address  string
	// testers are assay's processes beside this one.
	testers func() []int
}

func (p participants) database() pressure.Database {
	switch {
	case p.started != nil:
		return pressure.Database{Servers: p.started.Processes, Tester: p.testers}
	case p.embedded:
		return pressure.Database{Servers: func() []int { return nil }, Tester: p.testers}
	}
	return pressure.Connected(p.testers)
}

// sources are assay itself and either the nodes of the run's cluster, or the servers of
// the address on this machine. why says why a server is missing.
func (p participants) sources() (sources func() []servers.Source, why string) {
	tester := func() []int { return append(p.testers(), os.Getpid()) }
	cpus := float64(runtime.NumCPU())
	own := servers.Source{Node: servers.Node{Name: testerName, CPUs: float64(runtime.GOMAXPROCS(0)), Shared: true, Tester: true},
		Look: func() (servers.Usage, bool) { return servers.Look(tester(), false) }}
	if p.started != nil {
		others := p.started.Sources()
		return func() []servers.Source { return append([]servers.Source{own}, others()...) }, ""
	}
	if p.embedded {
		return func() []servers.Source { return []servers.Source{own} }, "the database runs inside assay"
	}
	all := []servers.Source{own}
	addresses := hostPorts(p.address)
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
