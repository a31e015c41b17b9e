package cluster

import (
	"context"

	"assay/quantity"
)

var _ product = (*Cassandra)(nil)

func cassandraTopology() topology {
	return topology{
		name: "cassandra", nodes: []int{1, 2, 3, 4, 5, 6}, arbiters: []int{0},
		options: []option{
			{name: "heap", want: "heap=SIZE of at least 128MiB, each node's Java heap", check: aHeap},
			{name: "commitlog", want: "commitlog=periodic (acknowledged writes reach the disk up to ten seconds later) or commitlog=batch (before they are acknowledged)",
				check: oneOf(commitLogPeriodic, commitLogBatch)},
		},
	}
}

func aHeap(v string) bool {
	n, err := quantity.Parse(v)
	return err == nil && n >= minHeap
}

// startCassandraCluster starts a ring with Cassandra's own settings, unless the
// spec says otherwise.
func startCassandraCluster(ctx context.Context, at place) (product, error) {
	c, err := StartCassandra(ctx, CassandraOptions{
		Programs: at.programs, Nodes: at.spec.Nodes, Machines: at.machines, Dir: at.dir, LogDir: at.logs,
		Heap: cassandraHeap(at.spec), CommitLog: at.spec.Options["commitlog"],
	})
	if err != nil {
		return nil, err
	}
	return c, nil
}

// cassandraHeap is what was asked for, or what Cassandra would take of a
// machine with the memory that each node has (conf/cassandra-env.sh: the larger
// of half of it, up to 1 GiB, and a quarter of it, up to 8 GiB). Java itself sees
// this machine's memory, not always the limit, and not the other nodes.
func cassandraHeap(s Spec) int64 {
	if size := s.size("heap"); size > 0 {
		return size
	}
	memory := s.memory()
	if memory < 1<<30 { // half of it would leave too little for the rest of Java
		return defaultHeap
	}
	return max(min(memory/2, 1<<30), min(memory/4, 8<<30))
}

// Primary implements product: there is none.
func (c *Cassandra) Primary(context.Context) (int, error) {
	return 0, &NoPrimaryError{Product: "Cassandra"}
}
