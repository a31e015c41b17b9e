package cluster

import (
	"context"
	"time"

	"assay/cluster/etcd"
)

func etcdEntry() entry {
	return entry{
		topology: topology{
			name: "etcd", nodes: []int{1, 3, 5}, arbiters: []int{0}, options: []option{versionOption("etcd")},
			parameters: etcdParameters(),
		},
		footprint: Footprint{Start: 2 * time.Second, Empty: 122 << 20},
		start: func(ctx context.Context, s Spec, e environment) (product, error) {
			var args []string
			for _, flag := range s.settings("=") {
				args = append(args, "--"+flag)
			}
			return etcd.Start(ctx, etcd.Options{
				Layout: e.layout(s), Args: args,
			})
		},
	}
}

// etcdParameters are etcd's flags without their hyphens.
func etcdParameters() parameters {
	return parameters{example: "quota-backend-bytes=8589934592 or set.election-timeout=500", ours: []ourParameters{
		{[]string{"listen_*", "advertise_client_urls", "initial_*", "name", "discovery*", "strict_reconfig_check", "force_new_cluster", "proxy*", "config_file"},
			"by them it makes the cluster and reaches its members"},
		{[]string{"data_dir", "wal_dir"}, "each node has a folder of its own"},
		{[]string{"logger", "log_output*", "log_package_levels"}, "it keeps what the server writes to its standard error"},
		{[]string{"cert_file", "key_file", "client_*", "trusted_ca_file", "auto_tls", "peer_*", "auth_token"}, "the cluster has neither encryption nor access control"},
		{[]string{"max_txn_ops", "max_request_bytes"}, "the driver counts on etcd's own limits of a request"},
		{[]string{"unsafe_no_fsync"}, "the server does not report it, so that nobody could say what an acknowledgement is worth"},
		{[]string{"enable_grpc_gateway"}, "by the gateway it asks members how they are"},
	}}
}
