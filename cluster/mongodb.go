package cluster

import (
	"context"
	"fmt"
	"time"

	"assay/cluster/mongodb"
)

func mongodbEntry() entry {
	return entry{
		topology: topology{
			name: "mongodb", nodes: []int{1, 2, 3, 5, 7}, arbiters: []int{0, 1},
			options: []option{
				{name: "election", want: "election=DURATION, such as 2s (settings.electionTimeoutMillis)", check: aDuration},
				{name: "cache", want: "cache=SIZE of at least 256MiB, WiredTiger's on each node", check: aSize},
				{name: "shutdown", want: "shutdown=DURATION, such as 1s, how long a member that ends in order lets its clients go (shutdownTimeoutMillisForSignaledShutdown, 15s)", check: aDuration,
					parameters: []string{"shutdowntimeoutmillisforsignaledshutdown"}},
				{name: "oplog", want: "oplog=SIZE, such as 512MiB", check: aSize},
			},
			parameters: mongodbParameters(),
		},
		footprint: Footprint{Start: 1500 * time.Millisecond, Empty: 320 << 20},
		settings:  mongodbSettings,
		start: func(ctx context.Context, s Spec, e environment) (product, error) {
			election := s.duration("election")
			var args []string
			if shutdown := s.duration("shutdown"); shutdown > 0 {
				args = []string{"--setParameter", fmt.Sprintf("shutdownTimeoutMillisForSignaledShutdown=%d", shutdown.Milliseconds())}
			}
			return mongodb.Start(ctx, mongodb.Options{
				Layout: e.layout(s), Arbiters: s.Arbiters, ElectionTimeout: election, Heartbeat: election / 4,
				CacheSize: mongodbCache(s), OplogSize: s.size("oplog"), Args: args, Settings: mongodbSettings(s),
			})
		},
	}
}

// mongodbParameters are those of --setParameter, and the keys of mongod's configuration file,
// which have dots in their names.
func mongodbParameters() parameters {
	return parameters{example: "wiredTigerConcurrentWriteTransactions=64 or set.storage.journal.commitIntervalMs=50",
		judged: []string{"storage.journal.*", "storage.syncPeriodSecs", "journalCommitInterval", "syncdelay", "enableMajorityReadConcern"}, ours: []ourParameters{
			{[]string{"net.*"}, "by them it reaches the server"},
			{[]string{"storage.dbPath", "processManagement.*"}, "each node has a folder of its own"},
			{[]string{"systemLog.*"}, "it keeps what the server writes to its standard output"},
			{[]string{"storage.wiredTiger.engineConfig.cacheSizeGB"}, "cache=SIZE says it"},
			{[]string{"replication.oplogSizeMB"}, "oplog=SIZE says it"},
			{[]string{"replication.*", "sharding.*"}, "by them it makes the replica set"},
			{[]string{"security.*", "clusterAuthMode", "authenticationMechanisms"}, "the set has no access control"},
			{[]string{"setParameter.*"}, "the parameter itself is meant, without setParameter before it"},
		}}
}

func mongodbSettings(s Spec) []string { return s.settings("=") }

// mongodbCache is the size of WiredTiger's cache: the spec's, or mongod's own choice on a machine
// with the node's memory (half of the memory above 1 GiB; MongoDB manual, "WiredTiger", "Memory
// Use"). mongod sees this machine's memory and neither the limit nor the other nodes.
func mongodbCache(s Spec) int64 {
	if size := s.size("cache"); size > 0 {
		return size
	}
	return max(mongodb.MinCacheSize, (s.memory()-1<<30)/2)
}
