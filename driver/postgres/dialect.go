package postgres

import (
	"cmp"
	"context"
	"net/url"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"

	"assay/driver/sqldb"
	"assay/store"
)

const dialectParameter = "dialect"

// dialect has the differences between products with PostgreSQL's protocol. In texts %[1]s is the
// schema and %[2]s the table. CockroachDB's behaviour is from its documentation ("docs": v24.1 to
// v25.2); none was at hand for a test.
type dialect struct {
	name string
	// levels are the isolation levels; at snapshot a read-only transaction sees one state.
	levels   []string
	snapshot string
	// commitsFirst: a statement that is its own transaction commits before its answer; see
	// errorTable.
	commitsFirst bool
	// copies: rows are loaded by COPY. Otherwise they are loaded by INSERT, and each statement is
	// its own transaction.
	copies bool
	// lateKeys: keys and indexes are made after loading, since one sort beats many insertions.
	lateKeys bool
	// fillfactor follows the columns of an often updated table. Room in the page lets an update
	// leave the indexes alone (manual, "Heap-Only Tuples"). 90 keeps room for some fifteen
	// versions among 140 rows; pruning frees it again. Of 300,000 updates of 100,000 accounts by
	// eight sessions, 95 % stayed on their page at 100, 98 to 99.7 % at 90 and 99.9 % at 80, at
	// the same speed.
	fillfactor string
	// notNull follows a column %s, so that the error names the violated column.
	notNull string
	refresh string
	// repairs give back space; noRepair says why there are none.
	repairs  []string
	noRepair string
	// engine is the only storage engine; empty if there are compressors to choose from.
	engine string
	// standbys: servers follow a primary's log and may answer with an older state. Otherwise any
	// server answers for all.
	standbys bool
	// waits: the server tells what sessions wait for.
	waits    bool
	settings []string
	// whereSessions follows the comparison of the sessions' name, to select a database's
	// sessions by it alone; %[1]s is the database.
	whereSessions string
	// stepwise: each change of the schema is a transaction of its own.
	stepwise bool

	own
}

// own has the statements that other products cannot parse.
type own struct {
	// session asks for a session's identity; if it is empty, the process id serves.
	session string
	// sessions lists this database's sessions of the name $1; end ends the session with id %s.
	sessions, end string
	// size asks for a table's bytes, its indexes' bytes, and its rows.
	size string
	// others is sqldb.Catalog's.
	others string
	// hintSize advises a user who may not ask for size.
	hintSize string
}

func postgresql() dialect {
	const sessions = ` FROM pg_stat_activity WHERE application_name = $1 AND datname = current_database()`
	return dialect{
		name:     "postgresql",
		levels:   []string{"read committed", "repeatable read", serializable},
		snapshot: "repeatable read",
		copies:   true, lateKeys: true,
		fillfactor: " WITH (fillfactor = 90)",
		notNull:    "NOT NULL",
		refresh:    "VACUUM (ANALYZE)",
		repairs:    []string{"VACUUM", "VACUUM FULL"},
		standbys:   true, waits: true,
		settings: []string{
			"fsync", "synchronous_commit", "full_page_writes", "wal_level", "shared_buffers", "max_connections",
			"synchronous_standby_names", "wal_writer_delay",
		},
		own: own{others: othersOf, sessions: `SELECT pid::text, coalesce(state, 'in an unknown state')` + sessions, end: `SELECT pg_terminate_backend(pid)` + sessions + ` AND pid = %s`, size: `SELECT pg_table_size('%[1]s.%[2]s'::regclass),
			pg_indexes_size('%[1]s.%[2]s'::regclass), (SELECT count(*) FROM %[1]s.%[2]s)`},
	}
}

