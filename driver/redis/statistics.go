package redis

import (
	"context"
	"errors"
	"strconv"

	"assay/store"
)

// figures come from INFO (manual). It does not tell how many clients wait for the thread that
// executes commands.
func figures() []store.NamedValue {
	figure := func(key, chart, name, unit string, counter bool) store.NamedValue {
		return store.NamedValue{Key: key, Statistic: store.Statistic{Name: name, Chart: chart, Unit: unit, Counter: counter}}
	}
	const clients, work, memory, files, network, processor = "Clients", "Commands", "Memory", "Files", "Network", "Processor"
	return []store.NamedValue{
		figure("connected_clients", clients, "connected", "", false),
		figure("blocked_clients", clients, "blocked", "", false),
		figure("total_commands_processed", work, "commands", "", true),
		figure("expired_keys", "Keys that the server removed", "expired", "", true),
		figure("evicted_keys", "Keys that the server removed", "evicted", "", true),
		figure("used_memory", memory, "used", "bytes", false),
		figure("used_memory_rss", memory, "resident", "bytes", false),
		figure("aof_current_size", files, "append-only file", "bytes", false),
		figure("aof_delayed_fsync", "Writes that waited for an fsync", "delayed", "", true),
		figure("total_net_input_bytes", network, "received", "bytes", true),
		figure("total_net_output_bytes", network, "sent", "bytes", true),
		figure("used_cpu_user", processor, "user", "s", true),
		figure("used_cpu_sys", processor, "system", "s", true),
		figure("master_repl_offset", "Replication", "bytes of writes", "bytes", true),
		figure("connected_slaves", "Replicas", "connected replicas", "", false),
	}
}

type statistics struct {
	database *database
	link     *link
}

// OpenStatistics opens the primary's account of its work; in a Redis Cluster, that of the mark's
// server. It does not connect yet.
func OpenStatistics(_ context.Context, target store.Target) (store.Statistics, error) {
	s, err := parse(target)
	if err != nil {
		return nil, err
	}
	return &statistics{database: &database{settings: s, layout: layoutOf(s, &store.Schema{Transactions: true})}}, nil
}

func (s *statistics) List() []store.Statistic { return store.ListOf(figures()) }

func (s *statistics) Read(ctx context.Context) (reading store.Reading, err error) {
	if s.link == nil {
		if s.link, err = s.database.open(ctx); err != nil {
			s.link = nil
			return reading, s.database.unreached(ctx, "connect", err)
		}
	}
	told, err := s.link.info(ctx, "everything")
	if err == nil && told["role"] != roleOfPrimary {
		err = errors.New("the server is no longer the primary")
	}
	if err != nil {
		s.Close()
		return reading, failed("ask the server for its figures", err)
	}
	return store.ReadingOf(told["run_id"], figures(), func(key string) (float64, bool) {
		value, err := strconv.ParseFloat(told[key], 64)
		return value, err == nil
	}), nil
}

func (s *statistics) Close() {
	if s.link != nil {
		s.link.close()
		s.link = nil
	}
}
