package durability

import (
	"strings"
	"testing"
	"time"

	"assay/store"
)

func TestClasses(t *testing.T) {
	for _, test := range []struct {
		product  string
		settings []Setting
		text     string
		one, all time.Duration
	}{
		{"PostgreSQL", []Setting{{"fsync", "on"}, {"synchronous_commit", "on"}, {"full_page_writes", "on"}, {"synchronous_standby_names", "(none)"}}, "system crash", 0, 0},
		{"PostgreSQL", []Setting{{"fsync", "on"}, {"synchronous_commit", "off"}, {"wal_writer_delay", "200ms"}}, "system crash with loss of up to 600 ms", 600 * time.Millisecond, 600 * time.Millisecond},
		{"PostgreSQL", []Setting{{"fsync", "on"}, {"synchronous_commit", "off"}, {"wal_writer_delay", "1s"}}, "system crash with loss of up to 3000 ms", 3 * time.Second, 3 * time.Second},
		{"PostgreSQL", []Setting{{"fsync", "off"}, {"synchronous_commit", "on"}}, "process crash", Unbounded, Unbounded},
		{"PostgreSQL", []Setting{{"full_page_writes", "off"}}, "process crash", Unbounded, Unbounded},
		{"PostgreSQL", []Setting{{"synchronous_commit", "on"}, {"synchronous_standby_names", "ANY 1 (n2, n3)"}}, "majority", 0, 0},
		{"PostgreSQL", []Setting{{"synchronous_commit", "on"}, {"synchronous_standby_names", "ANY 1 (n2, n3, n4, n5)"}, {"standbys", "4"}}, "loss of some nodes: any 1 of 5, which is less than a minority", 0, 0},
		{"PostgreSQL", []Setting{{"synchronous_commit", "on"}, {"synchronous_standby_names", `"n2"`}, {"standbys", "4"}, {"led by", "Patroni"}}, "loss of some nodes: any 1 of 5, which is less than a minority", 0, 0},
		{"PostgreSQL", []Setting{{"synchronous_commit", "on"}, {"synchronous_standby_names", `2 ("n2","n3")`}, {"standbys", "4"}}, "majority", 0, 0},
		{"PostgreSQL", []Setting{{"synchronous_commit", "on"}, {"synchronous_standby_names", "FIRST 2 (n2, n3, n4, n5)"}, {"standbys", "4"}}, "majority", 0, 0},
		{"PostgreSQL", []Setting{{"synchronous_commit", "on"}, {"synchronous_standby_names", "any 2 (*)"}, {"standbys", "6"}}, "loss of some nodes: any 2 of 7, which is less than a minority", 0, 0},
		{"PostgreSQL", []Setting{{"synchronous_commit", "remote_write"}, {"synchronous_standby_names", "n2"}, {"standbys", "3"}}, "majority", 0, Unbounded},
		{"PostgreSQL", []Setting{{"fsync", "on"}, {"synchronous_commit", "on"}, {"full_page_writes", "on"}, {"synchronous_standby_names", "(none)"}, {"standbys", "2"}}, "system crash; a failover may lose what no other node has", 0, 0},
		{"PostgreSQL", []Setting{{"fsync", "on"}, {"synchronous_commit", "on"}, {"full_page_writes", "on"}, {"synchronous_standby_names", "(none)"}, {"standbys", "2"}, {"led by", "Patroni"}},
			"system crash; a failover loses up to 1 MiB of log (maximum_lag_on_failover) and what was written in the last 30 s (ttl)", 0, 0},
		{"PostgreSQL", []Setting{{"synchronous_commit", "local"}, {"synchronous_standby_names", "ANY 1 (n2, n3)"}}, "system crash", 0, 0},
		{"MariaDB", []Setting{{"innodb_flush_log_at_trx_commit", "1"}, {"log_bin", "OFF"}, {"sync_binlog", "0"}}, "system crash", 0, 0},
		{"MariaDB", []Setting{{"innodb_flush_log_at_trx_commit", "2"}}, "system crash with loss of up to 1000 ms", time.Second, time.Second},
		{"MySQL", []Setting{{"innodb_flush_log_at_trx_commit", "1"}, {"innodb_flush_method", "nosync"}}, "process crash", Unbounded, Unbounded},
		{"MySQL", []Setting{{"innodb_flush_log_at_trx_commit", "1"}, {"innodb_doublewrite", "DETECT_ONLY"}}, "process crash", Unbounded, Unbounded},
		{"MySQL", []Setting{{"innodb_flush_log_at_trx_commit", "1"}, {"innodb_doublewrite", "DETECT_AND_RECOVER"}}, "system crash", 0, 0},
		{"MariaDB", []Setting{{"innodb_flush_log_at_trx_commit", "0"}, {"innodb_flush_log_at_timeout", "2"}}, "none", 2 * time.Second, 2 * time.Second},
		{"MySQL", []Setting{{"innodb_flush_log_at_trx_commit", "0"}, {"innodb_flush_log_at_timeout", "2"}}, "none", Unbounded, Unbounded},
		{"MySQL", []Setting{{"innodb_flush_log_at_trx_commit", "2"}}, "process crash", Unbounded, Unbounded},
		{"MariaDB", []Setting{{"innodb_flush_log_at_trx_commit", "1"}, {"log_bin", "ON"}, {"sync_binlog", "0"}}, "process crash", Unbounded, Unbounded},
		{"MariaDB", []Setting{{"innodb_flush_log_at_trx_commit", "2"}, {"wsrep_cluster_size", "3"}}, "majority", 0, time.Second},
		{"MySQL", []Setting{{"innodb_flush_log_at_trx_commit", "2"}, {"members of the group", "3"}}, "majority", 0, Unbounded},
		{"MariaDB", []Setting{{"innodb_flush_log_at_trx_commit", "1"}, {"innodb_flush_method", "littlesync"}}, "process crash", Unbounded, Unbounded},
		{"MariaDB", []Setting{{"innodb_flush_log_at_trx_commit", "1"}, {"innodb_flush_method", "nosync"}, {"innodb_log_file_write_through", "OFF"}}, "system crash", 0, 0},
		{"MariaDB", []Setting{{"innodb_flush_log_at_trx_commit", "1"}, {"debug_no_sync", "ON"}, {"innodb_log_file_write_through", "OFF"}}, "process crash", Unbounded, Unbounded},
		{"MySQL", []Setting{{"innodb_flush_log_at_trx_commit", "1"}, {"members of the group", "2"}}, "system crash", 0, 0},
		{"MariaDB", []Setting{{"rocksdb_flush_log_at_trx_commit", "1"}}, "system crash", 0, 0},
		{"MariaDB", []Setting{{"rocksdb_flush_log_at_trx_commit", "2"}, {"innodb_flush_log_at_timeout", "1"}}, "none", Unbounded, Unbounded},
		{"MariaDB", []Setting{{"rocksdb_flush_log_at_trx_commit", "0"}, {"innodb_flush_log_at_timeout", "1"}}, "none", Unbounded, Unbounded},
		{"MariaDB", []Setting{{"innodb_flush_log_at_trx_commit", "1"}, {"rocksdb_flush_log_at_trx_commit", "2"}}, "none", Unbounded, Unbounded},
		{"MongoDB", []Setting{{"write concern", "majority"}, {"majority waits for the journal", "true"}, {"data nodes", "3"}}, "majority", 0, 0},
		{"MongoDB", []Setting{{"write concern", "majority"}, {"majority waits for the journal", "false"}, {"data nodes", "3"}}, "majority", 0, 100 * time.Millisecond},
		{"MongoDB", []Setting{{"write concern", "majority"}, {"data nodes", "1"}}, "system crash", 0, 0},
		{"MongoDB", []Setting{{"write concern", "1"}, {"data nodes", "1"}}, "system crash with loss of up to 100 ms", 100 * time.Millisecond, 100 * time.Millisecond},
		{"MongoDB", []Setting{{"write concern", "1"}, {"journal asked for", "true"}, {"data nodes", "3"}}, "system crash; a failover may lose what no other node has", Unbounded, 0},
		{"MongoDB", []Setting{{"write concern", "2"}, {"journal asked for", "true"}, {"data nodes", "5"}}, "system crash; a failover may lose what no other node has", Unbounded, 0},
		{"MongoDB", []Setting{{"write concern", "1"}, {"data nodes", "3"}}, "system crash with loss of up to 100 ms; a failover may lose what no other node has", Unbounded, 100 * time.Millisecond},
		{"MongoDB", []Setting{{"write concern", "2"}, {"journal asked for", "true"}, {"data nodes", "3"}}, "majority", 0, 0},
		{"MongoDB", []Setting{{"write concern", "0"}, {"data nodes", "3"}}, "none; a failover may lose what no other node has", Unbounded, Unbounded},
		{"Cassandra", []Setting{{"commitlog_sync", "periodic"}, {"commitlog_sync_period", "10000ms"}, {"consistency of writes", "quorum"}, {"replication", "datacenter1: 3"}}, "majority", 0, 15 * time.Second},
		{"Cassandra", []Setting{{"commitlog_sync", "periodic"}, {"commitlog_sync_period", "10s"}, {"consistency of writes", "one"}, {"replication", "datacenter1: 3"}}, "system crash with loss of up to 15000 ms", 15 * time.Second, 15 * time.Second},
		{"Cassandra", []Setting{{"commitlog_sync", "batch"}, {"consistency of writes", "quorum"}, {"replication", "datacenter1: 1"}}, "system crash", 0, 0},
		{"Cassandra", []Setting{{"commitlog_sync", "batch"}, {"consistency of writes", "two"}, {"replication", "datacenter1: 5"}}, "loss of some nodes: any 1 of 5, which is less than a minority", 0, 0},
		{"Cassandra", []Setting{{"commitlog_sync", "batch"}, {"consistency of writes", "local_quorum"}, {"replication", "a: 3, b: 3"}}, "loss of some nodes: any 1 of 6, which is less than a minority", 0, 0},
		{"Cassandra", []Setting{{"commitlog_sync", "batch"}, {"consistency of writes", "each_quorum"}, {"replication", "a: 3, b: 3"}}, "majority", 0, 0},
		{"Cassandra", []Setting{{"commitlog_sync", "batch"}, {"consistency of writes", "two"}, {"replication", "a: 3"}}, "majority", 0, 0},
		{"etcd", []Setting{{"members", "3"}}, "majority", 0, 0},
		{"etcd", []Setting{{"members", "1"}}, "system crash", 0, 0},
		{"SQLite", []Setting{{"journal_mode", "wal"}, {"synchronous", "full"}}, "system crash", 0, 0},
		{"SQLite", []Setting{{"journal_mode", "wal"}, {"synchronous", "normal"}}, "process crash", Unbounded, Unbounded},
		{"SQLite", []Setting{{"journal_mode", "delete"}, {"synchronous", "full"}}, "system crash with loss of up to 5000 ms", 5 * time.Second, 5 * time.Second},
		{"SQLite", []Setting{{"journal_mode", "delete"}, {"synchronous", "extra"}}, "system crash", 0, 0},
		{"SQLite", []Setting{{"journal_mode", "truncate"}, {"synchronous", "full"}}, "system crash", 0, 0},
		{"SQLite", []Setting{{"journal_mode", "memory"}, {"synchronous", "full"}}, "none", Unbounded, Unbounded},
		{"Redis", []Setting{{"appendonly", "no"}, {"save", "3600 1"}}, "none", Unbounded, Unbounded},
		{"Redis", []Setting{{"appendonly", "yes"}, {"appendfsync", "always"}}, "system crash", 0, 0},
		{"Redis", []Setting{{"appendonly", "yes"}, {"appendfsync", "everysec"}, {"data nodes", "3"}, {"min-replicas-to-write", "1"}, {"replicas waited for", "1"}}, "system crash with loss of up to 2000 ms; a failover may lose what no other node has", 2 * time.Second, 2 * time.Second},
		{"Redis", []Setting{{"appendonly", "yes"}, {"appendfsync", "no"}}, "process crash", Unbounded, Unbounded},
		{"Redis", []Setting{{"appendonly", "yes"}, {"appendfsync", "always"}, {"no-appendfsync-on-rewrite", "no"}}, "system crash", 0, 0},
		{"Redis", []Setting{{"appendonly", "yes"}, {"appendfsync", "always"}, {"no-appendfsync-on-rewrite", "yes"}}, "process crash", Unbounded, Unbounded},
		{"Redis", []Setting{{"appendonly", "yes"}, {"appendfsync", "everysec"}, {"no-appendfsync-on-rewrite", "yes"}}, "process crash", Unbounded, Unbounded},
	} {
		g := Of(test.product, test.settings)
		if g.Text() != test.text || g.OneNode != test.one || g.AllNodes != test.all {
			t.Errorf("%s %v: %q, one node %v, all nodes %v; want %q, %v, %v", test.product, test.settings, g.Text(), g.OneNode, g.AllNodes, test.text, test.one, test.all)
		}
		if !Cited(Cite(g.Manual, test.product, "7.8.9", nil)) {
			t.Errorf("%s %v: %q lacks a page or a version", test.product, test.settings, g.Manual)
		}
		if g.Source == "" || g.Manual == "" {
			t.Errorf("%s %v: source %q, manual %q", test.product, test.settings, g.Source, g.Manual)
		}
	}
}

