package nodes

import (
	"testing"

	"assay/report"
)

// TestNodesUnderLimits: a server reports its machine's memory, not its limit. Several nodes without
// limits share the machine: three on four processors do not have twelve.
func TestNodesUnderLimits(t *testing.T) {
	told := int64(64 << 30)

	limited := report.ClusterNode{Memory: 512 << 20, CPU: 0.5}
	for name, test := range map[string]struct {
		nodes                    []report.ClusterNode
		processor                float64
		memory                   int64
		sharesCPUs, sharesMemory bool
	}{
		"without limits": {make([]report.ClusterNode, 3), 4, 8 << 30, true, true},
		"limited":        {[]report.ClusterNode{limited, limited, {Arbiter: true}}, 0.5, 512 << 20, false, false},
		"above":          {[]report.ClusterNode{{Memory: 16 << 30, CPU: 8}}, 4, 8 << 30, false, false},
		"processors":     {[]report.ClusterNode{{CPU: 0.5}, {CPU: 0.5}}, 0.5, 8 << 30, false, true},
		"one node":       {make([]report.ClusterNode, 1), 4, 8 << 30, false, false},
	} {
		d, arbiters := report.Database{MemoryPerNode: &told}, 0
		if name == "limited" {
			arbiters = 1
		}
		describeNodes(&d, &report.Cluster{Nodes: test.nodes}, 4, 8<<30)
		if *d.Nodes != len(test.nodes) || *d.Arbiters != arbiters || *d.CPUsPerNode != test.processor || *d.MemoryPerNode != test.memory ||
			d.SharedCPUs != test.sharesCPUs || d.SharedMemory != test.sharesMemory {
			t.Errorf("%s: %d nodes, %d arbiters, %v processors, %d bytes, %+v", name, *d.Nodes, *d.Arbiters, *d.CPUsPerNode, *d.MemoryPerNode, d)
		}
	}
}
