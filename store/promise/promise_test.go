package promise

import (
	"strings"
	"testing"

	"assay/store"
	"assay/store/durability"
)

const (
	yes = "promised"
	no  = "allowed"
	may = "not known"
)

func word(r Ruling) string {
	switch {
	case r.Promised == nil:
		return may
	case *r.Promised:
		return yes
	}
	return no
}

func settings(pairs ...string) (all []durability.Setting) {
	for i := 0; i+1 < len(pairs); i += 2 {
		all = append(all, durability.Setting{Name: pairs[i], Value: pairs[i+1]})
	}
	return all
}

// TestRules holds each rule both ways: what is allowed, and its twin that is not.
func TestRules(t *testing.T) {
	killed, failedOver, divided := Events{Killed: true}, Events{Failover: true, Divided: true}, Events{Divided: true}
	one, two := []string{"account"}, []string{"account", "journal"}
	mongo := func(w string, nodes int, h Events) Circumstances {
		return Circumstances{Product: "MongoDB", Nodes: nodes, Happened: h,
			Settings: settings("write concern", w, "read concern", "snapshot", "isolation", "snapshot", "data nodes", map[int]string{1: "1", 3: "3"}[nodes])}
	}
	inMemory := func(h Events) Circumstances {
		c := mongo("majority", 3, h)
		c.Settings = append(c.Settings, settings("journal asked for", "false")...)
		return c
	}
	alone := func(read, write string, h Events) Circumstances {
		return Circumstances{Product: "MongoDB", Nodes: 3, Happened: h,
			Settings: settings("write concern", write, "read concern", read, "reads are answered by", "primary", "data nodes", "3")}
	}
	timed := func(c Circumstances) Circumstances { c.Timed = true; return c }
	postgres := func(h Events, tables []string, pairs ...string) Circumstances {
		return Circumstances{Product: "PostgreSQL", Nodes: 1, Happened: h, Tables: tables,
			Settings: append(settings("fsync", "on", "full_page_writes", "on", "synchronous_standby_names", "(none)"), settings(pairs...)...)}
	}
	led := func(by string, h Events) Circumstances {
		return Circumstances{Product: "PostgreSQL", Nodes: 3, Happened: h, Tables: one, Settings: settings("fsync", "on", "full_page_writes", "on",
			"synchronous_commit", "on", "synchronous_standby_names", `ANY 1 ("n1", "n2", "n3")`, "led by", by)}
	}
	maria := func(nodes int, tables []string, pairs ...string) Circumstances {
		return Circumstances{Product: "MariaDB", Nodes: nodes, Tables: tables, Settings: append(settings("innodb_flush_log_at_trx_commit", "1"), settings(pairs...)...)}
	}
	replicated := func(h Events, pairs ...string) Circumstances {
		c := maria(3, one, pairs...)
		c.Happened = h
		return c
	}
	semisync := []string{"rpl_semi_sync_master_enabled", "ON", "rpl_semi_sync_master_wait_point", "AFTER_SYNC", "rpl_semi_sync_master_timeout", "10000", "replicas that confirm", "2"}
	cassandra := func(w, r string, h Events) Circumstances {
		return Circumstances{Product: "Cassandra", Nodes: 3, Happened: h,
			Settings: settings("consistency of writes", w, "consistency of reads", r, "replication", "datacenter1: 3", "commitlog_sync", "batch")}
	}
	ofNodesClocks := Circumstances{Product: "Cassandra", Nodes: 3, Settings: settings("consistency of writes", "quorum", "consistency of reads", "quorum",
		"replication", "datacenter1: 3", "timestamps", "of the coordinating node")}
	redis := func(h Events, pairs ...string) Circumstances {
		return Circumstances{Product: "Redis", Nodes: 3, Happened: h, Settings: append(settings("appendonly", "yes", "appendfsync", "always", "data nodes", "3"), settings(pairs...)...)}
	}
	for _, test := range []struct {
		name     string
		c        Circumstances
		property Property
		want     string
	}{
		{"w:1, a read by a majority behind it", mongo("1", 3, Events{}), Recency, no},
		{"w:majority, the same", mongo("majority", 3, Events{}), Recency, yes},
		{"w:2 of 3 is a majority", mongo("2", 3, Events{}), Recency, yes},
		{"a w that the server does not tell, a read by a majority behind it", mongo("not told", 3, Events{}), Recency, may},
		{"the same, lost and a failover", mongo("not told", 3, failedOver), Durability, may},
		{"w:1 of one node", mongo("1", 1, Events{}), Recency, yes},
		{"w:majority in memory, one node killed", inMemory(killed), Durability, yes},
		{"w:majority in memory, most nodes killed", inMemory(Events{Killed: true, MostKilled: true}), Durability, may},
		{"w:majority in the journal, most nodes killed", mongo("majority", 3, Events{Killed: true, MostKilled: true}), Durability, yes},
		{"w:majority, two primaries", mongo("majority", 3, divided), Recency, no},
		{"w:majority, read in the past", alone("snapshot", "majority", Events{}), Recency, no},
		{"w:majority, the same by read concern majority", alone("majority", "majority", Events{}), Recency, yes},
		{"w:majority, read concern local", alone("local", "majority", killed), Recency, yes},
		{"w:majority, read concern linearizable, two primaries", alone("linearizable", "majority", divided), Recency, yes},
		{"w:majority, read concern local, two primaries", alone("local", "majority", divided), Recency, no},
		{"w:1, read concern linearizable, after a failover", alone("linearizable", "1", failedOver), Recency, may},
		{"w:majority without the journal, lost and a failover", Circumstances{Product: "MongoDB", Nodes: 3, Happened: failedOver,
			Settings: settings("write concern", "majority", "journal asked for", "false", "read concern", "majority", "data nodes", "3")}, Durability, yes},
		{"one node that stood still", mongo("majority", 1, divided), Recency, yes},
		{"w:1, lost without a fault", mongo("1", 3, Events{}), Durability, yes},
		{"w:1, lost and a failover", mongo("1", 3, failedOver), Durability, may},
		{"w:1, lost long after the failover", timed(mongo("1", 3, failedOver)), Durability, yes},
		{"w:majority, lost and a failover", mongo("majority", 3, failedOver), Durability, yes},
		{"w:1, a wrong total after a failover", mongo("1", 3, failedOver), Atomicity, yes},
		{"w:1, a doubled transfer after a failover", mongo("1", 3, failedOver), Rules, yes},
		{"w:1, replicas that differ", mongo("1", 3, failedOver), Agreement, yes},
		{"w:1, read skew after a failover", mongo("1", 3, failedOver), Snapshot, may},
		{"w:1, read skew without one", mongo("1", 3, Events{}), Snapshot, yes},
		{"w:1, a lost update", timed(mongo("1", 3, failedOver)), Isolation, yes},

		{"w:majority, what was read is taken back", mongo("majority", 3, failedOver), Permanence, yes},
		{"the same by read concern local", alone("local", "majority", failedOver), Permanence, no},
		{"the same without a failover", alone("local", "majority", Events{}), Permanence, yes},
		{"the same at w:1", mongo("1", 3, failedOver), Permanence, no},
		{"a commit that waits for a standby, shown and taken back", led("pg_auto_failover", failedOver), Permanence, no},
		{"the same under Patroni", led("patroni", failedOver), Permanence, no},
		{"the same where nobody took over", led("patroni", killed), Permanence, yes},
		{"the same of one server", postgres(killed, one, "synchronous_commit", "on"), Permanence, yes},
		{"the same with synchronous_commit=off", postgres(killed, one, "synchronous_commit", "off"), Permanence, no},
		{"after_sync, what was read is taken back", replicated(failedOver, semisync...), Permanence, may},
		{"after_commit, the same", replicated(failedOver, append(semisync, "rpl_semi_sync_master_wait_point", "AFTER_COMMIT")...), Permanence, no},
		{"Galera, the same", replicated(failedOver, "wsrep_cluster_size", "3", "wsrep_sync_wait", "0"), Permanence, yes},

		{"unlogged, emptied by a crash", postgres(killed, one, "synchronous_commit", "on", "stored as unlogged", "account"), Durability, no},
		{"unlogged, no crash", postgres(Events{}, one, "synchronous_commit", "on", "stored as unlogged", "account"), Durability, yes},
		{"another table is unlogged", postgres(killed, two, "synchronous_commit", "on", "stored as unlogged", "account"), Durability, may},
		{"a trigger on the user's table, a row twice", postgres(Events{}, one, store.SettingAltering, "trigger tidy of public.visit"), Rules, may},
		{"a constraint on it", postgres(Events{}, one, store.SettingAttached, "constraint short of public.visit"), Rules, yes},
		{"unlogged, a row twice", postgres(killed, one, "synchronous_commit", "on", "stored as unlogged", "account"), Rules, yes},
		{"unlogged, half a transaction", postgres(killed, one, "synchronous_commit", "on", "stored as unlogged", "account"), Atomicity, yes},
		{"logged, killed", postgres(killed, one, "synchronous_commit", "on"), Durability, yes},
		{"asynchronous, killed, it is not known when", postgres(killed, one, "synchronous_commit", "off"), Durability, may},
		{"asynchronous, killed, beyond the window", timed(postgres(killed, one, "synchronous_commit", "off")), Durability, yes},
		{"asynchronous and fsync=off, killed", postgres(killed, one, "fsync", "off", "synchronous_commit", "off"), Durability, may},
		{"fsync=off, killed", postgres(killed, one, "fsync", "off", "synchronous_commit", "on"), Durability, yes},
		{"asynchronous, no crash", postgres(Events{}, one, "synchronous_commit", "off"), Durability, yes},

		{"any standby confirms, lost by repmgr's failover", led("repmgr", failedOver), Durability, may},
		{"any standby confirms, half a transaction after it", led("repmgr", failedOver), Atomicity, yes},
		{"any standby confirms, lost without a failover", led("repmgr", divided), Durability, yes},
		{"the standby that confirms is promoted", led("Patroni", failedOver), Durability, yes},

		{"MyISAM, half a transaction", maria(1, one, "stored as MyISAM", "account"), Atomicity, no},
		{"MyISAM, one transaction seen by another", maria(1, one, "stored as MyISAM", "account"), Isolation, no},
		{"MyISAM, a user's rule", maria(1, one, "stored as MyISAM", "account", "isolation", "repeatable read"), Invariant, no},
		{"MyISAM, lost without a crash", maria(1, one, "stored as MyISAM", "account"), Durability, yes},
		{"MyISAM, a row twice", maria(1, one, "stored as MyISAM", "account"), Rules, yes},
		{"InnoDB, half a transaction", maria(1, one), Atomicity, yes},
		{"MyISAM beside InnoDB", maria(1, two, "stored as MyISAM", "account"), Atomicity, may},
		{"Aria, half a transaction", maria(1, one, "stored as Aria", "account"), Atomicity, no},
		{"Galera, a node that does not wait", maria(3, one, "wsrep_cluster_size", "3", "wsrep_sync_wait", "0"), Recency, no},
		{"Galera, a node that waits", maria(3, one, "wsrep_cluster_size", "3", "wsrep_sync_wait", "1"), Recency, yes},
		{"Galera, audits that wait", maria(3, one, "wsrep_cluster_size", "3", "wsrep_sync_wait", "0", "audits", "wsrep_sync_wait=1"), Recency, yes},
		{"Galera, lost by a failover", maria(3, one, "wsrep_cluster_size", "3"), Durability, yes},

		{"replicas that commits do not wait for, lost by a failover", replicated(Events{Killed: true, Failover: true}), Durability, may},
		{"semi-synchronous, lost by a failover after a kill", replicated(Events{Killed: true, Failover: true}, semisync...), Durability, yes},
		{"semi-synchronous, lost by a failover of what was cut off", replicated(failedOver, semisync...), Durability, may},
		{"semi-synchronous, lost without a failover", replicated(divided, semisync...), Durability, yes},
		{"a group, lost by a failover", replicated(failedOver, "members of the group", "3"), Durability, yes},
		{"a group, most of it killed", replicated(Events{Killed: true, MostKilled: true}, "members of the group", "3"), Durability, yes},
		{"a group in memory, one node killed", replicated(killed, "members of the group", "3", "innodb_flush_log_at_trx_commit", "0"), Durability, yes},
		{"a group in memory, most of it killed", replicated(Events{Killed: true, MostKilled: true}, "members of the group", "3", "innodb_flush_log_at_trx_commit", "0"), Durability, may},
		{"a group, an old read of a member cut off", replicated(divided, "members of the group", "3", "group_replication_consistency", "EVENTUAL"), Recency, no},
		{"a group, an old read of its new primary", replicated(Events{Killed: true, Failover: true}, "members of the group", "3", "group_replication_consistency", "EVENTUAL"), Recency, no},
		{"a group whose new primary applies all first", replicated(Events{Killed: true, Failover: true}, "members of the group", "3", "group_replication_consistency", "BEFORE_ON_PRIMARY_FAILOVER"), Recency, yes},
		{"a group, an old read where nobody took over", replicated(killed, "members of the group", "3", "group_replication_consistency", "EVENTUAL"), Recency, yes},
		{"a group that waits before it reads", replicated(divided, "members of the group", "3", "group_replication_consistency", "BEFORE"), Recency, yes},

		{"TiDB, reads of five seconds ago", Circumstances{Product: "TiDB", Nodes: 1, Settings: settings("tidb_read_staleness", "-5")}, Recency, no},
		{"TiDB, reads of now", Circumstances{Product: "TiDB", Nodes: 1, Settings: settings("tidb_read_staleness", "0")}, Recency, yes},

		{"Cassandra, one and one of three", cassandra("one", "one", Events{}), Recency, no},
		{"Cassandra, quorums", cassandra("quorum", "quorum", Events{}), Recency, yes},
		{"Cassandra, one and all", cassandra("one", "all", Events{}), Recency, yes},
		{"Cassandra, quorums, by the clocks of several nodes", ofNodesClocks, Recency, no},
		{"Cassandra, quorums, a later write behind an earlier one by these clocks", ofNodesClocks, LastWrite, no},
		{"the same, and a row is gone", ofNodesClocks, Durability, yes},
		{"Cassandra, quorums, by the client's clock", cassandra("quorum", "quorum", Events{}), LastWrite, yes},
		{"Cassandra, one and one, a later write behind an earlier one", cassandra("one", "one", divided), LastWrite, no},
		{"the same without a fault", cassandra("one", "one", Events{}), LastWrite, yes},
		{"Redis, a later write behind an earlier one after a failover", redis(failedOver), LastWrite, may},
		{"MyISAM, the same", maria(1, one, "stored as MyISAM", "account"), LastWrite, yes},
		{"Cassandra, by the clock of its only node", Circumstances{Product: "Cassandra", Nodes: 1, Settings: settings("consistency of writes", "one", "consistency of reads", "one",
			"replication", "datacenter1: 1", "timestamps", "of the coordinating node")}, Recency, yes},
		{"Cassandra, one and one, lost with a fault", cassandra("one", "one", divided), Durability, no},
		{"Cassandra, one and one, lost without a fault", cassandra("one", "one", Events{}), Durability, yes},
		{"Cassandra, quorums, lost with a fault", cassandra("quorum", "quorum", divided), Durability, yes},

		{"Redis, lost and a failover", redis(failedOver), Durability, may},
		{"Redis, lost long after the failover", timed(redis(failedOver)), Durability, yes},
		{"Redis, lost without a failover", redis(killed), Durability, yes},
		{"Redis, a stale read at a failover", redis(failedOver), Recency, no},
		{"Redis, a stale read without one", redis(divided), Recency, yes},
		{"Redis, half a transaction after a failover", redis(failedOver), Atomicity, yes},
		{"Redis, keys evicted", redis(Events{}, "maxmemory", "1000000", "maxmemory-policy", "allkeys-lru"), Durability, no},
		{"Redis, keys evicted that were not modified for long", redis(Events{}, "maxmemory", "1000000", "maxmemory-policy", "allkeys-lrm"), Durability, no},
		{"Redis, no memory to evict for", redis(Events{}, "maxmemory", "0", "maxmemory-policy", "allkeys-lru"), Durability, yes},
		{"Redis, memory that refuses writes", redis(Events{}, "maxmemory", "1000000", "maxmemory-policy", "noeviction"), Durability, yes},

		{"a user's rule at read committed", postgres(Events{}, one, "isolation", "read committed"), Invariant, no},
		{"a user's rule at serializable", postgres(Events{}, one, "isolation", "serializable"), Invariant, yes},
		{"a level that is not in force", postgres(Events{}, one, "isolation", "read committed", "isolation in force", "serializable"), Invariant, yes},
		{"memory", Circumstances{Product: "memory", Nodes: 1, Settings: settings("isolation", "strict serializable")}, Invariant, yes},
		{"memory, lost", Circumstances{Product: "memory", Nodes: 1}, Durability, yes},
		{"a product of which nothing is known, without a fault", Circumstances{Product: "YugabyteDB", Nodes: 3}, Durability, yes},
		{"a product of which nothing is known, with a fault", Circumstances{Product: "YugabyteDB", Nodes: 3, Happened: killed}, Durability, may},
	} {
		r := test.c.Of(test.property)
		if got := word(r); got != test.want {
			t.Errorf("%s: %s is %s (%s; %s), want %s", test.name, test.property.Name(), got, r.Source, r.Manual, test.want)
		}
		if r.Promised != nil && !*r.Promised && (r.Source == "" || r.Manual == "") {
			t.Errorf("%s: allowed by %q, and %q says so", test.name, r.Source, r.Manual)
		}
		if r.Manual != "" && !durability.Cited(r.Manual) {
			t.Errorf("%s: %q lacks a page or a version", test.name, r.Manual)
		}
	}
}