// TestTheManualOfTheVersionInUse is cited, of the server and of the program that leads it.
func TestTheManualOfTheVersionInUse(t *testing.T) {
	const text = `PostgreSQL manual, "Failover"; Patroni documentation, "Watchdog support"; repmgr manual, "Concepts"`
	for manager, want := range map[string]string{"3.0.2": "Patroni documentation 3.0, ", "99.1": "Patroni documentation 4.1, ", "": "Patroni documentation 4.1, "} {
		got := Cite(text, "PostgreSQL", "15.18", []Setting{{store.SettingLedBy, "Patroni"}, {store.SettingManagerVersion, manager}})
		if !strings.Contains(got, want) || !strings.HasPrefix(got, "PostgreSQL manual 15, ") || !strings.Contains(got, "repmgr manual 5.5, ") {
			t.Errorf("Patroni %s: %s", manager, got)
		}
	}
}

// TestEveryStorageHasItsPage wants the manual's page and version of each way to store tables.
func TestEveryStorageHasItsPage(t *testing.T) {
	for _, product := range []string{"PostgreSQL", "MariaDB", "MySQL", "SQLite"} {
		for _, s := range storages(product) {
			if !Cited(Cite(s.manual, product, "", nil)) {
				t.Errorf("%s, %s: %q", product, s.way, s.manual)
			}
		}
	}
}

