package mysql

import (
	"cmp"
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"assay/driver/encryption"
	"assay/driver/sqldb"
	"assay/store"
)

type server struct {
	name, version string
	mariadb       bool
	galera        bool
	level         string // the default isolation level, in SQL's words
	// snapshots is true if the server refuses a change of a row that another transaction changed
	// since the snapshot. strict is the setting that decides it, or nil.
	snapshots bool
	strict    *strictness
	// syncWait is true if a read waits for everything that the cluster has committed
	// (wsrep_sync_wait, bit 1).
	syncWait bool
	checks   string
}

// strictness is a setting and its values with which repeatable read refuses, or does not refuse, to
// change what another transaction changed since the snapshot.
type strictness struct{ name, refuses, changes string }

func (s *strictness) on() string { return s.name + "=" + s.refuses }

func (s *strictness) off() string { return s.name + "=" + s.changes }

func strictnesses() []*strictness {
	return []*strictness{{"innodb_snapshot_isolation", "ON", "OFF"}, {"tidb_txn_mode", "optimistic", "pessimistic"}}
}

// autoRetry is a variable of TiDB before 8.0. If it is OFF, the server repeats an optimistic
// transaction's writes after a conflict, which may break its isolation level ("TiDB Optimistic
// Transaction Model", "Automatic retry").
const autoRetry = "tidb_disable_txn_auto_retry"

// askServer asks for a server. tx_isolation is called transaction_isolation since MySQL 8.0 and
// MariaDB 11.1.
func askServer(ctx context.Context, c *conn) (s server, err error) {
	values, err := c.pairs(ctx, `SHOW SESSION VARIABLES WHERE Variable_name IN ('version', 'tx_isolation', 'transaction_isolation',
		'innodb_snapshot_isolation', 'wsrep_sync_wait', 'tidb_enable_check_constraint', 'tidb_txn_mode', '`+autoRetry+`')`)
	if err != nil {
		return s, err
	}
	s.version = values["version"]
	s.mariadb = strings.Contains(s.version, "MariaDB")
	s.name = "MySQL"
	if s.mariadb {
		s.name = "MariaDB"
	}
	s.galera = c.look.galera
	s.level = strings.ReplaceAll(cmp.Or(values["transaction_isolation"], values["tx_isolation"]), "-", " ")
	wait, _ := strconv.Atoi(values["wsrep_sync_wait"]) // 0 where there is no such variable
	s.syncWait = wait&1 != 0
	for _, by := range strictnesses() {
		if value, has := values[by.name]; has {
			s.strict, s.snapshots = by, !strings.EqualFold(value, by.changes) && !strings.EqualFold(values[autoRetry], "OFF")
		}
	}
	s.checks = values["tidb_enable_check_constraint"]
	return s, nil
}

