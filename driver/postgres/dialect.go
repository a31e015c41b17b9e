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

// dialectParameter is the address's parameter that names the dialect.
const dialectParameter = "dialect"

// dialect is where the products that speak PostgreSQL's protocol differ, as far
// as this driver notices. Texts with %[1]s and %[2]s take the schema and the
// table. What CockroachDB does is by its documentation ("docs": CockroachDB
// Docs, v24.1 to v25.2); no CockroachDB was at hand when it was written.
type dialect struct {
	// name is as in the address.
	name string
	// levels are the isolation levels that there are, and snapshot is one at
	// which a read-only transaction sees one state.
	levels   []string
	snapshot string
	// commitsFirst is whether a statement that is its own transaction is committed
	// before it is answered; see errorTable.
	commitsFirst bool
	// copies is whether COPY is the way to load. Without it rows are loaded by
	// INSERT, and each statement is its own transaction.
	copies bool
	// lateKeys is whether keys and indexes are better made when the rows are in:
	// sorting once beats a hundred million insertions.
	lateKeys bool
	// fillfactor is behind the columns of a table whose rows are updated all the
	// time, so that an update can stay on its page and leave the indexes alone (a
	// heap-only tuple; manual, "Heap-Only Tuples") if the page has room. 90 keeps
	// room for some fifteen new versions among the 140 rows of a page; when it is
	// used up, the page is pruned and the room is back. Over 300,000 updates of
	// 100,000 accounts by eight sessions, 95 % stayed on their page at fillfactor
	// 100, 98 to 99.7 % at 90, 99.9 % at 80, at no difference in speed: 90 has
	// nearly all of it for half of the space.
	fillfactor string
	// notNull is behind a column that must not be null, %s, so that the
	// server's error names what was violated.
	notNull string
	// refresh is what is done to a table after loading.
	refresh string
	// repairs are the ways to give back space; noRepair says why there are none.
	repairs  []string
	noRepair string
	// engine is the only storage engine there is; empty if there are compressors
	// to choose from.
	engine string
	// standbys is whether servers follow a primary's log, and may answer with an
	// older state than it does. Without, any server answers for all.
	standbys bool
	// waits is whether the server tells what sessions wait for.
	waits bool
	// settings are those that decide what a result means.
	settings []string
	// whereSessions is behind the sessions' name, where only that name tells the
	// sessions of one database from those of another; %[1]s is the database.
	whereSessions string
	// stepwise is whether the schema is changed a statement at a time, each its
	// own transaction.
	stepwise bool

	own
}

// own are the statements that other products do not even parse, each in its own
// words.
type own struct {
	// session asks a session for what tells it from others; where it is empty
	// the process id does.
	session string
	// sessions lists the sessions of the name $1 in this database, and end ends one
	// of them, of the id %s.
	sessions, end string
	// size asks for the bytes of a table and of its indexes, and its rows.
	size string
	// others is sqldb.Catalog's.
	others string
	// hintSize is what to do if the user may not ask for it.
	hintSize string
}

// postgresql is PostgreSQL itself.
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

// cockroachdb is CockroachDB.
//
//   - It "offers two transaction isolation levels", serializable, its default, and
//     read committed (docs, "Transactions"); others are not asked for.
//   - A statement outside of a transaction commits before it is answered, so that
//     its error may be one of the commit: "ambiguity is only possible for the
//     last statement of a transaction [...] or for statements outside a
//     transaction" (docs, "Common Errors", "result is ambiguous").
//   - It tells the name of a violated constraint, and not the column of a null
//     (pkg/sql/check.go, checkMutationInput); so nulls are kept out by named
//     constraints.
//   - A table without a primary key gets a hidden one (docs, "Primary Key"),
//     which a later key would have to replace.
//   - Space comes back by itself when versions are old enough (docs,
//     "Configure Replication Zones", gc.ttlseconds); there is no VACUUM. Tables
//     are stored by Pebble (docs, "Storage Layer").
//   - Reads "see all writes performed by writers that committed before the
//     reading transaction [...] or statement [...] started", whatever node is
//     asked, unless AS OF SYSTEM TIME asks for stale ones (docs, "Transaction
//     Layer", "Reading").
//   - It "only supports DDL changes within implicit transactions (individual
//     statements)" (docs, "Online Schema Changes"), and from v25.1 on a change of
//     the schema commits the transaction that it is in (docs, "Session Variables",
//     autocommit_before_ddl).
//   - Sessions are listed for the whole cluster, without their database (docs,
//     "SHOW SESSIONS").
//   - Sizes are of all replicas, after compression, and approximate (docs, "SHOW
//     RANGES", "Span Statistics").
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

// takeDialect takes the dialect out of an address, so that nobody sees it who
// does not know it. name is empty if there is none; the last of several counts.
// Errors: *store.OptionError for one that does not exist.
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

// dialectOf is the dialect of a server whose function version says this. It
// begins with the product's name.
func dialectOf(banner string) dialect {
	if strings.HasPrefix(banner, "CockroachDB") {
		return cockroachdb()
	}
	return postgresql()
}

// findDialect returns the dialect of the name or, if that is empty, the one that
// the server's version tells.
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
		// The dialect is being tried on PostgreSQL, which does not parse some of
		// its statements.
		d.own, d.whereSessions = postgresql().own, ""
		d.others = othersPlain
	}
	return d, nil
}

// productOf returns the name and the version in what a server says of itself.
// PostgreSQL's version is what it reports to clients; what CockroachDB reports is
// the PostgreSQL that it wants to be taken for.
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

// validatePrimary is pgx's look for a primary, which CockroachDB has none of. It
// is known before any query by a parameter that it alone reports (pgx's own
// tests tell it so).
func validatePrimary(ctx context.Context, conn *pgconn.PgConn) error {
	if conn.ParameterStatus("crdb_version") != "" {
		return nil
	}
	return pgconn.ValidateConnectTargetSessionAttrsPrimary(ctx, conn)
}
