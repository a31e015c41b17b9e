package cluster

import (
	"context"
	"time"

	"assay/cluster/redis"
)

func redisEntry() entry {
	return entry{
		topology: topology{
			// With two Sentinels a failover is impossible once one is away (manual, "High
			// availability with Redis Sentinel", "Example 1: just two Sentinels, DON'T DO THIS").
			name: "redis", nodes: []int{1, 3, 5}, arbiters: []int{0},
			options:    redisOptions("how long the primary may be silent until Sentinels take it for down (down-after-milliseconds; failover-timeout is six times that)"),
			parameters: redisParameters(),
		},
		footprint: Footprint{Start: 3 * time.Second, Empty: 64 << 10},
		start:     startRedis,
	}
}

// redisClusterEntry starts three primaries with a replica each. The primary of a spec is the one
// with the slot of assay's keys.
func redisClusterEntry() entry {
	return entry{
		topology: topology{
			name: "redis-cluster", scheme: "redis", nodes: []int{6}, arbiters: []int{0},
			options:    redisOptions("how long a server may be silent until the others take it for down (cluster-node-timeout)"),
			parameters: redisParameters(),
		},
		footprint: Footprint{Start: 3 * time.Second, Empty: 64 << 10},
		start:     startRedis,
	}
}

func redisOptions(failover string) []option {
	return []option{
		{name: "failover", want: "failover=DURATION, such as 3s: " + failover, check: aDuration},
		{name: "appendfsync", want: "appendfsync=always, appendfsync=everysec or appendfsync=no: an append-only file, which Redis has not by default, and when it is synced",
			check: oneOf("always", "everysec", "no"), parameters: []string{"appendonly", "appendfsync"}},
	}
}

func startRedis(ctx context.Context, s Spec, e environment) (product, error) {
	c, err := redis.Start(ctx, redis.Options{
		Layout: e.layout(s), Sharded: s.Product == "redis-cluster",
		DownAfter: s.duration("failover"), Settings: append(redisFile(s), s.settings(" ")...),
	})
	if err != nil {
		return nil, err // and not a typed nil
	}
	return c, nil
}

func redisFile(s Spec) []string {
	fsync := s.Options["appendfsync"]
	if fsync == "" {
		return nil
	}
	return []string{"appendonly yes", "appendfsync " + fsync}
}

func redisParameters() parameters {
	return parameters{example: "min-replicas-to-write=1", ours: []ourParameters{
		{[]string{"bind", "port", "unixsocket*", "tls-*", "protected-mode"}, "by them it reaches the server"},
		{[]string{"dir", "daemonize", "pidfile", "supervised", "include"}, "each node has a folder of its own"},
		{[]string{"logfile", "syslog*"}, "it keeps what the server writes to its standard output"},
		{[]string{"replicaof", "slaveof", "replica-announce*", "slave-announce*", "sentinel*", "cluster-enabled", "cluster-config-file", "cluster-port", "cluster-node-timeout", "cluster-announce*"},
			"by them it leads the replicas, and who watches them (failover= says when a silent primary is taken for down)"},
		{[]string{"requirepass", "masterauth", "masteruser", "user", "aclfile"}, "the servers have no access control"},
	}}
}
