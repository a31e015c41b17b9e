package mysql

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"assay/driver/drivertest"
	"assay/driver/sqldb"
	"assay/internal/expect"
	"assay/workload/bank"
	"assay/workload/definition"
	"assay/workload/script"
)

// hostile are a server's settings that could break a statement of assay's or change its result.
func hostile() map[string]string {
	return map[string]string{
		"sql_select_limit": "10", "sql_safe_updates": "1", "sql_big_selects": "0", "max_join_size": "5",
		"unique_checks": "0", "foreign_key_checks": "0", "sql_auto_is_null": "1", "sql_if_exists": "1",
		"max_sort_length": "64", "alter_algorithm": "'INSTANT'", "autocommit": "0", "completion_type": "'CHAIN'",
		"sql_mode": "'ANSI_QUOTES,NO_ZERO_DATE,PIPES_AS_CONCAT,SIMULTANEOUS_ASSIGNMENT'", "check_constraint_checks": "0",
		"character_set_client": "'latin1'", "character_set_results": "'latin1'", "collation_connection": "'latin1_bin'",
		"time_zone": "'-07:00'", "group_concat_max_len": "4", "div_precision_increment": "0", "big_tables": "1",
		"default_storage_engine": "'MyISAM'", "old_mode": "'ZERO_DATE_TIME_CAST'", "lock_wait_timeout": "1",
		"sql_quote_show_create": "0", "idle_transaction_timeout": "1", "tmp_table_size": "1024", "local_infile": "0",
	}
}

// configure sets these values for new sessions until the test ends.
func configure(t *testing.T, names ...string) {
	t.Helper()
	conn := admin(t)
	for _, name := range names {
		was := value(t, conn, `SELECT coalesce(@@global.`+name+`, '')`)
		if strings.Trim(was, "0123456789.") != "" || was == "" {
			was = "'" + was + "'"
		}
		exec(t, conn, `SET GLOBAL `+name+` = `+hostile()[name])
		t.Cleanup(func() { exec(t, admin(t), `SET GLOBAL `+name+` = `+was) })
	}
}

func supports() []definition.Support {
	return append(drivertest.Supports(Open, sqldb.Lacks()), definition.SupportOf(script.Definition(), Open, sqldb.Lacks()))
}

// TestConfiguredServersConvictNobody: no setting for sessions makes data look lost, or blocks
// assay. If one of all does, the runs with each alone name it.
func TestConfiguredServersConvictNobody(t *testing.T) {
	const engine = "default_storage_engine" // of a script's tables it is the subject
	names := slices.DeleteFunc(slices.Sorted(maps.Keys(hostile())), func(name string) bool { return name == engine })
	if t.Run("all", func(t *testing.T) {
		configure(t, names...)
		drivertest.ShortRuns(t, target(), supports()...)
	}) {
		names = nil
	}
	for _, name := range append(names, engine) {
		t.Run(name, func(t *testing.T) {
			configure(t, name)
			drivertest.ShortRuns(t, target(), definition.SupportOf(bank.Definition(), Open, sqldb.Lacks()))
		})
	}
}

// TestPinnedVariables: every connection has them, and no address changes them.
func TestPinnedVariables(t *testing.T) {
	names := []string{"sql_select_limit", "sql_big_selects", "max_join_size"}
	for _, p := range pins() {
		names = append(names, p.name)
	}
	configure(t, names...)
	store := openBank(t, target())
	defer store.Close()
	ours := store.below.schema
	err := ours.use(t.Context(), func(c *conn) error {
		found, err := c.pairs(t.Context(), `SHOW SESSION VARIABLES`)
		for _, p := range pins() {
			if found[p.name] != p.shown {
				t.Errorf("%s is %q, want %q", p.name, found[p.name], p.shown)
			}
		}
		return err
	})
	expect.NoError(t, err)
	for _, name := range append(names, "character_set_client", "character_set_connection", "character_set_results", "collation_connection") {
		if _, err := parse(target(parameter(name, "1"))); err == nil {
			t.Errorf("an address may set %s", name)
		}
	}
}

// TestTimeLimitsOfSessions hold for clients, not for assay's own work, and are reported.
func TestTimeLimitsOfSessions(t *testing.T) {
	exec(t, admin(t), `SET GLOBAL max_statement_time = 0.5`)
	t.Cleanup(func() { exec(t, admin(t), `SET GLOBAL max_statement_time = 0`) })
	store := openBank(t, target())
	defer store.Close()
	ours := store.below.schema
	var slept int64
	err := ours.use(t.Context(), func(c *conn) error { return sqldb.One(t.Context(), c, `SELECT SLEEP(1)`, nil, &slept) })
	if err != nil || slept != 0 {
		t.Errorf("a connection of assay's own slept: %d, %v", slept, err)
	}
	c, err := ours.hosts[0].connect(t.Context(), "", pins())
	expect.NoError(t, err)
	defer c.HangUp()
	began := time.Now()
	if err := sqldb.One(t.Context(), c, `SELECT SLEEP(5)`, nil, &slept); err == nil && slept == 0 {
		t.Errorf("a session slept for %v", time.Since(began))
	}
	product, err := store.Describe(t.Context())
	if err != nil || !strings.Contains(fmt.Sprint(product.Settings), "max_statement_time 0.5") {
		t.Errorf("%v, %+v", err, product.Settings)
	}
}
