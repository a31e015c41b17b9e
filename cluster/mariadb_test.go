package cluster

import (
	"errors"
	"strings"
	"testing"

	"assay/cluster/mariadb"
	"assay/cluster/server"
	"assay/internal/expect"
)

func TestSingleMariaDBBySpec(t *testing.T) {
	t.Parallel()
	c := startCluster(t, "mariadb:1,cache=32MiB,engines=innodb+rocksdb")
	n := c.Node("n1")
	if size := querySQL(t, n, "SELECT @@innodb_buffer_pool_size"); size != "33554432" {
		t.Errorf("a cache of %s", size)
	}
	if engine := querySQL(t, n, "SELECT support FROM information_schema.engines WHERE engine = 'ROCKSDB'"); engine != "YES" {
		t.Errorf("RocksDB: %s", engine)
	}
	var fixed *server.FixedError
	if _, err := c.Grow(expect.Patiently(t)); !errors.As(err, &fixed) || !strings.Contains(err.Error(), "mariadb:3") {
		t.Errorf("Grow: %v", err)
	}
	if err := c.Remove(expect.Patiently(t), n); !errors.As(err, &fixed) {
		t.Errorf("Remove: %v", err)
	}
	if len(c.Nodes()) != 1 || len(c.Machines().All()) != 1 {
		t.Errorf("nodes %v", c.Nodes())
	}
}

func TestMariaDBCacheFollowsTheMemory(t *testing.T) {
	for memory, want := range map[int64]int64{0: 0, 400 << 20: 200 << 20, 10 << 20: mariadb.MinPoolSize} {
		s := Spec{}
		s.Limits.Memory = memory
		if got := mariadbCache(s); got != want {
			t.Errorf("of %d bytes the cache takes %d, want %d", memory, got, want)
		}
	}
	both := Spec{Options: map[string]string{"engines": bothEngines}}
	both.Limits.Memory = 512 << 20
	if got := mariadbCache(both); got != 128<<20 { // each of two
		t.Errorf("with two engines each cache takes %d", got)
	}
}
