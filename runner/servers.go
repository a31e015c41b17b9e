package runner

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"time"

	"assay/cluster"
	"assay/internal/procfs"
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
	if c := r.cluster; c != nil {
		return func() []servers.Source {
			all, seen := []servers.Source{own}, procfs.Now()
			for _, n := range c.Servers() {
				all = append(all, nodeSource(n, seen, cpus))
			}
			return all
		}, ""
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

// nodeSource is a node of a cluster, which may have processors of its own, with its processes
// among those that were seen.
func nodeSource(n *cluster.Node, seen procfs.Table, cpus float64) servers.Source {
	limits := n.Machine().Limits()
	of := servers.Node{Name: n.Name(), CPUs: cpus, Shared: true, MemoryLimit: limits.Memory, DiskWriteLimit: limits.DiskWrite}
	switch {
	case n.Role() == cluster.RolePooler: // one thread does its work
		of.CPUs = 1
	case limits.CPU > 0 && limits.CPU < cpus:
		of.CPUs, of.Shared = limits.CPU, false
	}
	return servers.Source{Node: of, Look: func() (servers.Usage, bool) {
		return servers.Look(processesOf(n, seen), n.Machine().Apart())
	}}
}

// enterServers enters what the servers were doing, as far as the folder has it. A file
// that cannot be read costs this part of the report alone.
func enterServers(folder string, r *report.Result) {
	r.Servers = nil
	record, err := servers.Read(filepath.Join(folder, FileServers))
	if err != nil {
		r.Notes = append(r.Notes, fmt.Sprintf("what the servers were doing is not known: %v", err))
		return
	}
	if record == nil {
		return // of an earlier version, or it was not asked for
	}
	c := servers.Conditions{
		From: r.Series.MeasureStart, To: r.Series.MeasureEnd, OpenLoop: r.Load.Loop == "open", Unserved: r.Load.Unserved,
		Clients: clientsOf(r), TesterShare: r.Client.CPUShare, TesterCPUs: r.Client.CPUs,
	}
	if r.Database.Embedded {
		c.Embedded = r.Database.Product
	}
	if m := r.Machine; m != nil {
		c.Machine = &servers.Machine{CPUs: m.CPUs, Tester: m.Tester, Servers: m.Servers + m.Perhaps, Others: m.Others + m.Unseen, Steal: m.Steal}
	}
	for _, f := range r.Faults {
		if f.Skipped {
			continue
		}
		until := f.HealedSecond
		if until == 0 {
			until = c.To
		}
		c.Faults = append(c.Faults, [2]float64{f.InjectedSecond, max(until, f.InjectedSecond+f.RecoveredAfter/1000)})
	}
	summary := servers.Summarize(record, c)
	r.Servers = &summary
}

// clientsOf is how many clients worked at once.
func clientsOf(r *report.Result) int {
	if len(r.Rounds) > 0 {
		return clientsAtOnce(r)
	}
	return r.Load.Clients
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

// serverTime is the processor time in seconds that the processes of the run's
// own servers have used so far, those that they have started and waited for
// included; 0 if there are none, or if the system does not tell.
func (r *run) serverTime() float64 { return servers.ProcessTime(r.serverProcesses()) }

// serverProcesses are the processes of the run's own servers.
func (r *run) serverProcesses() (all []int) {
	if r.cluster == nil {
		return nil
	}
	seen := procfs.Now()
	for _, node := range r.cluster.Servers() {
		all = append(all, processesOf(node, seen)...)
	}
	return all
}

// processesOf are the processes of a node among those that were seen; none if it is down.
func processesOf(node *cluster.Node, seen procfs.Table) (all []int) {
	for _, p := range seen.Tree(node.PID()) {
		if !p.Ended() {
			all = append(all, p.PID)
		}
	}
	return all
}