func TestWhatIsNotKnownPromisesNothing(t *testing.T) {
	for _, g := range []Guarantee{Of("YugabyteDB", []Setting{{"fsync", "on"}}), Of("Cassandra", nil), Of("Redis", nil)} {
		if g.Known() {
			t.Errorf("%+v", g)
		}
	}
}

// TestSemisync wants a failover to lose nothing where a replica that is there must have a commit
// before anybody is told of it, and whatever there is in all other cases.
func TestSemisync(t *testing.T) {
	for _, test := range []struct {
		product, enabled, point string
		replicas                string
		want                    time.Duration
	}{
		{"MySQL", "rpl_semi_sync_source_enabled", "AFTER_SYNC", "2", 0},
		{"MariaDB", "rpl_semi_sync_master_enabled", "AFTER_SYNC", "1", 0},
		{"MariaDB", "rpl_semi_sync_master_enabled", "AFTER_COMMIT", "1", Unbounded},
		{"MySQL", "rpl_semi_sync_source_enabled", "AFTER_SYNC", "0", Unbounded},
		{"MySQL", "another", "AFTER_SYNC", "2", Unbounded},
	} {
		g := Of(test.product, []Setting{{"innodb_flush_log_at_trx_commit", "1"}, {test.enabled, "ON"},
			{"rpl_semi_sync_source_wait_point", test.point}, {"rpl_semi_sync_master_wait_point", test.point}, {"replicas that confirm", test.replicas}})
		if g.Failover != test.want || g.Class != SystemCrash {
			t.Errorf("%+v: a failover loses %v, class %s", test, g.Failover, g.Class)
		}
	}
	g := Of("MariaDB", []Setting{{"innodb_flush_log_at_trx_commit", "1"}, {"replicas", "2"}})
	if g.Failover != Unbounded || !strings.Contains(g.Source, "replicas=2 for which commits do not wait") {
		t.Errorf("replicas: a failover loses %v by %s", g.Failover, g.Source)
	}
}

