package postgres

import (
	"cmp"
	"context"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5"

	"assay/store"
)

// pinned are set at each connection's start, whatever server, database or user have set (ALTER
// SYSTEM, ALTER DATABASE, ALTER ROLE ... SET), unless the address sets them. They change the
// results or the reading of assay's own statements (manual, "Client Connection Defaults", "Version
// and Platform Compatibility").
//
// Settings that are under test or the administrator's decision stay, as they fail with an error at
// worst: isolation, durability, default_transaction_read_only, row_security,
// session_replication_role, the place and form of tables, sessions' time limits (see limited). No
// statement of assay's depends on TimeZone (moments are seconds since 1970), array_nulls,
// backslash_quote, xmloption or the planner's settings. A user's script has those of the server.
func pinned() map[string]string {
	return map[string]string{
		"client_encoding":                "UTF8",
		"standard_conforming_strings":    "on",
		"DateStyle":                      "ISO",
		"IntervalStyle":                  "postgres",
		"bytea_output":                   "hex",
		"extra_float_digits":             "3",   // each number has a text of its own
		"default_transaction_deferrable": "off", // a serializable audit would wait for the clients
		"gin_fuzzy_search_limit":         "0",   // an index gives all that it finds
		"transform_null_equals":          "off",
		parameterMessages:                "notice",     // or a commit that no longer waits for its standby looks replicated
		"quote_all_identifiers":          "off",        // the names of what is in the catalog are compared with ours
		"search_path":                    "pg_catalog", // functions are the server's own; tables are named with their schema
	}
}

const parameterMessages = "client_min_messages"

func pin(config *pgx.ConnConfig) {
	given := map[string]bool{}
	for name := range config.RuntimeParams {
		given[strings.ToLower(name)] = true
	}
	for name, value := range pinned() {
		if !given[strings.ToLower(name)] {
			config.RuntimeParams[name] = value
		}
	}
}

// limited are time limits lifted for loading and reading back, which are not measured. Sessions
// keep them. Not every version has each.
const limited = `('statement_timeout', 'lock_timeout', 'transaction_timeout', 'idle_in_transaction_session_timeout', 'idle_session_timeout')`

func unlimit(ctx context.Context, c conn) error {
	if c.ParameterStatus("crdb_version") != "" {
		return nil // CockroachDB has none by default
	}
	_, err := c.Change(ctx, unlimiting(false))
	return err
}

// unlimiting is the statement that lifts the time limits, for the transaction or the session.
func unlimiting(transaction bool) string {
	return `SELECT set_config(name, '0', ` + strconv.FormatBool(transaction) + `) FROM pg_catalog.pg_settings WHERE setting <> '0' AND name IN ` + limited
}

func addLimits(ctx context.Context, c conn, limits []store.Setting) (_ []store.Setting, err error) {
	if c.ParameterStatus("crdb_version") != "" {
		return limits, nil
	}
	err = c.Query(ctx, `SELECT name, reset_val, coalesce(unit, '') FROM pg_catalog.pg_settings WHERE reset_val NOT IN ('0', '-1')
		AND name IN `+limited+` ORDER BY name`, func(row store.Row) error {
		var name, value, unit string
		err := row.Scan(&name, &value, &unit)
		limits = append(limits, store.Setting{Name: name, Value: value + cmp.Or(unit, "ms") + " (clients alone, not loading and reading back)"})
		return err
	})
	return limits, err
}
