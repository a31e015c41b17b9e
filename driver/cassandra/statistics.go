package cassandra

import (
	"context"
	"errors"
	"fmt"

	gocql "github.com/apache/cassandra-gocql-driver/v2"

	"assay/store"
)

// figures come from a node's virtual tables (Cassandra documentation, "Virtual Tables":
// thread_pools, sstable_tasks). Keys are pool and column. They do not tell how many sessions wait
// for a lock or the disk.
func figures() []store.NamedValue {
	figure := func(key, chart, name, unit string, counter bool, means store.Meaning) store.NamedValue {
		return store.NamedValue{Key: key, Statistic: store.Statistic{Name: name, Chart: chart, Unit: unit, Counter: counter, Means: means}}
	}
	const active, pending, compactions = "Requests at work", "Tasks that wait for a thread", "Compactions and other work on tables"
	return []store.NamedValue{
		figure("Native-Transport-Requests.active", active, "requests of clients", "", false, store.BusySessions),
		figure("ReadStage.active", active, "reads", "", false, ""),
		figure("MutationStage.active", active, "writes", "", false, ""),
		figure("Native-Transport-Requests.pending", pending, "waiting requests of clients", "", false, ""),
		figure("ReadStage.pending", pending, "waiting reads", "", false, ""),
		figure("MutationStage.pending", pending, "waiting writes", "", false, ""),
		figure("CompactionExecutor.pending", pending, "waiting compactions", "", false, ""),
		figure("MemtableFlushWriter.pending", pending, "waiting flushes", "", false, ""),
		figure("Native-Transport-Requests.blocked", pending, "requests held back", "", false, ""),
		figure("Native-Transport-Requests.completed", "Requests done", "requests", "", true, ""),
		figure("sstable_tasks.count", compactions, "under way", "", false, ""),
		figure("sstable_tasks.left", "Left to compact", "left", "bytes", false, ""),
	}
}

// statistics implements store.Statistics by a session with one node of the address, the next after
// an error. It has one connection besides the library's own.
type statistics struct {
	settings *settings
	figures  []store.NamedValue
	next     int // the index of the node to try
	session  *gocql.Session
	server   string
}

// OpenStatistics opens one node's account of its work. It does not connect yet.
func OpenStatistics(_ context.Context, target store.Target) (store.Statistics, error) {
	s, err := parse(target)
	if err != nil {
		return nil, err
	}
	return &statistics{settings: s, figures: figures()}, nil
}

func (s *statistics) List() []store.Statistic { return store.ListOf(s.figures) }

func (s *statistics) Close() {
	if s.session != nil {
		s.session.Close()
		s.session = nil
	}
}

func (s *statistics) connect(ctx context.Context) error {
	one := *s.settings
	one.hosts = one.hosts[s.next%len(one.hosts):][:1]
	s.next++
	seen := &refusals{encrypted: one.encryption != nil}
	cluster := one.cluster(seen)
	cluster.DisableInitialHostLookup, cluster.NumConns = true, 1
	cluster.PoolConfig.HostSelectionPolicy = gocql.RoundRobinHostPolicy()
	c, err := connectTo(ctx, &one, cluster, seen)
	if err != nil {
		return err
	}
	s.session, s.server = c.session, one.hosts[0]
	return nil
}

func (s *statistics) Read(ctx context.Context) (reading store.Reading, err error) {
	if s.session == nil {
		if err := s.connect(ctx); err != nil {
			return reading, err
		}
	}
	values, err := s.ask(ctx)
	if err != nil {
		s.Close()
		return reading, failed("ask a node for its thread pools", err)
	}
	if len(values) == 0 {
		s.Close()
		return reading, errors.New("the node tells nothing of its thread pools")
	}
	return store.ReadingOf(s.server, s.figures, func(key string) (float64, bool) {
		value, known := values[key]
		return value, known
	}), nil
}

func (s *statistics) ask(ctx context.Context) (map[string]float64, error) {
	values := map[string]float64{}
	var name string
	var active, pending int
	var blocked, completed int64
	pools := s.session.Query("SELECT name, active_tasks, pending_tasks, blocked_tasks, completed_tasks FROM system_views.thread_pools").
		Consistency(gocql.One).IterContext(ctx)
	for pools.Scan(&name, &active, &pending, &blocked, &completed) {
		for column, value := range map[string]float64{"active": float64(active), "pending": float64(pending),
			"blocked": float64(blocked), "completed": float64(completed)} {
			values[fmt.Sprint(name, ".", column)] = value
		}
	}
	if err := pools.Close(); err != nil {
		return nil, err
	}
	var progress, total int64
	var unit string
	tasks := s.session.Query("SELECT progress, total, unit FROM system_views.sstable_tasks").Consistency(gocql.One).IterContext(ctx)
	values["sstable_tasks.count"], values["sstable_tasks.left"] = 0, 0
	for tasks.Scan(&progress, &total, &unit) {
		values["sstable_tasks.count"]++
		if unit == "bytes" {
			values["sstable_tasks.left"] += float64(max(total-progress, 0))
		}
	}
	return values, tasks.Close()
}