// TestEveryRuleHasItsPage wants of each rule the manual's page, and the version that the server chooses.
func TestEveryRuleHasItsPage(t *testing.T) {
	for _, r := range rules() {
		products := r.products
		if products == nil {
			products = []string{"PostgreSQL", "MariaDB", "MySQL", "MongoDB", "SQLite", "CockroachDB", "TiDB", "etcd", "Redis", "Cassandra"}
		}
		for _, product := range products {
			c := Circumstances{Product: product, Version: "1.2.3"}
			said := c.cited(r.ruling(c.facts())).Manual
			if !durability.Cited(said) {
				t.Errorf("%s, %s: %q lacks a page or a version", product, r.source, said)
			}
		}
	}
	standby := Circumstances{Product: "PostgreSQL", Nodes: 2, Settings: settings(settingReads, "standbys")}
	for version, want := range map[string]string{"15.18 (Debian)": "PostgreSQL manual 15, ", "9.6.1": "PostgreSQL manual 9, ", "99.1": "PostgreSQL manual 18, ", "": "PostgreSQL manual 18, "} {
		if standby.Version = version; !strings.HasPrefix(standby.Of(Recency).Manual, want) {
			t.Errorf("%s: %s", version, standby.Of(Recency).Manual)
		}
	}
	if of := standby.Of(CommitOrder); word(of) != no || !strings.Contains(of.Manual, "Hot Standby") || word(standby.Of(Isolation)) != yes {
		t.Errorf("of standbys: the order of commits %+v, isolation %+v", of, standby.Of(Isolation))
	}
	past := Circumstances{Product: "MongoDB", Nodes: 3, Settings: settings("write concern", "majority", "read concern", "snapshot", settingReads, "primary", "data nodes", "3")}
	for version, want := range map[string]string{"4.4.2": yes, "5.0.32": no, "": no} {
		if past.Version = version; word(past.Of(Recency)) != want {
			t.Errorf("MongoDB %s: %+v, want %s", version, past.Of(Recency), want)
		}
	}
}

