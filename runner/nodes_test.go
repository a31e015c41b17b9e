package runner

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

// TestNodesShareTheMachine: five nodes on two processors do not have ten.
func TestNodesShareTheMachine(t *testing.T) {
	five := report.Cluster{Nodes: make([]report.ClusterNode, 5)}
	here := Environment{CPUs: 2, MemoryBytes: 8 << 30}
	var d report.Database
	describeNodes(&d, &five, here)
	if !d.SharedCPUs || !d.SharedMemory || *d.CPUsPerNode != 2 {
		t.Errorf("%+v", d)
	}
	for i := range five.Nodes {
		five.Nodes[i].CPU = 0.5
	}
	d = report.Database{}
	describeNodes(&d, &five, here)
	if d.SharedCPUs || !d.SharedMemory || *d.CPUsPerNode != 0.5 {
		t.Errorf("with limits: %+v", d)
	}
	one := report.Cluster{Nodes: make([]report.ClusterNode, 1)}
	d = report.Database{}
	if describeNodes(&d, &one, here); d.SharedCPUs || d.SharedMemory {
		t.Errorf("one node: %+v", d)
	}
}
