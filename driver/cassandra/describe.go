package cassandra

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	gocql "github.com/apache/cassandra-gocql-driver/v2"

	"assay/driver/encryption"
	"assay/store"
)

func asked() []string {
	return []string{"commitlog_sync", "commitlog_sync_period", "write_request_timeout", "read_request_timeout",
		"hinted_handoff_enabled", "max_hint_window"}
}

// Describe implements store.Administration. Settings are those of the node that answers.
func (k *database) Describe(ctx context.Context) (store.Product, error) {
	p := store.Product{Name: "Cassandra"}
	if err := k.session.Query("SELECT release_version FROM system.local").Consistency(gocql.One).
		ScanContext(ctx, &p.Version); err != nil {
		return p, failed("ask for the version", err)
	}
	nodes, err := k.centers(ctx)
	if err != nil {
		return p, err
	}
	copies, err := k.replicas(ctx)
	if err != nil {
		return p, err
	}
	var replication []string
	for _, center := range slices.Sorted(maps.Keys(nodes)) {
		p.Topology.Nodes += nodes[center]
		p.Topology.Replicas += copies[center]
		replication = append(replication, fmt.Sprintf("%s: %d", center, copies[center]))
	}
	p.Settings = []store.Setting{
		{Name: "consistency of writes", Value: strings.ToLower(k.consistency.String())},
		{Name: "consistency of reads", Value: strings.ToLower(k.reads.String())},
		{Name: "replication", Value: strings.Join(replication, ", ")},
		{Name: encryption.Setting, Value: encryption.State(k.encryption)},
		{Name: store.SettingTimestamps, Value: map[bool]string{false: "of the client", true: store.TimestampsCoordinated}[k.coordinated]},
		{Name: "client's retries", Value: "none"},
		{Name: "client's choice of nodes", Value: "a row's replicas in turn (gocql's token-aware policy)"},
	}
	durable := true
	if err := k.rowsOf(ctx, "ask for the keyspace", "SELECT durable_writes FROM system_schema.keyspaces WHERE keyspace_name = ?",
		[]any{k.keyspace}, []any{&durable}, func() {}); err != nil {
		return p, err
	}
	p.Settings = append(p.Settings, store.Setting{Name: "durable_writes", Value: fmt.Sprint(durable)})
	values := k.settingsOf(ctx, asked())
	// The defaults are not told, so these are kept in any case.
	p.Changed = store.Changed(k.settingsOf(ctx, []string{"concurrent_reads", "concurrent_writes", "concurrent_compactors", "compaction_throughput", "memtable_heap_space", "memtable_offheap_space",
		"memtable_allocation_type", "key_cache_size", "row_cache_size", "file_cache_size", "commitlog_segment_size", "native_transport_max_threads", "num_tokens"}))
	for _, name := range asked() {
		if value := values[name]; value != "" {
			p.Settings = append(p.Settings, store.Setting{Name: name, Value: value})
		}
	}
	return p, nil
}

// settingsOf asks a node for settings. Some products and users get none, or not all.
func (k *database) settingsOf(ctx context.Context, names []string) map[string]string {
	all := map[string]string{}
	for _, name := range names {
		var value string
		if err := k.session.Query("SELECT value FROM system_views.settings WHERE name = ?", name).
			Consistency(gocql.One).ScanContext(ctx, &value); err == nil && value != "" {
			all[name] = value
		}
	}
	return all
}