// TestMerge wants one broken promise to be one whatever else is allowed, and what is not
// known not to be excused.
func TestMerge(t *testing.T) {
	free, open := allowed("w:1", "page"), unknown("isolation", "chapter")
	for _, test := range []struct {
		all  []Ruling
		want string
	}{
		{[]Ruling{free}, no}, {[]Ruling{free, free}, no}, {[]Ruling{free, open}, may}, {[]Ruling{open, promised(), free}, yes},
		{[]Ruling{promised()}, yes}, {nil, may},
	} {
		if got := Merge(test.all); word(got) != test.want {
			t.Errorf("%v: %s, want %s", test.all, word(got), test.want)
		}
	}
	if got := Merge([]Ruling{free, free}); got.Source != "w:1" || got.Manual != "page" {
		t.Errorf("%+v", got)
	}
}

// TestEveryConditionCanHold: facts are in lower case.
func TestEveryConditionCanHold(t *testing.T) {
	for _, r := range rules() {
		for _, x := range r.when {
			for _, value := range x.values {
				if value != strings.ToLower(value) {
					t.Errorf("%s: no fact %s is ever %q", r.source, x.setting, value)
				}
			}
		}
	}
	sharded := Circumstances{Product: "Redis", Nodes: 6, Happened: Events{Failover: true},
		Settings: settings("failover by", "Redis Cluster")}
	if r := sharded.Of(Recency); r.Source != "a failover by Redis Cluster" || !strings.Contains(r.Manual, "Redis cluster specification") {
		t.Errorf("a stale read of a Redis Cluster is allowed by %q, %s", r.Source, r.Manual)
	}
}