// cockroachdb is CockroachDB. Sources are its docs:
//
//   - It has serializable, the default, and read committed ("Transactions").
//   - A statement outside of a transaction commits before its answer, so that its error may be the
//     commit's ("Common Errors", "result is ambiguous").
//   - An error names a violated constraint, but not the column of a null (pkg/sql/check.go,
//     checkMutationInput). So named constraints keep nulls out.
//   - A table without a key gets a hidden one ("Primary Key"), which a late key would replace.
//   - Space comes back when versions are old enough ("Configure Replication Zones", gc.ttlseconds);
//     there is no VACUUM. Pebble stores the tables ("Storage Layer").
//   - Every node's reads see all commits before them, except AS OF SYSTEM TIME ("Transaction
//     Layer", "Reading").
//   - Schema changes work only outside of explicit transactions ("Online Schema Changes"). From
//     v25.1 on they commit a transaction ("Session Variables", autocommit_before_ddl).
//   - Sessions are listed for the whole cluster, without their database ("SHOW SESSIONS").
//   - Sizes are of all replicas, compressed and approximate ("SHOW RANGES", "Span Statistics").
func cockroachdb() dialect {
	const sessions = `WITH s AS (SHOW CLUSTER SESSIONS) SELECT session_id`
	const named = ` FROM s WHERE application_name = $1 AND status <> 'CLOSED'`
	return dialect{
		name:          "cockroachdb",
		levels:        []string{"read committed", serializable},
		snapshot:      serializable,
		commitsFirst:  true,
		notNull:       "CONSTRAINT " + knownPrefix + "%s CHECK (%s IS NOT NULL)",
		refresh:       "ANALYZE",
		noRepair:      "postgresql; CockroachDB gives space back by itself when gc.ttlseconds have passed, and has no repair to be asked for",
		engine:        "pebble",
		stepwise:      true,
		whereSessions: " in %[1]s",
		own: own{
			others:   othersPlain,
			session:  `SELECT current_setting('session_id')`,
			sessions: sessions + `, coalesce(status, '')` + named,
			end:      `CANCEL SESSIONS IF EXISTS (` + sessions + named + ` AND session_id = '%s')`,
			size: `WITH r AS (SHOW RANGES FROM TABLE %[1]s.%[2]s WITH INDEXES, DETAILS),
				b AS (SELECT index_name, (span_stats->>'approximate_disk_bytes')::int8 AS bytes FROM r
					WHERE schema_name = '%[1]s' AND table_name = '%[2]s')
				SELECT (SELECT coalesce(sum(bytes), 0)::int8 FROM b WHERE index_name = '%[2]s_pkey'),
					(SELECT coalesce(sum(bytes), 0)::int8 FROM b WHERE index_name <> '%[2]s_pkey'),
					(SELECT count(*) FROM %[1]s.%[2]s)`,
			hintSize: "SHOW RANGES needs the role admin or the privilege ZONECONFIG",
		},
	}
}

// takeDialect takes the dialect out of an address, since pgx and the server do not know it. The
// last of several counts; name is empty if there is none. It returns *store.OptionError for an
// unknown dialect.
func takeDialect(address string) (rest, name string, err error) {
	front, query, found := strings.Cut(address, "?")
	if !found {
		return address, "", nil
	}
	var kept []string
	told := false
	for _, part := range strings.Split(query, "&") {
		key, value, _ := strings.Cut(part, "=")
		if key != dialectParameter {
			kept = append(kept, part)
			continue
		}
		told = true
		if name, err = url.QueryUnescape(value); err != nil {
			name = value
		}
	}
	if !told {
		return address, "", nil
	}
	if name != postgresql().name && name != cockroachdb().name {
		return "", "", &store.OptionError{Option: dialectParameter, Value: name,
			Want: postgresql().name + ", " + cockroachdb().name}
	}
	if len(kept) > 0 {
		front += "?" + strings.Join(kept, "&")
	}
	return front, name, nil
}

// dialectOf recognizes the dialect by the beginning of the server's version().
func dialectOf(banner string) dialect {
	if strings.HasPrefix(banner, "CockroachDB") {
		return cockroachdb()
	}
	return postgresql()
}

// findDialect is the named dialect or, without a name, the server's.
func findDialect(ctx context.Context, c conn, name string) (dialect, error) {
	if name == postgresql().name {
		return postgresql(), nil
	}
	var banner string
	var session bool // no product but CockroachDB has this setting
	err := sqldb.One(ctx, c, `SELECT version(), current_setting('session_id', true) IS NOT NULL`, nil, &banner, &session)
	if err != nil {
		return dialect{}, err
	}
	if name == "" {
		return dialectOf(banner), nil
	}
	d := cockroachdb()
	if !session {
		// The dialect is tried on PostgreSQL, which cannot parse its own statements.
		d.own, d.whereSessions = postgresql().own, ""
		d.others = othersPlain
	}
	return d, nil
}

// productOf is name and version from version(). PostgreSQL's version is the reported parameter; in
// CockroachDB that is the PostgreSQL it imitates.
func productOf(banner, reported string) (name, version string) {
	words := strings.Fields(banner)
	if len(words) == 0 {
		return "unknown", reported
	}
	if dialectOf(banner).name == cockroachdb().name {
		for _, word := range words[1:] {
			if len(word) > 1 && word[0] == 'v' && word[1] >= '0' && word[1] <= '9' {
				return words[0], word
			}
		}
		return words[0], cmp.Or(strings.Join(words[1:], " "), "unknown")
	}
	return words[0], reported
}

// validatePrimary is pgx's search for a primary, which CockroachDB has not. CockroachDB is
// recognized by a parameter that it alone reports (as in pgx's tests).
func validatePrimary(ctx context.Context, conn *pgconn.PgConn) error {
	if conn.ParameterStatus("crdb_version") != "" {
		return nil
	}
	return pgconn.ValidateConnectTargetSessionAttrsPrimary(ctx, conn)
}
