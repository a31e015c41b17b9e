package mysql

import (
	"testing"
)

func TestPromises(t *testing.T) {
	single, galera := server{}, server{galera: true}
	snapshots := server{snapshots: true}
	for _, c := range []struct {
		level, engine string
		server        server
		want          string
	}{
		{readUncommitted, innodb, single, "read-uncommitted"}, {readCommitted, innodb, single, "read-committed"},
		{repeatableRead, innodb, single, "snapshot-reads"}, {repeatableRead, innodb, galera, "read-committed"}, {repeatableRead, innodb, snapshots, "snapshot-isolation"},
		{serializable, innodb, single, "serializable"}, {serializable, innodb, galera, "read-committed"},
		{repeatableRead, rocksdb, single, "snapshot-isolation"}, {readCommitted, rocksdb, single, "read-committed"},
	} {
		if got := promised(c.level, c.engine, c.server); got != c.want {
			t.Errorf("%s of %s, %+v promises %s, want %s", c.level, c.engine, c.server, got, c.want)
		}
	}
}
