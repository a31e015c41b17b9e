package cluster

import (
	"context"
	"time"

	"assay/cluster/cassandra"
	"assay/internal/quantity"
)

func cassandraEntry() entry {
	return entry{
		topology: topology{
			name: "cassandra", nodes: []int{1, 2, 3, 4, 5, 6}, arbiters: []int{0},
			options: []option{
				{name: "heap", want: "heap=SIZE of at least 128MiB, each node's Java heap", check: aHeap},
				{name: "commitlog", want: "commitlog=periodic (acknowledged writes reach the disk up to ten seconds later) or commitlog=batch (before they are acknowledged)",
					check: oneOf(cassandra.CommitLogPeriodic, cassandra.CommitLogBatch)},
			},
			parameters: cassandraParameters(),
		},
		footprint: Footprint{Start: 5 * time.Second, Empty: 150 << 20},
		settings:  cassandraSettings,
		start: func(ctx context.Context, s Spec, e environment) (product, error) {
			return cassandra.Start(ctx, cassandra.Options{
				Layout: e.layout(s), Heap: cassandraHeap(s), CommitLog: s.Options["commitlog"], Settings: cassandraSettings(s),
			})
		},
	}
}

func cassandraSettings(s Spec) []string { return s.settings(": ") }

// cassandraParameters are keys of cassandra.yaml; their values are YAML.
func cassandraParameters() parameters {
	return parameters{example: "concurrent_writes=64", ours: []ourParameters{
		{[]string{"listen_*", "rpc_address", "rpc_interface*", "broadcast_*", "storage_port", "ssl_storage_port", "native_transport_port*", "start_native_transport",
			"client_encryption_options", "server_encryption_options"}, "by them it reaches the server"},
		{[]string{"data_file_directories", "local_system_data_file_directory", "commitlog_directory", "hints_directory", "saved_caches_directory", "cdc_raw_directory"},
			"each node has a folder of its own"},
		{[]string{"cluster_name", "partitioner", "endpoint_snitch", "num_tokens", "initial_token", "auto_bootstrap", "seed_provider", "hints_flush_period"},
			"by them it makes the ring and knows when it is settled"},
		{[]string{"commitlog_sync*"}, "commitlog= says it"},
		{[]string{"authenticator", "authorizer", "role_manager", "network_authorizer", "cidr_authorizer", "internode_authenticator"}, "the ring has no access control"},
	}}
}

func aHeap(v string) bool {
	n, err := quantity.Parse(v)
	return err == nil && n >= cassandra.MinHeap
}

// cassandraHeap is the spec's heap, or what Cassandra would take on a machine with the node's
// memory: the larger of half of it, up to 1 GiB, and a quarter of it, up to 8 GiB
// (conf/cassandra-env.sh). Java sees this machine's memory: not the other nodes, nor always the
// limit.
func cassandraHeap(s Spec) int64 {
	if size := s.size("heap"); size > 0 {
		return size
	}
	memory := s.memory()
	if memory < 1<<30 { // half of it would leave too little for the rest of Java
		return cassandra.DefaultHeap
	}
	return max(min(memory/2, 1<<30), min(memory/4, 8<<30))
}
