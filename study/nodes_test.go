package study

import (
	"testing"

	"assay/report"
)

// TestNodesUnderLimits: a server tells the memory of its machine, not that which
// it may use.
func TestNodesUnderLimits(t *testing.T) {
	told := int64(64 << 30)
	here := Environment{CPUs: 4, MemoryBytes: 8 << 30}
	for name, test := range map[string]struct {
		node      report.ClusterNode
		processor float64
		memory    int64
	}{
		"without limits": {report.ClusterNode{}, 4, 8 << 30},
		"limited":        {report.ClusterNode{Memory: 512 << 20, CPU: 0.5}, 0.5, 512 << 20},
		"above":          {report.ClusterNode{Memory: 16 << 30, CPU: 8}, 4, 8 << 30},
	} {
		d := report.Database{MemoryPerNode: &told}
		describeNodes(&d, &report.Cluster{Nodes: []report.ClusterNode{test.node, test.node, {Arbiter: true}}}, here)
		if *d.Nodes != 3 || *d.Arbiters != 1 || *d.CPUsPerNode != test.processor || *d.MemoryPerNode != test.memory {
			t.Errorf("%s: %d nodes, %d arbiters, %v processors, %d bytes", name, *d.Nodes, *d.Arbiters, *d.CPUsPerNode, *d.MemoryPerNode)
		}
	}
}
