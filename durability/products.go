package durability

import "time"

// postgres follows the PostgreSQL manual, "Write Ahead Log" (fsync, full_page_writes,
// synchronous_commit), "Asynchronous Commit" (the risk lasts at most three times
// wal_writer_delay) and "Synchronous Replication".
func postgres(s settings) Guarantee {
	const manual = `PostgreSQL manual, "Write Ahead Log" and "Asynchronous Commit"`
	replicated := !s.is("synchronous_standby_names", "", "(none)", "unknown")
	switch {
	case s.is("fsync", "off"), s.is("full_page_writes", "off"):
		return alone(ProcessCrash, Unbounded, s.source("fsync", "full_page_writes"), manual)
	case s.is("synchronous_commit", "off"):
		const usual = 200 * time.Millisecond
		window := 3 * s.duration("wal_writer_delay", time.Millisecond, usual)
		return alone(within(window), window, s.source("synchronous_commit", "wal_writer_delay"), manual)
	case replicated && s.is("synchronous_commit", "on", "remote_apply", "remote_write"):
		return Guarantee{Class: Majority, Source: s.source("synchronous_commit", "synchronous_standby_names", "fsync", "full_page_writes"),
			Manual: `PostgreSQL manual, "Synchronous Replication"`}
	}
	return alone(SystemCrash, 0, s.source("synchronous_commit", "fsync", "full_page_writes"), manual)
}

// mysql follows the manuals of MariaDB ("InnoDB System Variables",
// innodb_flush_log_at_trx_commit; "Binary Log", sync_binlog; "Galera Cluster") and of
// MySQL (the same names).
func mysql(s settings) Guarantee {
	const manual = `MariaDB documentation, "InnoDB System Variables"; MySQL manual, "InnoDB Startup Options and System Variables"`
	const flushLog, rocksLog = "innodb_flush_log_at_trx_commit", "rocksdb_flush_log_at_trx_commit"
	name := flushLog
	if s[rocksLog] != "" {
		name = rocksLog
	}
	g := alone(SystemCrash, 0, s.source(name, "innodb_doublewrite", "log_bin", "sync_binlog"), manual)
	window := s.duration("innodb_flush_log_at_timeout", time.Second, time.Second)
	switch {
	case s.is("innodb_doublewrite", "OFF"), s.is("log_bin", "ON") && !s.is("sync_binlog", "1", ""):
		g = alone(ProcessCrash, Unbounded, g.Source, manual) // pages may be torn; what is not in the binary log is rolled back
	case s.is(name, "2"):
		g = alone(within(window), window, s.source(name, "innodb_flush_log_at_timeout"), manual)
	case s.is(name, "0"):
		g = alone(None, window, s.source(name, "innodb_flush_log_at_timeout"), manual)
	}
	if s.count("wsrep_cluster_size") > 1 { // a commit returns once every node has the write set
		return Guarantee{Class: Majority, AllNodes: g.AllNodes, Source: g.Source + ", " + s.source("wsrep_cluster_size"),
			Manual: manual + `; Galera documentation, "Certification-Based Replication"`}
	}
	return g
}

// mongodb follows the MongoDB manual, "Write Concern" (acknowledgement behaviour),
// "Journaling" (the journal is synced every 100 ms) and "Rollbacks During Replica Set
// Failover".
func mongodb(s settings) Guarantee {
	const manual = `MongoDB manual, "Write Concern", "Journaling" and "Rollbacks During Replica Set Failover"`
	const interval = 100 * time.Millisecond // storage.journal.commitIntervalMs
	const concern, journal, byDefault = "write concern", "journal asked for", "majority waits for the journal"
	source := s.source(concern, journal, byDefault)
	nodes := s.count("data nodes")
	majority := s.is(concern, "majority")
	journaled := s.is(journal, "true") || majority && s[journal] == "" && !s.is(byDefault, "false")
	if w := s.count(concern); w > 0 {
		majority = w > nodes/2
	}
	window := time.Duration(0)
	if !journaled {
		window = interval
	}
	switch {
	case s.is(concern, "0"):
		return alone(None, Unbounded, source, manual)
	case majority && nodes > 1:
		return Guarantee{Class: Majority, AllNodes: window, Source: source, Manual: manual}
	case nodes > 1: // what no other member has yet is rolled back after a failover
		return Guarantee{Class: within(window), OneNode: Unbounded, AllNodes: window, Source: source, Manual: manual}
	}
	return alone(within(window), window, source, manual)
}

// cassandra follows the Cassandra documentation, "Storage Engine" (CommitLog:
// commitlog_sync) and "Dynamo" (tunable consistency).
func cassandra(s settings) Guarantee {
	const manual = `Cassandra documentation, "Storage Engine" (CommitLog) and "Dynamo" (Tunable Consistency)`
	const usual = 10 * time.Second
	window := time.Duration(0)
	if s.is("commitlog_sync", "periodic") {
		window = s.duration("commitlog_sync_period", time.Millisecond, usual)
	}
	source := s.source("consistency of writes", "replication", "commitlog_sync", "commitlog_sync_period")
	switch {
	case s["commitlog_sync"] == "": // the server does not tell
		return Guarantee{}
	case s.is("consistency of writes", "quorum", "local_quorum", "each_quorum", "all") && s.copies() > 1:
		return Guarantee{Class: Majority, AllNodes: window, Source: source, Manual: manual}
	}
	return alone(within(window), window, source, manual)
}

// sqliteFolder is how soon file systems write a changed folder by themselves: ext4 every
// five seconds (ext4(5), commit).
const sqliteFolder = 5 * time.Second

// sqlite follows SQLite's documentation, "PRAGMA synchronous" and "PRAGMA
// journal_mode".
func sqlite(s settings) Guarantee {
	const manual = `SQLite documentation, "PRAGMA synchronous" and "PRAGMA journal_mode"`
	source := s.source("journal_mode", "synchronous")
	switch {
	case s.is("journal_mode", "off", "memory"):
		return alone(None, Unbounded, source, manual)
	case s.is("synchronous", "off", "0"), s.is("synchronous", "normal", "1"):
		return alone(ProcessCrash, Unbounded, source, manual) // in WAL it is consistent, and may end at the last checkpoint
	case s.is("journal_mode", "delete") && s.is("synchronous", "full", "2"):
		// "EXTRA provides additional durability if the commit is followed closely by a
		// power loss": FULL does not sync the folder after the journal was removed.
		// How close is up to the file system.
		return alone(within(sqliteFolder), sqliteFolder, source, manual)
	}
	return alone(SystemCrash, 0, source, manual)
}
