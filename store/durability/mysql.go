package durability

import (
	"maps"
	"time"

	"assay/store"
)

// Settings that say when a commit writes and syncs the log of an engine.
const (
	flushLog = "innodb_flush_log_at_trx_commit"
	rocksLog = "rocksdb_flush_log_at_trx_commit"
)

const mysqlManual = `MariaDB documentation, "InnoDB System Variables"; MySQL manual, "InnoDB Startup Options and System Variables"`

// mysql follows the manuals of MariaDB ("InnoDB System Variables",
// innodb_flush_log_at_trx_commit; "Binary Log", sync_binlog; "Galera Cluster") and of MySQL (the
// same names; "Group Replication").
func mysql(product string, s settings) Guarantee {
	const manual = mysqlManual
	if s[flushLog] != "" && s[rocksLog] != "" { // tables of both
		inno, rocks := maps.Clone(s), maps.Clone(s)
		delete(inno, rocksLog)
		delete(rocks, flushLog)
		return weaker(mysql(product, inno), mysql(product, rocks))
	}
	name := flushLog
	if s[rocksLog] != "" {
		name = rocksLog
	}
	g := s.flushed(product, name)
	if crash := s.torn(name); crash.Known() {
		g = both(crash, g)
	}
	g.Failover = Unbounded                 // replication is asynchronous ("Replication Overview")
	if s.count("wsrep_cluster_size") > 1 { // a commit returns once every node has the write set
		return Guarantee{Class: Majority, AllNodes: g.AllNodes, AllKilled: g.Killed, Source: g.Source + ", " + s.source("wsrep_cluster_size"),
			Manual: manual + `; MariaDB Galera Cluster documentation, "Certification-Based Replication"`}
	}
	// "For a transaction to commit, the majority of the group have to agree".
	if s.count(store.SettingGroupSize) > 2 {
		return Guarantee{Class: Majority, AllNodes: g.AllNodes, AllKilled: g.Killed, Source: g.Source + ", " + s.source(store.SettingGroupSize),
			Manual: manual + `; MySQL manual, "Group Replication"`}
	}
	switch semisync := s.lossless(); {
	case semisync != "":
		g.Failover = 0
		g.Source += ", " + semisync
		g.Manual += `; MySQL manual, "Semisynchronous Replication" (rpl_semi_sync_source_wait_point: failover to the replica is lossless); MariaDB documentation, "Semisynchronous Replication"`
	case s.count(store.SettingReplicas) > 0:
		g.Source += ", " + s.source(store.SettingReplicas) + " for which commits do not wait"
		g.Manual += `; MariaDB documentation, "Replication Overview"; MySQL manual, "Replication" (asynchronous by default)`
	}
	return g
}

// flushed is the guarantee of when a commit writes and syncs the engine's log.
func (s settings) flushed(product, name string) Guarantee {
	const timeout = "innodb_flush_log_at_timeout"
	if !s.is(name, "0", "2") {
		return alone(SystemCrash, 0, s.source(name, "innodb_doublewrite", "log_bin", "sync_binlog"), mysqlManual)
	}
	if name == rocksLog {
		// 0 never syncs, and 2 by a timer of which no time is told. With rocksdb_manual_wal_flush,
		// the default, a commit does not even write then: killed servers lost acknowledged rows.
		return alone(None, Unbounded, s.source(name), `MariaDB documentation, "MyRocks System Variables"`)
	}
	window, manual := s.duration(timeout, time.Second, time.Second), mysqlManual
	if product == "MySQL" { // flushing once a second "is not 100% guaranteed"
		window, manual = Unbounded, manual+" (flushing once a second is not guaranteed)"
	}
	class := within(window)
	if s.is(name, "0") {
		class = None
	}
	return alone(class, window, s.source(name, timeout), manual)
}

// torn is the guarantee of the settings by which a loss of power may damage what was written before.
// A killed process loses nothing by them. It is not Known if no setting does.
func (s settings) torn(name string) Guarantee {
	// From 11.0 MariaDB takes nosync and littlesync for fsync, and has this variable.
	fromEleven := s["innodb_log_file_write_through"] != ""
	switch {
	case s.is("innodb_doublewrite", "OFF", "DETECT_ONLY"), s.is("log_bin", "ON") && !s.is("sync_binlog", "1", ""):
		// Pages may be torn; what is not in the binary log is rolled back.
		return alone(ProcessCrash, Unbounded, s.source(name, "innodb_doublewrite", "log_bin", "sync_binlog"), mysqlManual)
	case s.is("debug_no_sync", "ON") && fromEleven: // "you lose all crash-safety guarantees"
		return alone(ProcessCrash, Unbounded, s.source("debug_no_sync"), `MariaDB documentation, "InnoDB Flush Method"`)
	case s.is("innodb_flush_method", "nosync", "littlesync") && !fromEleven: // neither is said to keep anything
		return alone(ProcessCrash, Unbounded, s.source("innodb_flush_method"), `MySQL manual, "InnoDB Startup Options and System Variables" (innodb_flush_method: "used for internal performance testing and is currently unsupported. Use at your own risk")`)
	}
	return Guarantee{}
}

// lossless returns the settings of semi-synchronous replication if a failover keeps acknowledged
// work, otherwise "". Then a commit is neither seen nor acknowledged before a replica "has
// received and logged" it. A server whose wait timed out goes on without; whoever judges the run
// must know of that.
func (s settings) lossless() string {
	if s.count(store.SettingConfirming) == 0 {
		return ""
	}
	for _, role := range []string{"source", "master"} { // MySQL's word, and MariaDB's
		name := "rpl_semi_sync_" + role
		if s.is(name+"_enabled", "ON") && s.is(name+"_wait_point", "AFTER_SYNC") {
			return s.source(name+"_enabled", name+"_wait_point", name+"_timeout", store.SettingConfirming)
		}
	}
	return ""
}
