package cluster

import (
	"slices"
	"testing"

	"assay/internal/expect"
)

func TestRedisSpecs(t *testing.T) {
	spec, err := ParseSpec("redis:3,failover=2s,appendfsync=always,set.min-replicas-to-write=1")
	expect.NoError(t, err)
	if got := append(redisFile(spec), spec.settings(" ")...); !slices.Equal(got, []string{"appendonly yes", "appendfsync always", "min-replicas-to-write 1"}) {
		t.Errorf("redis.conf has %q", got)
	}
	for _, text := range []string{"redis:2", "redis:2+arbiter", "redis:1,appendfsync=never", "redis:1,set.port=1", "redis:1,set.appendonly=no,appendfsync=no", "redis:1,set.requirepass=x", "redis-cluster:3", "redis-cluster:6,set.cluster-node-timeout=5"} {
		_, err := ParseSpec(text)
		wantRefusal(t, text, err, "")
	}
}
