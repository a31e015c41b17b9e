package postgres

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"assay/driver/drivertest"
	"assay/driver/sqldb"
	"assay/internal/expect"
	"assay/store"
	"assay/workload/bank"
	"assay/workload/definition"
	"assay/workload/script"
)

// hostile are a server's settings that could break a statement of assay's or change its result.
func hostile() map[string]string {
	return map[string]string{
		"client_encoding": "LATIN1", "standard_conforming_strings": "off", "datestyle": "German", "intervalstyle": "sql_standard",
		"bytea_output": "escape", "extra_float_digits": "-15", "default_transaction_deferrable": "on", "gin_fuzzy_search_limit": "1",
		"transform_null_equals": "on", "search_path": "hostile,pg_catalog", "timezone": "Asia/Kathmandu", "array_nulls": "off",
		"backslash_quote": "off", "xmloption": "document", "quote_all_identifiers": "on", "row_security": "off", "enable_seqscan": "off",
		"idle_in_transaction_session_timeout": "20min", "statement_timeout": "20min", "lock_timeout": "20min", "idle_session_timeout": "20min",
		"default_transaction_isolation": "repeatable read", "check_function_bodies": "off", "client_min_messages": "error", "lo_compat_privileges": "on",
	}
}

// configure sets these values for new sessions until the test ends, and puts foreign functions
// first in the search path.
func configure(t *testing.T, names ...string) {
	t.Helper()
	conn := admin(t)
	exec(t, conn, `CREATE SCHEMA hostile`)
	exec(t, conn, `CREATE FUNCTION hostile.current_setting(text) RETURNS text LANGUAGE sql AS $$ SELECT 'nonsense' $$`)
	exec(t, conn, `GRANT USAGE ON SCHEMA hostile TO public`)
	t.Cleanup(func() { exec(t, admin(t), `DROP SCHEMA hostile CASCADE`) })
	for _, name := range names {
		exec(t, conn, `SELECT set_config($1, $2, false)`, name, hostile()[name])
		exec(t, conn, `ALTER DATABASE postgres SET `+name+` FROM CURRENT`)
		t.Cleanup(func() { exec(t, admin(t), `ALTER DATABASE postgres RESET `+name) })
	}
}

func supports() []definition.Support {
	return append(drivertest.Supports(Open, sqldb.Lacks()), definition.SupportOf(script.Definition(), Open, sqldb.Lacks()))
}

// TestConfiguredServersConvictNobody: no setting for sessions makes data look lost, or blocks
// assay, nor does a publication of all tables, after which one without a key cannot be updated. If
// one of all settings does, the runs with each alone name it.
func TestConfiguredServersConvictNobody(t *testing.T) {
	names := slices.Sorted(maps.Keys(hostile()))
	if t.Run("all", func(t *testing.T) {
		configure(t, names...)
		alone(t, `CREATE PUBLICATION everything FOR ALL TABLES`)
		t.Cleanup(func() { alone(t, `DROP PUBLICATION everything`) })
		drivertest.ShortRuns(t, target(t), supports()...)
	}) {
		return
	}
	for _, name := range names {
		t.Run(name, func(t *testing.T) {
			configure(t, name)
			drivertest.ShortRuns(t, target(t), definition.SupportOf(bank.Definition(), Open, sqldb.Lacks()))
		})
	}
}

// TestPinnedParameters: every connection has them unless the address overrides them.
func TestPinnedParameters(t *testing.T) {
	configure(t, slices.Sorted(maps.Keys(hostile()))...)
	for address, want := range map[string]map[string]string{
		target(t).Address: pinned(),
		target(t, parameter("datestyle", "SQL"), parameter("extra_float_digits", "0")).Address: {"DateStyle": "SQL", "extra_float_digits": "0"},
	} {
		config, _, err := parse(store.Target{Address: address})
		expect.NoError(t, err)
		conn, err := pgx.ConnectConfig(t.Context(), config)
		expect.NoError(t, err)
		for name, value := range want {
			var found string
			if err := conn.QueryRow(t.Context(), `SELECT pg_catalog.current_setting($1)`, name).Scan(&found); err != nil || !strings.HasPrefix(found, value) {
				t.Errorf("%s is %q, want %q; %v", name, found, value, err)
			}
		}
		if err := conn.Close(t.Context()); err != nil {
			t.Error(err)
		}
	}
}

// TestTimeLimitsOfSessions hold for clients, not for assay's own work, and are reported.
func TestTimeLimitsOfSessions(t *testing.T) {
	conn := admin(t)
	for _, limit := range []string{"statement_timeout", "lock_timeout"} {
		exec(t, conn, `ALTER DATABASE postgres SET `+limit+` = '300ms'`)
		t.Cleanup(func() { exec(t, admin(t), `ALTER DATABASE postgres RESET `+limit) })
	}
	db := openBank(t, target(t))
	defer db.Close()
	var done bool
	sleep := func(c sqldb.Conn) error {
		return sqldb.One(t.Context(), c, `SELECT pg_sleep(0.6) IS NOT NULL AND current_setting('lock_timeout') = '0'`, nil, &done)
	}
	if err := db.below.Use(t.Context(), sleep); err != nil || !done {
		t.Errorf("a connection of assay's own was stopped, or could be: %v", err)
	}
	product, err := db.Describe(t.Context())
	if err != nil || !strings.Contains(fmt.Sprint(product.Settings), "statement_timeout 300ms") {
		t.Errorf("%v, %+v", err, product.Settings)
	}
	config, _, err := parse(target(t))
	expect.NoError(t, err)
	session, err := pgx.ConnectConfig(t.Context(), config)
	expect.NoError(t, err)
	defer session.Close(t.Context())
	if _, err := session.Exec(t.Context(), `SELECT pg_sleep(5)`); !hasCode(err, codeQueryCanceled) {
		t.Errorf("a session's limit is gone: %v", err)
	}
}
