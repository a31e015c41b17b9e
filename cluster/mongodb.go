package cluster

import (
	"context"
	"fmt"
	"time"

	"assay/cluster/mongodb"
)

// mongodbEntry starts a replica set with MongoDB's own timing, unless the spec
// says otherwise.
func mongodbEntry() entry {
	return entry{
		topology: topology{
			name: "mongodb", nodes: []int{1, 2, 3, 5, 7}, arbiters: []int{0, 1},
			options: []option{
				{name: "election", want: "election=DURATION, such as 2s (settings.electionTimeoutMillis)", check: aDuration},
				{name: "cache", want: "cache=SIZE of at least 256MiB, WiredTiger's on each node", check: aSize},
				{name: "shutdown", want: "shutdown=DURATION, such as 1s, how long a member that ends in order lets its clients go (shutdownTimeoutMillisForSignaledShutdown, 15s)", check: aDuration},
				{name: "oplog", want: "oplog=SIZE, such as 512MiB", check: aSize},
			},
		},
		footprint: Footprint{Start: 3 * time.Second, Empty: 320 << 20},
		start: func(ctx context.Context, s Spec, e environment) (product, error) {
			election := s.duration("election")
			var args []string
			if shutdown := s.duration("shutdown"); shutdown > 0 {
				args = []string{"--setParameter", fmt.Sprintf("shutdownTimeoutMillisForSignaledShutdown=%d", shutdown.Milliseconds())}
			}
			return mongodb.Start(ctx, mongodb.Options{
				Programs: e.programs, Nodes: s.Nodes, Arbiters: s.Arbiters, Machines: e.machines,
				Dir: e.dir, LogDir: e.logs, ElectionTimeout: election, Heartbeat: election / 4,
				CacheSize: mongodbCache(s), OplogSize: s.size("oplog"), Args: args,
			})
		},
	}
}

// mongodbCache is the size of WiredTiger's cache: what the spec asks for, or what mongod
// would take on a machine with the node's memory, which is half of the memory above 1
// GiB (MongoDB manual, "WiredTiger", "Memory Use"). mongod itself sees this
// machine's memory and neither the limit nor the other nodes that share it.
func mongodbCache(s Spec) int64 {
	if size := s.size("cache"); size > 0 {
		return size
	}
	return max(mongodb.MinCacheSize, (s.memory()-1<<30)/2)
}
