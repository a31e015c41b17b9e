package cluster

import (
	"testing"

	"assay/cluster/mysql"
)

func TestOnMySQLBySpec(t *testing.T) {
	for _, text := range []string{"mysql:2,expel=0s,cache=32MiB", "mysql:2,replication=semisync,cache=32MiB"} {
		t.Run(text, func(t *testing.T) { testPrimaryWithReplicas(t, text) })
	}
	c := startCluster(t, "mysql:1,cache=32MiB,flush=2,set.max-connections=77")
	want := "33554432 2 77"
	if got := querySQL(t, c.Node("n1"), "SELECT concat_ws(' ', @@innodb_buffer_pool_size, @@innodb_flush_log_at_trx_commit, @@max_connections)"); got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

func TestMySQLCacheFollowsTheMemory(t *testing.T) {
	for memory, want := range map[int64]int64{0: 0, 600 << 20: 200 << 20, 10 << 20: mysql.MinPoolSize} {
		s := Spec{}
		s.Limits.Memory = memory
		if got := mysqlCache(s); got != want {
			t.Errorf("of %d bytes the cache takes %d, want %d", memory, got, want)
		}
	}
}
