package runner

import (
	"assay/cluster"
	"assay/servers"
)

// serverTime is the processor time in seconds that the processes of the run's
// own servers have used so far, those that they have started and waited for
// included; 0 if there are none, or if the system does not tell.
func (r *run) serverTime() float64 { return servers.ProcessTime(r.serverProcesses()) }

// serverProcesses are the processes of the run's own servers.
func (r *run) serverProcesses() (all []int) {
	if r.cluster == nil {
		return nil
	}
	for _, node := range r.cluster.Nodes() {
		all = append(all, processesOf(node)...)
	}
	return all
}

// processesOf are the processes of a node; none if it is down.
func processesOf(node *cluster.Node) (all []int) {
	family, err := node.Processes()
	if err != nil {
		return nil
	}
	for _, process := range family {
		all = append(all, process.PID)
	}
	return all
}