// TestNotTold: of a setting that the server does not tell nothing is taken for granted.
func TestNotTold(t *testing.T) {
	for product, told := range map[string][]Setting{
		"MongoDB":   {{"write concern", "not told"}, {"data nodes", "3"}},
		"Redis":     {{"appendfsync", "always"}},
		"Cassandra": {{"consistency of writes", "quorum"}, {"replication", "3"}},
	} {
		if g := Of(product, told); g.Known() {
			t.Errorf("%s: %+v", product, g)
		}
	}
}

// TestLed: nobody knows for how long an old primary goes on that another program is to stop.
func TestLed(t *testing.T) {
	for by, want := range map[string]string{"Patroni": "Watchdog", "repmgr": "fencing", "pg_auto_failover": "Write Ahead Log"} {
		g := Of("PostgreSQL", []Setting{{"fsync", "on"}, {"synchronous_commit", "on"}, {"synchronous_standby_names", "(none)"}, {"led by", by}})
		if g.Failover != Unbounded || g.Returning <= 0 || !strings.Contains(g.Manual, want) || !strings.Contains(g.Source, by) {
			t.Errorf("%s: %+v", by, g)
		}
	}
	if g := Of("PostgreSQL", []Setting{{"synchronous_commit", "on"}, {"synchronous_standby_names", "*"}, {"led by", "Patroni"}}); g.Failover != 0 || g.Class != Majority || g.TakenOver(false) != 0 || g.TakenOver(true) != Unbounded {
		t.Errorf("%+v", g)
	}
}

