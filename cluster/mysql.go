package cluster

import (
	"context"
	"time"

	"assay/cluster/mysql"
)

func mysqlEntry() entry {
	return entry{
		topology: topology{
			name: "mysql", nodes: []int{1, 2, 3, 5}, arbiters: []int{0},
			options: []option{
				{name: "replication", want: "replication=group (Group Replication with one primary, from two nodes on the default), replication=semisync or replication=async (a primary with replicas; none is promoted)",
					check: oneOf(replicationGroup, replicationSync, replicationAsync)},
				{name: "expel", want: "expel=DURATION in whole seconds, such as 5s, in a group: how long a silent member is waited for after the first five seconds", check: secondsFrom(0),
					parameters: []string{"group_replication_member_expel_timeout"}},
				{name: "cache", want: "cache=SIZE of at least 8MiB, InnoDB's buffer pool on each node", check: aSize, parameters: []string{"innodb_buffer_pool_size"}},
				{name: "flush", want: "flush=0, flush=1 or flush=2 (innodb_flush_log_at_trx_commit: 1 has a commit wait for the disk, 2 for the system, 0 for neither)", check: oneOf("0", "1", "2"),
					parameters: []string{"innodb_flush_log_at_trx_commit"}},
			},
			parameters: mysqlParameters(),
			noFailover: "a group such as mysql:3, whose members elect another primary (expel=DURATION says when they leave a silent one out); assay promotes no replica",
		},
		footprint: Footprint{Start: 8 * time.Second, Empty: 220 << 20},
		start:     startMySQL,
	}
}

func mysqlParameters() parameters {
	return parameters{example: "innodb_io_capacity=2000", check: checkReplication(replicationGroup), ours: []ourParameters{
		{[]string{"port", "bind_address", "socket", "skip_networking", "admin_address", "admin_port", "skip_name_resolve", "require_secure_transport", "mysqlx*"}, "by them it reaches the server"},
		{[]string{"datadir", "tmpdir", "pid_file", "user", "chroot", "basedir", "defaults*", "no_defaults", "print_defaults", "secure_file_priv"}, "each node has a folder of its own"},
		{[]string{"init_file", "initialize*", "skip_grant*", "help", "version", "gdb", "daemonize"}, "it starts the server and makes its user"},
		{[]string{"log_error*", "console"}, "it keeps what the server writes to its standard error"},
		{[]string{"server_id", "gtid_mode", "enforce_gtid_consistency", "log_bin", "skip_log_bin", "disable_log_bin", "log_replica_updates", "log_slave_updates", "super_read_only", "read_only",
			"report_host", "report_port", "skip_replica_start", "skip_slave_start", "replica_net_timeout", "rpl_semi_sync_source_enabled", "rpl_semi_sync_replica_enabled",
			"group_replication_group*", "group_replication_local_address", "group_replication_ip_allowlist", "group_replication_start_on_boot", "group_replication_bootstrap_group",
			"group_replication_single_primary_mode", "group_replication_communication_stack"},
			"by them the replicas follow, or the members form a group"},
		{[]string{"loose*"}, "with it a wrong name would pass"},
	}}
}

func startMySQL(ctx context.Context, s Spec, e environment) (product, error) {
	o := mysql.Options{
		Layout:    e.layout(s),
		CacheSize: mysqlCache(s), Settings: append(mysqlFlush(s), s.settings("=")...), Announce: e.announce,
	}
	if s.Options["expel"] != "" {
		expel := s.duration("expel")
		o.Expel = &expel
	}
	switch s.replication(replicationGroup) {
	case replicationSync:
		o.Replication = mysql.Semisync
	case replicationAsync:
		o.Replication = mysql.Asynchronous
	default:
		return mysql.Start(ctx, o)
	}
	return mysql.StartSet(ctx, o)
}

func mysqlFlush(s Spec) []string {
	if flush := s.Options["flush"]; flush != "" {
		return []string{"innodb-flush-log-at-trx-commit=" + flush}
	}
	return nil
}

// mysqlCache is the size of InnoDB's buffer pool: the spec's, or a third of the node's memory,
// because MySQL takes some 300 MiB beside it. 0 is InnoDB's default.
func mysqlCache(s Spec) int64 {
	if size := s.size("cache"); size > 0 {
		return size
	}
	if s.Limits.Memory > 0 {
		return max(mysql.MinPoolSize, s.Limits.Memory/3)
	}
	return 0
}
