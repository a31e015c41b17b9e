package cluster

import (
	"context"
	"time"

	"assay/cluster/mariadb"
)

// bothEngines asks for MyRocks beside InnoDB.
const bothEngines = "innodb+rocksdb"

func mariadbEntry() entry {
	return entry{
		topology: topology{
			name: "mariadb", nodes: []int{1, 2, 3, 5, 7}, arbiters: []int{0},
			options: []option{
				{name: "replication", want: "replication=galera (from two nodes on the default), replication=semisync or replication=async (a primary with replicas; none is promoted)",
					check: oneOf(replicationGalera, replicationSync, replicationAsync)},
				{name: "failover", want: "failover=DURATION, such as 2s, with Galera: evs.suspect_timeout; evs.inactive_timeout and evs.install_timeout are twice as long", check: aDuration},
				{name: "cache", want: "cache=SIZE of at least 8MiB, InnoDB's buffer pool on each node, and MyRocks' block cache", check: aSize,
					parameters: []string{"innodb_buffer_pool_size", "rocksdb_block_cache_size"}},
				{name: "flush", want: "flush=0, flush=1 or flush=2 (innodb_flush_log_at_trx_commit: 1 has a commit wait for the disk, 2 for the system, 0 for neither)", check: oneOf("0", "1", "2"),
					parameters: []string{"innodb_flush_log_at_trx_commit", "rocksdb_flush_log_at_trx_commit"}},
				{name: "engines", want: "engines=innodb or engines=innodb+rocksdb (not with Galera)", check: oneOf("innodb", bothEngines)},
			},
			parameters: mariadbParameters(),
		},
		footprint: Footprint{Start: 2 * time.Second, Empty: 300 << 20},
		settings:  mariadbSettings,
		start:     startMariaDB,
	}
}

func startMariaDB(ctx context.Context, s Spec, e environment) (product, error) {
	o := mariadb.Options{
		Layout:    e.layout(s),
		CacheSize: mariadbCache(s), MyRocks: s.Options["engines"] == bothEngines, Settings: mariadbSettings(s),
	}
	switch s.replication(replicationGalera) {
	case replicationSync:
		o.Replication = mariadb.Semisync
	case replicationAsync:
		o.Replication = mariadb.Asynchronous
	default:
		suspect := s.duration("failover")
		o.Suspect, o.Inactive, o.Install = suspect, 2*suspect, 2*suspect
		return mariadb.Start(ctx, o)
	}
	return mariadb.StartSet(ctx, o)
}

func mariadbParameters() parameters {
	return parameters{example: "innodb_io_capacity=2000", check: checkReplication(replicationGalera), judged: []string{"innodb_flush_log_*", "innodb_flush_method", "innodb_doublewrite", "rocksdb_flush_log_*", "sync_binlog",
		"tx_isolation", "transaction_isolation", "innodb_snapshot_isolation", "wsrep_sync_wait", "wsrep_causal_reads", "rpl_semi_sync_*"}, ours: []ourParameters{
		{[]string{"port", "bind_address", "socket", "skip_networking", "extra_port", "skip_name_resolve", "require_secure_transport"}, "by them it reaches the server"},
		{[]string{"datadir", "tmpdir", "pid_file", "user", "chroot", "basedir", "defaults*", "no_defaults", "print_defaults"}, "each node has a folder of its own"},
		{[]string{"init_file", "skip_grant*", "bootstrap", "help", "version", "install", "gdb"}, "it starts the server and makes its user"},
		{[]string{"log_error*", "console", "silent_startup"}, "it keeps what the server writes to its standard error"},
		{[]string{"wsrep_on", "wsrep_provider*", "wsrep_cluster*", "wsrep_node*", "wsrep_sst*", "wsrep_new_cluster", "wsrep_recover", "wsrep_start_position",
			"binlog_format", "innodb_autoinc_lock_mode"}, "by them it leads the Galera cluster (failover= says when a silent node is left out)"},
		{[]string{"server_id", "gtid_domain_id", "gtid_strict_mode", "log_slave_updates", "skip_slave_start", "slave_net_timeout", "rpl_semi_sync_master_enabled", "rpl_semi_sync_slave_enabled"},
			"by them the replicas follow (replication= says how)"},
		{[]string{"loose*"}, "with it a wrong name would pass"},
	}}
}

func mariadbSettings(s Spec) []string { return append(mariadbFlush(s), s.settings("=")...) }

func mariadbFlush(s Spec) (settings []string) {
	flush := s.Options["flush"]
	if flush == "" {
		return nil
	}
	settings = []string{"innodb-flush-log-at-trx-commit=" + flush}
	if s.Options["engines"] == bothEngines {
		settings = append(settings, "rocksdb-flush-log-at-trx-commit="+flush)
	}
	return settings
}

// mariadbCache is the size of InnoDB's buffer pool, and of MyRocks' block cache beside it. Without
// a size in the spec both share half of the node's memory, which the server does not know.
// 0 is InnoDB's default.
func mariadbCache(s Spec) int64 {
	if size := s.size("cache"); size > 0 {
		return size
	}
	if s.Limits.Memory > 0 {
		caches := int64(1)
		if s.Options["engines"] == bothEngines {
			caches = 2
		}
		return max(mariadb.MinPoolSize, s.Limits.Memory/2/caches)
	}
	return 0
}
