package mysql

import (
	"context"
	"fmt"
	"strings"

	"assay/driver/sqldb"
	"assay/store"
)

// figures come from SHOW GLOBAL STATUS (MariaDB and MySQL documentation, "Server Status Variables",
// "InnoDB Status Variables", "Galera Cluster Status Variables"). A product may lack some.
//
// Innodb_row_lock_time is in milliseconds; its growth in a second is the average number of waiting
// sessions. wsrep_flow_control_paused_ns is how long the node's replication stood still.
func figures() []store.NamedValue {
	figure := func(key string, scale float64, chart, name, unit string, counter bool, means store.Meaning) store.NamedValue {
		return store.NamedValue{Key: key, Scale: scale,
			Statistic: store.Statistic{Name: name, Chart: chart, Unit: unit, Counter: counter, Means: means}}
	}
	const sessions, pages, log, replication = "Sessions", "Pages of tables and indexes", "Redo log", "Galera's queues"
	all := []store.NamedValue{
		figure("Threads_running", 0, sessions, "running", "", false, store.BusySessions),
		figure("Innodb_row_lock_time", 1e-3, sessions, "waiting for a row lock, on average", "", true, store.LockWaits),
		figure("Innodb_row_lock_waits", 0, "Waits for row locks", "row lock waits", "", true, ""),
		figure("Innodb_deadlocks", 0, "Conflicts", "deadlocks", "", true, ""),
		figure("wsrep_local_cert_failures", 0, "Conflicts", "refused by certification", "", true, ""),
		figure("wsrep_local_bf_aborts", 0, "Conflicts", "rolled back for another node's", "", true, ""),
		figure("Innodb_buffer_pool_read_requests", 0, pages, "asked for", "", true, ""),
		figure("Innodb_buffer_pool_reads", 0, pages, "read from disk", "", true, ""),
		figure("Innodb_os_log_written", 0, log, "written", "bytes", true, ""),
		figure("Innodb_os_log_fsyncs", 0, "Forced to disk", "redo log", "", true, ""),
		figure("Innodb_data_fsyncs", 0, "Forced to disk", "data files", "", true, ""),
		figure("Innodb_data_written", 0, "Data files", "written to data files", "bytes", true, ""),
		figure("Innodb_checkpoint_age", 0, "Not yet in a checkpoint", "checkpoint age", "bytes", false, ""),
		figure("wsrep_local_recv_queue", 0, replication, "to be applied", "", false, ""),
		figure("wsrep_local_send_queue", 0, replication, "to be sent", "", false, ""),
		figure("wsrep_flow_control_paused_ns", 1e-9, "Held back by flow control", "share of the time", "", true, store.Paused),
	}
	all[0].Offset = -1 // the one that asks
	return all
}

// OpenStatistics opens the account of the first host that takes writes. It does not connect yet.
func OpenStatistics(_ context.Context, target store.Target) (store.Statistics, error) {
	s, err := parse(target)
	if err != nil {
		return nil, err
	}
	p := &schema{settings: s}
	for _, name := range s.hosts {
		p.hosts = append(p.hosts, newHost(name, s))
	}
	all := figures()
	var keys []string
	for _, f := range all {
		keys = append(keys, "'"+f.Key+"'")
	}
	query := "SHOW GLOBAL STATUS WHERE Variable_name IN (" + strings.Join(keys, ", ") + ")"
	return &sqldb.Statistics{Figures: all, Connect: func(ctx context.Context) (sqldb.Conn, string, string, error) {
		open := func(h *host) (*conn, error) { return h.connect(ctx, "", pins()) }
		c, err := p.firstThatWrites(ctx, p.hosts, open, func(c *conn) { c.HangUp() })
		if err != nil {
			return nil, "", "", err
		}
		started, err := c.pairs(ctx, `SELECT 'started', UNIX_TIMESTAMP() - VARIABLE_VALUE FROM information_schema.GLOBAL_STATUS WHERE VARIABLE_NAME = 'UPTIME'`)
		if err != nil { // MySQL has that table elsewhere
			started = map[string]string{}
		}
		return c, fmt.Sprint(c.host.name, " ", started["started"]), query, nil
	}}, nil
}