var versionNumbers = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^(?:5\.5\.5-)?(\d+)\.(\d+)\.(\d+)`) })

const innodb, rocksdb = "InnoDB", "ROCKSDB"

// chooseEngine returns the engine in the server's spelling, or *store.OptionError with the
// transactional engines.
func chooseEngine(ctx context.Context, c *conn, name string) (string, error) {
	wanted := cmp.Or(name, innodb)
	if strings.EqualFold(wanted, "MyRocks") {
		wanted = rocksdb
	}
	var engines []string
	err := c.values(ctx, func(row []driver.Value) error {
		engines = append(engines, sqldb.TextOf(row[0]))
		return nil
	}, `SELECT engine FROM information_schema.engines WHERE support IN ('YES', 'DEFAULT') AND transactions = 'YES'
		AND engine <> 'SEQUENCE' ORDER BY engine`)
	if err != nil {
		return "", err
	}
	for _, engine := range engines {
		if !strings.EqualFold(engine, wanted) {
			continue
		}
		if c.look.galera && !strings.EqualFold(engine, innodb) {
			return "", &store.OptionError{Option: "engine", Value: name, Want: innodb + ", the only one that Galera replicates"}
		}
		return engine, nil
	}
	return "", &store.OptionError{Option: "engine", Value: cmp.Or(name, innodb), Want: cmp.Or(strings.Join(engines, ", "), "none: the server has no engine with transactions")}
}

// chooseLevel is the level in force. MyRocks has two of the four (MariaDB documentation, "MyRocks
// and CREATE TABLE", limitations).
func (p *schema) chooseLevel() (string, error) {
	level := cmp.Or(p.isolation, p.server.level)
	if !slices.Contains(levels(), level) {
		return "", fmt.Errorf("the server's default isolation level is %q, which assay does not know; name one with --isolation", level)
	}
	if err := p.dialect.admits(level); err != nil { // by tidb_skip_isolation_level_check, say
		return "", err
	}
	if p.engine == rocksdb && level != readCommitted && level != repeatableRead {
		return "", &store.OptionError{Option: "isolation level", Value: strings.ToLower(level), Want: "read committed, repeatable read: MyRocks has no other"}
	}
	return level, nil
}

var described = []string{
	"innodb_flush_log_at_trx_commit", "innodb_flush_log_at_timeout", "innodb_doublewrite", "innodb_flush_method", "innodb_log_file_write_through", "debug_no_sync", "innodb_buffer_pool_size",
	lockWait, "innodb_deadlock_detect", "innodb_snapshot_isolation", "rocksdb_flush_log_at_trx_commit",
	"rocksdb_lock_wait_timeout", "rocksdb_deadlock_detect",
	"log_bin", "sync_binlog", "binlog_format", "max_connections", "read_only",
	"wsrep_sync_wait", "wsrep_slave_threads", "wsrep_sst_method",
	"tidb_txn_mode", autoRetry, "tidb_enable_async_commit", "tidb_enable_1pc", "tidb_guarantee_linearizability", "tidb_replica_read", "tidb_read_staleness",
	"tidb_constraint_check_in_place_pessimistic", "tidb_enable_check_constraint",
	"rpl_semi_sync_master_enabled", "rpl_semi_sync_master_wait_point", "rpl_semi_sync_master_timeout",
	"rpl_semi_sync_source_enabled", "rpl_semi_sync_source_wait_point", "rpl_semi_sync_source_timeout", "rpl_semi_sync_source_wait_for_replica_count",
	"group_replication_consistency", "group_replication_member_expel_timeout", "group_replication_unreachable_majority_timeout",
}

// lockWait bounds a statement's wait for a row's lock, in seconds.
const lockWait = "innodb_lock_wait_timeout"

// tells reports whether a variable matters to a server with tables of these engines.
func (d dialect) tells(name string, engines []string) bool {
	switch {
	case d.settings != "":
		return strings.HasPrefix(name, d.settings) || name == lockWait
	case strings.HasPrefix(name, "innodb_"):
		return slices.Contains(engines, innodb)
	case strings.HasPrefix(name, "rocksdb_"):
		return slices.Contains(engines, rocksdb)
	}
	return true
}

// confirming are the status variables that count the replicas confirming commits.
func confirming() []string {
	return []string{"Rpl_semi_sync_master_clients", "Rpl_semi_sync_source_clients"}
}

// isOff reports whether a variable belongs to a kind of replication that is off.
func isOff(name string, values map[string]string, l look) bool {
	switch {
	case strings.HasPrefix(name, "wsrep_"):
		return !l.galera
	case strings.HasPrefix(name, "group_replication_"):
		return !l.grouped
	case strings.HasPrefix(name, "rpl_semi_sync_") && !strings.HasSuffix(name, "_enabled"):
		return values["rpl_semi_sync_master_enabled"] != "ON" && values["rpl_semi_sync_source_enabled"] != "ON"
	}
	return false
}

// enginesInUse lists the engines of the present or planned tables: a script may have chosen them,
// or the server may have replaced the engine asked for. Engines without settings of their own are
// listed with their tables.
func (p *schema) enginesInUse(ctx context.Context, c *conn, add func(name, value string)) (engines []string, err error) {
	if p.dialect.where != "" {
		var in string
		err := sqldb.One(ctx, c, p.dialect.where, nil, &in)
		if hasCode(err, codePrivilege) { // hosted servers hide their configuration (IsInvisibleSysVar of TiDB's source)
			return nil, nil
		}
		add("store", in)
		return nil, err
	}
	stored, err := p.StoredTables(ctx, c)
	if err != nil {
		return nil, err
	}
	for _, s := range stored {
		engines = append(engines, s.Way)
	}
	if len(engines) == 0 {
		engines = []string{p.engine}
	}
	add("engine", strings.Join(engines, ", "))
	for _, s := range stored {
		if s.Way != innodb && s.Way != rocksdb {
			add(store.SettingStoredAs+s.Way, s.Tables)
		}
	}
	return engines, nil
}

func (p *schema) derives() bool {
	return slices.ContainsFunc(p.Tables, func(t store.Table) bool {
		return slices.ContainsFunc(t.Columns, func(c store.Column) bool { return c.Derived })
	})
}

// Describe asks the server.
func (p *schema) Describe(ctx context.Context) (store.Product, error) {
	product := store.Product{Name: p.server.name, Version: p.server.version}
	add := func(name, value string) {
		product.Settings = append(product.Settings, store.Setting{Name: name, Value: cmp.Or(value, "(none)")})
	}
	err := p.use(ctx, func(c *conn) error {
		engines, err := p.enginesInUse(ctx, c, add)
		if err != nil {
			return err
		}
		add("isolation", strings.ToLower(p.level))
		if p.settings.dialect != "" || p.dialect.name != dialects()[0].name {
			add("dialect", p.dialect.name)
		}
		add(encryption.Setting, p.encryption.describe(c))
		if p.derives() {
			add("statements", map[bool]string{false: statementsTogether, true: statementsApart}[p.apart()])
		}
		values, err := c.pairs(ctx, `SHOW VARIABLES`)
		if err != nil {
			return err
		}
		for _, name := range described {
			value, known := values[name]
			switch {
			case !known, isOff(name, values, c.look), !p.dialect.tells(name, engines):
				continue
			}
			add(name, value)
		}
		limits, err := p.limits(ctx, c)
		if err != nil {
			return err
		}
		product.Settings = append(product.Settings, limits...)
		product.Changed = p.changed(ctx, c)
		product.Topology.Nodes, err = p.size(ctx, c, add)
		if product.Topology.Nodes > 1 {
			product.Topology.Replicas = product.Topology.Nodes
		}
		return err
	})
	if err != nil {
		return store.Product{}, p.Operation("describe", err)
	}
	return product, nil
}

// changed lists settings that somebody has set (MariaDB, "Information Schema SYSTEM_VARIABLES
// Table"; MySQL, "Performance Schema variables_info Table"), as far as this user may see them.
func (p *schema) changed(ctx context.Context, c *conn) []store.Setting {
	query := `SELECT i.VARIABLE_NAME, g.VARIABLE_VALUE FROM performance_schema.variables_info i
		JOIN performance_schema.global_variables g USING (VARIABLE_NAME) WHERE i.VARIABLE_SOURCE <> 'COMPILED'`
	if strings.Contains(p.server.name, "MariaDB") {
		query = `SELECT lower(VARIABLE_NAME), GLOBAL_VALUE FROM information_schema.SYSTEM_VARIABLES
			WHERE GLOBAL_VALUE_ORIGIN IN ('CONFIG', 'COMMAND-LINE', 'SQL') AND GLOBAL_VALUE <> DEFAULT_VALUE`
	}
	values, err := c.pairs(ctx, query)
	if err != nil {
		return nil
	}
	return store.Changed(values)
}

// size counts the servers with the same data, as far as this server tells, and adds what it tells.
func (p *schema) size(ctx context.Context, c *conn, add func(name, value string)) (int, error) {
	switch {
	case c.look.galera:
		status, err := c.pairs(ctx, `SHOW GLOBAL STATUS LIKE 'wsrep_cluster_size'`)
		if err != nil {
			return 0, err
		}
		size, err := strconv.Atoi(status["wsrep_cluster_size"])
		if err != nil {
			return 0, errors.New("the Galera node does not tell the size of its cluster")
		}
		if p.derives() && p.waitsInAudits() {
			add("audits", "wsrep_sync_wait=1")
		}
		add("wsrep_cluster_size", strconv.Itoa(size))
		return size, nil
	case c.look.grouped:
		g, err := c.askGroup(ctx)
		if err == nil && g.state != "" {
			add(store.SettingGroupSize, strconv.Itoa(g.size))
		}
		return max(g.size, 1), err
	}
	status, err := c.pairs(ctx, `SHOW GLOBAL STATUS WHERE Variable_name IN ('`+strings.Join(confirming(), "', '")+`')`)
	if err != nil {
		return 0, err
	}
	for _, name := range confirming() {
		if n, _ := strconv.Atoi(status[name]); n > 0 { // what is no number counts for none
			add(store.SettingConfirming, status[name])
		}
	}
	var followers int64 // whoever reads the binary log
	err = sqldb.One(ctx, c, `SELECT count(*) FROM information_schema.processlist WHERE command LIKE 'Binlog Dump%'`, nil, &followers)
	if followers > 0 {
		add(store.SettingReplicas, strconv.FormatInt(followers, 10))
	}
	return 1 + int(followers), err
}
