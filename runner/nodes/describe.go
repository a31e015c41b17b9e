package nodes

import (
	"slices"

	"assay/report"
)

// Describe enters the nodes, their limits and what they share into the description of a database.
// cpus and memory (in bytes) are this machine's. Nothing is known of the user's own machines but
// their number. Without a system, the database's own words stay.
func (s *System) Describe(d *report.Database, cpus int, memory uint64) {
	switch {
	case s.Pods != nil:
		describePods(d, s.Described.Nodes)
	case s.Hosts != nil:
		d.Nodes = report.Known(len(s.Described.Nodes))
	case s.Described != nil:
		describeNodes(d, s.Described, cpus, memory)
	}
}

// describeNodes describes servers that assay has started. A server does not see its own limits:
// it reports the machine's memory, if any. Nodes without limits share this machine.
func describeNodes(d *report.Database, c *report.Cluster, cpus int, memory uint64) {
	arbiters := 0
	for _, n := range c.Nodes {
		if n.Arbiter {
			arbiters++
		}
	}
	d.Nodes, d.Arbiters = report.Known(len(c.Nodes)), &arbiters
	limits := c.Nodes[0] // the same for all
	several := len(c.Nodes) > 1
	d.SharedCPUs, d.SharedMemory = several && limits.CPU == 0, several && limits.Memory == 0
	if d.CPUsPerNode = report.Known(float64(cpus)); limits.CPU > 0 && limits.CPU < float64(cpus) {
		d.CPUsPerNode = &limits.CPU
	}
	if d.MemoryPerNode = report.Known(int64(memory)); limits.Memory > 0 && limits.Memory < int64(memory) {
		d.MemoryPerNode = &limits.Memory
	}
}

// describePods enters the smallest limits of the pods. Without a limit they are unknown, since
// they depend on the machine and on what else runs there.
func describePods(d *report.Database, nodes []report.ClusterNode) {
	d.Nodes = report.Known(len(nodes))
	least := func(of func(report.ClusterNode) float64) float64 {
		var all []float64
		for _, n := range nodes {
			all = append(all, of(n))
		}
		return slices.Min(all)
	}
	disk := func(n report.ClusterNode) (bytes float64) {
		for _, v := range n.Pod.Volumes {
			bytes += float64(v.Bytes)
		}
		return bytes
	}
	d.CPUsPerNode = report.Known(least(func(n report.ClusterNode) float64 { return n.CPU }))
	d.MemoryPerNode = report.Known(int64(least(func(n report.ClusterNode) float64 { return float64(n.Memory) })))
	d.DiskPerNode = report.Known(int64(least(disk)))
}
