package cluster

import (
	"context"
)

var _ product = (*MariaDB)(nil)

// bothEngines is the spec's word for a server with MyRocks beside InnoDB.
const bothEngines = "innodb+rocksdb"

func mariadbTopology() topology {
	return topology{
		name: "mariadb", nodes: []int{1, 2, 3, 5, 7}, arbiters: []int{0},
		options: []option{
			{name: "failover", want: "failover=DURATION, such as 2s (evs.suspect_timeout; evs.inactive_timeout and evs.install_timeout are twice that)", check: aDuration},
			{name: "cache", want: "cache=SIZE of at least 8MiB, InnoDB's buffer pool on each node, and MyRocks' block cache", check: aSize},
			{name: "engines", want: "engines=innodb or engines=innodb+rocksdb (one node only)", check: oneOf("innodb", bothEngines)},
		},
	}
}

// startMariaDBCluster starts one node, or a Galera cluster with its own timing
// unless the spec says otherwise.
func startMariaDBCluster(ctx context.Context, at place) (product, error) {
	suspect := at.spec.duration("failover")
	m, err := StartMariaDB(ctx, MariaDBOptions{
		Programs: at.programs, Nodes: at.spec.Nodes, Machines: at.machines, Dir: at.dir, LogDir: at.logs,
		Suspect: suspect, Inactive: 2 * suspect, Install: 2 * suspect,
		CacheSize: mariadbCache(at.spec), MyRocks: at.spec.Options["engines"] == bothEngines,
	})
	if err != nil {
		return nil, err
	}
	return m, nil
}

// mariadbCache is InnoDB's buffer pool, and MyRocks' block cache beside it: what
// was asked for, or half of the memory that the spec gives the node, of which the
// server itself knows nothing, for all of them together; 0 for InnoDB's default.
func mariadbCache(s Spec) int64 {
	if size := s.size("cache"); size > 0 {
		return size
	}
	if s.Limits.Memory > 0 {
		caches := int64(1)
		if s.Options["engines"] == bothEngines {
			caches = 2
		}
		return max(minPoolSize, s.Limits.Memory/2/caches)
	}
	return 0
}

// Primary implements product. A Galera cluster has none.
func (m *MariaDB) Primary(ctx context.Context) (int, error) {
	if m.provider != "" {
		return 0, &NoPrimaryError{Product: "a Galera cluster"}
	}
	return 0, m.Ready(ctx, 0)
}