// TestTwoSettings: where one setting lets a crash damage what is stored and another lets commits be
// acknowledged early, both allow what they allow, and both are named.
func TestTwoSettings(t *testing.T) {
	const delay = 600 * time.Millisecond
	off, local := Setting{"synchronous_commit", "off"}, Setting{"synchronous_commit", "local"}
	standbys, confirmed := Setting{"synchronous_standby_names", "ANY 1 (n2, n3)"}, Setting{"synchronous_commit", "on"}
	inMemory, galera, group := Setting{flushLog, "0"}, Setting{"wsrep_cluster_size", "3"}, Setting{"members of the group", "3"}
	for _, test := range []struct {
		product                     string
		settings                    []Setting
		class                       Class
		killed, allKilled, failover time.Duration
		names                       string
	}{
		{"PostgreSQL", []Setting{{"fsync", "off"}, off}, ProcessCrash, delay, 0, Unbounded, "fsync=off synchronous_commit=off"},
		{"PostgreSQL", []Setting{{"full_page_writes", "off"}, off, {"wal_writer_delay", "1s"}}, ProcessCrash, 3 * time.Second, 0, Unbounded, "full_page_writes=off synchronous_commit=off wal_writer_delay=1s"},
		{"PostgreSQL", []Setting{{"fsync", "off"}, off, standbys}, ProcessCrash, delay, 0, Unbounded, "fsync=off synchronous_commit=off"},
		{"PostgreSQL", []Setting{{"fsync", "off"}, local, standbys}, ProcessCrash, 0, 0, Unbounded, "fsync=off synchronous_commit=local"},
		{"PostgreSQL", []Setting{{"fsync", "off"}, confirmed, standbys}, ProcessCrash, 0, 0, 0, "fsync=off"},
		{"PostgreSQL", []Setting{{"fsync", "off"}, confirmed}, ProcessCrash, 0, 0, Unbounded, "fsync=off"},
		{"PostgreSQL", []Setting{{"fsync", "off"}, confirmed, standbys, {"led by", "Patroni"}, {"synchronous_mode", "on"}}, ProcessCrash, 0, 0, 0, "fsync=off"},
		{"MariaDB", []Setting{inMemory, {"innodb_doublewrite", "OFF"}}, None, time.Second, 0, Unbounded, "innodb_flush_log_at_trx_commit=0 innodb_doublewrite=OFF"},
		{"MariaDB", []Setting{inMemory, {"log_bin", "ON"}, {"sync_binlog", "0"}}, None, time.Second, 0, Unbounded, "innodb_flush_log_at_trx_commit=0 sync_binlog=0"},
		{"MariaDB", []Setting{inMemory, {"innodb_flush_method", "nosync"}}, None, time.Second, 0, Unbounded, "innodb_flush_method=nosync innodb_flush_log_at_trx_commit=0"},
		{"MariaDB", []Setting{inMemory, {"debug_no_sync", "ON"}, {"innodb_log_file_write_through", "OFF"}}, None, time.Second, 0, Unbounded, "debug_no_sync=ON innodb_flush_log_at_trx_commit=0"},
		{"MySQL", []Setting{inMemory, {"innodb_doublewrite", "DETECT_ONLY"}}, None, Unbounded, 0, Unbounded, "innodb_flush_log_at_trx_commit=0"},
		{"MySQL", []Setting{{flushLog, "2"}, {"innodb_doublewrite", "OFF"}}, ProcessCrash, 0, 0, Unbounded, "innodb_flush_log_at_trx_commit=2"},
		{"MariaDB", []Setting{{rocksLog, "2"}, {"log_bin", "ON"}, {"sync_binlog", "0"}}, None, Unbounded, 0, Unbounded, "rocksdb_flush_log_at_trx_commit=2 sync_binlog=0"},
		{"MariaDB", []Setting{inMemory, {"innodb_doublewrite", "OFF"}, galera}, Majority, 0, time.Second, 0, "innodb_flush_log_at_trx_commit=0 innodb_doublewrite=OFF wsrep_cluster_size=3"},
		{"MySQL", []Setting{inMemory, {"log_bin", "ON"}, {"sync_binlog", "0"}, group}, Majority, 0, Unbounded, 0, "innodb_flush_log_at_trx_commit=0 sync_binlog=0"},
	} {
		g := Of(test.product, test.settings)
		if g.Class != test.class || g.Killed != test.killed || g.AllKilled != test.allKilled || g.Failover != test.failover {
			t.Errorf("%s %v: class %s, killed %v, all killed %v, failover %v; want %+v", test.product, test.settings, g.Class, g.Killed, g.AllKilled, g.Failover, test)
		}
		for name := range strings.FieldsSeq(test.names) {
			if strings.Count(g.Source, name) != 1 || g.AllNodes != Unbounded {
				t.Errorf("%s %v: a loss of power loses %v by %s; want %s once", test.product, test.settings, g.AllNodes, g.Source, name)
			}
		}
		if said := Cite(g.Manual, test.product, "", nil); !Cited(said) {
			t.Errorf("%s %v: %q lacks a page or a version", test.product, test.settings, said)
		}
	}
}

