package mysql

import (
	"cmp"
	"context"
	"strings"

	"assay/store"
)

// pin is a session variable that assay sets on its connections if the server's configuration has
// another value.
type pin struct {
	name string
	// value is as SET takes it, and shown as SHOW VARIABLES shows it.
	value, shown string
	// why says which of assay's own statements need it.
	why string
}

// pins are the variables that change what assay's statements return or may do (MySQL manual and
// MariaDB documentation, "Server System Variables"). The prologue has more.
//
// Variables that are under test or the administrator's decision stay, as they fail with an error at
// worst: isolation, durability and replication (innodb_flush_log_at_trx_commit, sync_binlog,
// wsrep_*), time limits (max_statement_time, max_execution_time, innodb_lock_wait_timeout,
// lock_wait_timeout, wait_timeout, idle_transaction_timeout), tx_read_only and
// transaction_read_only, max_allowed_packet. No statement of assay's depends on time_zone (moments
// are UTC_TIMESTAMP), group_concat_max_len, div_precision_increment, big_tables,
// sql_quote_show_create, old_mode or default_storage_engine (tables name their engine). A user's
// script has those of the server or the address.
func pins() []pin {
	return []pin{
		{"sql_safe_updates", "0", "OFF", "all rows of a table are changed by one statement"},
		{"unique_checks", "1", "ON", "a key that is there already is refused"},
		{"foreign_key_checks", "1", "ON", "what a script's keys refuse is refused"},
		{"sql_auto_is_null", "0", "OFF", "IS NULL finds nulls alone"},
		{"sql_if_exists", "0", "OFF", "creating what is there already is an error"},
		{"max_sort_length", "1024", "1024", "ORDER BY compares whole keys"},
		{"alter_algorithm", "'DEFAULT'", "DEFAULT", "indexes can be made"},
	}
}

// unlimited are time limits lifted for loading and reading back, which are not measured. Sessions
// keep them.
func unlimited() []pin {
	const why = "loading and reading back take as long as they take"
	return []pin{
		{"max_statement_time", "0", "0.000000", why}, // MariaDB, in seconds
		{"max_execution_time", "0", "0", why},        // MySQL, in milliseconds
		{"idle_transaction_timeout", "0", "0", why},
		{"idle_readonly_transaction_timeout", "0", "0", why},
		{"idle_write_transaction_timeout", "0", "0", why},
	}
}

// ownVariables may not be set by an address; the values say why.
func ownVariables() map[string]string {
	own := map[string]string{
		"autocommit": "transactions begin and end by name", "completion_type": "COMMIT begins nothing new",
		"sql_mode": "what does not fit is refused (strict mode)", "check_constraint_checks": "no account is overdrawn",
		"tx_isolation": "--isolation", "transaction_isolation": "--isolation",
		"wsrep_on": "what is written is replicated", "sql_log_bin": "what is written is replicated",
		"sql_select_limit": "whole tables are read back", "max_join_size": "whole tables are read back",
		"sql_big_selects":      "whole tables are read back",
		"character_set_client": "texts are UTF-8", "character_set_results": "texts are UTF-8",
		"character_set_connection": "texts are UTF-8", "collation_connection": "texts are UTF-8",
	}
	for _, p := range pins() {
		own[p.name] = p.why
	}
	return own
}

// prologue are each connection's first statements. They reset what assay relies on and a server's
// configuration may have changed, and then set what the address asks for. Only MariaDB reads the
// special comment.
func (s *settings) prologue() string {
	set := []string{"NAMES utf8mb4", "autocommit = 1", "completion_type = 0", "sql_mode = 'STRICT_ALL_TABLES,NO_ENGINE_SUBSTITUTION'",
		"sql_select_limit = 18446744073709551615", "sql_big_selects = 1"}
	for _, v := range s.variables {
		set = append(set, v.assignment())
	}
	text := "SET " + strings.Join(set, ", ") + "/*M!100201 , check_constraint_checks = 1 */"
	if s.isolation != "" {
		text += "; SET SESSION TRANSACTION ISOLATION LEVEL " + s.isolation
	}
	return text
}

func (c *conn) pin(ctx context.Context, pins []pin) error {
	names := []string{"'tx_isolation'", "'transaction_isolation'"}
	for _, p := range pins {
		names = append(names, "'"+p.name+"'")
	}
	known, err := c.pairs(ctx, `SHOW SESSION VARIABLES WHERE Variable_name IN (`+strings.Join(names, ", ")+`)`)
	if err != nil {
		return err
	}
	c.level = cmp.Or(known["transaction_isolation"], known["tx_isolation"])
	var set []string
	for _, p := range pins {
		if value, has := known[p.name]; has && !strings.EqualFold(value, p.shown) {
			set = append(set, p.name+" = "+p.value)
		}
	}
	if len(set) == 0 {
		return nil
	}
	_, err = c.Change(ctx, "SET SESSION "+strings.Join(set, ", SESSION "))
	return err
}

// limits are the sessions' time limits by server or address.
func (s *settings) limits(ctx context.Context, c *conn) (limits []store.Setting, err error) {
	values, err := c.pairs(ctx, `SHOW GLOBAL VARIABLES`)
	for _, p := range unlimited() {
		if value := cmp.Or(s.given(p.name), values[p.name]); value != "" && value != p.shown && value != p.value {
			limits = append(limits, store.Setting{Name: p.name, Value: value + " (clients alone, not loading and reading back)"})
		}
	}
	return limits, err
}
