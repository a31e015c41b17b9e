package postgres

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"assay/driver/sqldb"
	"assay/store"
)

// figures come from PostgreSQL's views (manual, "The Cumulative Statistics System"). Keys are
// view.column. A version may lack some.
func figures() []store.NamedValue {
	figure := func(key, chart, name, unit string, counter bool, means store.Meaning) store.NamedValue {
		return store.NamedValue{Key: key, Statistic: store.Statistic{Name: name, Chart: chart, Unit: unit, Counter: counter, Means: means}}
	}
	const sessions, blocks, trouble, log, checkpoints, lag = "Sessions", "Blocks of tables and indexes", "Conflicts", "Write-ahead log",
		"Checkpoints", "Replication lag"
	return []store.NamedValue{
		figure("activity.busy", sessions, "busy", "", false, store.BusySessions),
		figure("activity.lock", sessions, "waiting for a lock", "", false, store.LockWaits),
		figure("activity.disk", sessions, "waiting for the disk", "", false, store.DiskWaits),
		figure("activity.internal", sessions, "waiting for a lock in memory", "", false, store.MemoryWaits),
		figure("activity.standby", sessions, "waiting for a standby", "", false, store.StandbyWaits),
		figure("activity.client", sessions, "in a transaction, waiting for the client", "", false, store.ClientWaits),
		figure("database.blks_hit", blocks, "found in the cache", "", true, ""),
		figure("database.blks_read", blocks, "read", "", true, ""),
		figure("database.xact_rollback", trouble, "transactions rolled back", "", true, ""),
		figure("database.deadlocks", trouble, "deadlocks", "", true, ""),
		figure("wal.wal_bytes", log, "written", "bytes", true, ""),
		figure("wal.wal_fpi", "Whole pages in the log", "whole pages", "", true, ""),
		figure("writer.num_timed", checkpoints, "by time", "", true, ""),
		figure("writer.num_requested", checkpoints, "asked for", "", true, ""),
		figure("replication.bytes", lag, "behind", "bytes", false, ""),
	}
}

// Each view gives at most one row, turned into names and values, so that one text serves versions
// with different columns. pg_locks would lock the whole lock table; wait_event_type says the same
// (manual, "pg_locks"). Waiting for another session to write the commit (WALWrite) is waiting for
// the disk too (manual, "Wait Events").
const (
	queryActivity = `SELECT 'activity.' || e.key, e.value FROM (SELECT
		count(*) FILTER (WHERE state = 'active') AS busy,
		count(*) FILTER (WHERE state = 'active' AND wait_event_type = 'Lock') AS lock,
		count(*) FILTER (WHERE state = 'active' AND (wait_event_type = 'IO' OR wait_event IN ('WALWrite', 'WALWriteLock'))) AS disk,
		count(*) FILTER (WHERE state = 'active' AND wait_event_type = 'LWLock' AND wait_event NOT IN ('WALWrite', 'WALWriteLock')) AS internal,
		count(*) FILTER (WHERE state = 'active' AND wait_event = 'SyncRep') AS standby,
		count(*) FILTER (WHERE state LIKE 'idle in transaction%') AS client
		FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()) t, jsonb_each_text(to_jsonb(t)) e
	UNION ALL SELECT 'database.' || e.key, e.value FROM (SELECT blks_hit, blks_read, xact_rollback, deadlocks
		FROM pg_stat_database WHERE datname = current_database()) t, jsonb_each_text(to_jsonb(t)) e
	UNION ALL SELECT 'replication.bytes', max(CASE WHEN pg_is_in_recovery() THEN NULL
		ELSE pg_wal_lsn_diff(pg_current_wal_lsn(), replay_lsn) END)::text FROM pg_stat_replication HAVING count(replay_lsn) > 0`
	queryLog = `
	UNION ALL SELECT 'wal.' || e.key, e.value FROM pg_stat_wal t, jsonb_each_text(to_jsonb(t)) e WHERE e.key IN ('wal_bytes', 'wal_fpi')`
	queryCheckpointer = `
	UNION ALL SELECT 'writer.' || e.key, e.value FROM pg_stat_checkpointer t, jsonb_each_text(to_jsonb(t)) e WHERE e.key IN ('num_timed', 'num_requested')`
	queryWriter = `
	UNION ALL SELECT 'writer.num_timed', checkpoints_timed::text FROM pg_stat_bgwriter
	UNION ALL SELECT 'writer.num_requested', checkpoints_req::text FROM pg_stat_bgwriter`
)

// statisticsQuery is for a version. The log has a view since 14, checkpoints have one since 17.
func statisticsQuery(version int64) string {
	query := queryActivity
	if version >= 140000 {
		query += queryLog
	}
	if version >= 170000 {
		return query + queryCheckpointer
	}
	return query + queryWriter
}

var errNoStatistics = errors.New("it is no PostgreSQL, whose account of its work is another one")

// OpenStatistics opens the server's account of its work. It does not connect yet.
func OpenStatistics(_ context.Context, target store.Target) (store.Statistics, error) {
	config, _, err := parse(target)
	if err != nil {
		return nil, err
	}
	connect := func(ctx context.Context) (sqldb.Conn, string, string, error) {
		raw, err := pgconn.ConnectConfig(ctx, &config.Copy().Config)
		if refusesParameters(err) {
			var pooled *pgx.ConnConfig
			if pooled, err = behindPooler(config, nil); err == nil {
				raw, err = pgconn.ConnectConfig(ctx, &pooled.Config)
			}
		}
		if err != nil {
			return nil, "", "", connectError(ctx, config, store.Redact(target.Address), err)
		}
		c := conn{raw}
		var version int64
		var server string
		if raw.ParameterStatus("crdb_version") != "" {
			err = errNoStatistics
		} else {
			err = sqldb.One(ctx, c, `SELECT current_setting('server_version_num')::bigint,
				concat(inet_server_addr(), ' ', inet_server_port(), ' ', pg_postmaster_start_time())`, nil, &version, &server)
		}
		if err != nil {
			c.HangUp()
			return nil, "", "", err
		}
		return c, server, statisticsQuery(version), nil
	}
	return &sqldb.Statistics{Figures: figures(), Connect: connect}, nil
}