// TestPrimaryAlone: a commit that a primary acknowledges alone, once no standby can be waited for, is on
// no other node, though a failover promotes nobody who lacks it.
func TestPrimaryAlone(t *testing.T) {
	for _, test := range []struct {
		by, mode, standbys string
		want               Class
	}{
		{"Patroni", "on", "2", SystemCrash}, {"Patroni", "strict", "2", Majority},
		{"pg_auto_failover", "", "1", SystemCrash}, {"pg_auto_failover", "", "2", Majority}, {"repmgr", "", "1", Majority},
	} {
		g := Of("PostgreSQL", []Setting{{"synchronous_commit", "on"}, {"synchronous_standby_names", "ANY 1 (*)"}, {"standbys", test.standbys},
			{"led by", test.by}, {"synchronous_mode", test.mode}})
		if g.Class != test.want || g.Failover != 0 {
			t.Errorf("%+v: class %s, a failover loses %v", test, g.Class, g.Failover)
		}
		if !Cited(Cite(g.Manual, "PostgreSQL", "15.1", nil)) {
			t.Errorf("%+v: %s", test, g.Manual)
		}
	}
}

func TestAllows(t *testing.T) {
	g := Guarantee{Class: Majority, AllNodes: time.Second}
	for _, test := range []struct {
		cut, all int
		want     time.Duration
	}{{1, 3, 0}, {2, 3, time.Second}, {3, 3, time.Second}, {1, 2, 0}, {2, 2, time.Second}, {1, 1, time.Second}} {
		if got := g.Allows(test.cut, test.all); got != test.want {
			t.Errorf("%d of %d nodes: %v, want %v", test.cut, test.all, got, test.want)
		}
	}
}
