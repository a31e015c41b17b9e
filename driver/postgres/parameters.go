package postgres

import (
	"cmp"
	"context"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5"

	"assay/store"
)

// pinned are the parameters that every connection begins with, whatever the server's,
// the database's or the user's configuration says (ALTER SYSTEM, ALTER DATABASE, ALTER
// ROLE ... SET), unless the address sets them: they change what assay's own statements
// return or how their texts are read (PostgreSQL manual, "Client Connection Defaults",
// "Version and Platform Compatibility").
//
// Left as they are, because they are what is tested or the administrator's decision, and
// fail with an error at worst: isolation and durability (default_transaction_isolation,
// synchronous_commit), default_transaction_read_only, which refuses the first statement
// that writes, row_security, session_replication_role, where tables lie and how
// (default_table_access_method, default_tablespace, default_toast_compression),
// lock_timeout and the time limits of sessions (see limited). And because no statement of
// assay's depends on them: TimeZone (moments are read as seconds since 1970),
// array_nulls, backslash_quote, xmloption, the planner's enable_ and its costs. A user's
// script has those as the server or the address sets them.
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
		"quote_all_identifiers":          "off",        // the names of what is in the catalog are compared with ours
		"search_path":                    "pg_catalog", // functions are the server's own; tables are named with their schema
	}
}

// pin sets the pinned parameters that the address does not set.
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

// limited are the time limits that do not hold for loading and reading back, which are no
// part of what is measured. Sessions have them as the server or the address sets them.
// Not every version has each.
const limited = `('statement_timeout', 'transaction_timeout', 'idle_in_transaction_session_timeout', 'idle_session_timeout')`

// unlimit takes the time limits off a connection.
func unlimit(ctx context.Context, c conn) error {
	if c.ParameterStatus("crdb_version") != "" {
		return nil // CockroachDB has none by default
	}
	_, err := c.Change(ctx, unlimiting(false))
	return err
}

// unlimiting is the statement that takes the time limits off, of the transaction alone or
// of the session.
func unlimiting(transaction bool) string {
	return `SELECT set_config(name, '0', ` + strconv.FormatBool(transaction) + `) FROM pg_catalog.pg_settings WHERE setting <> '0' AND name IN ` + limited
}

// addLimits adds the time limits that sessions have, if any.
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
