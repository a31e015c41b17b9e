package promise

import (
	"slices"
	"strings"

	"assay/store"
	"assay/store/durability"
)

// Settings as drivers name them, and facts derived from them.
const (
	settingWriteConcern = "write concern"
	settingReadConcern  = "read concern"
	settingReads        = "reads are answered by"
	settingLedBy        = "led by"
	settingStandbys     = "synchronous_standby_names"

	// factMajority: a write waits for a majority. factSerializable: transactions run as if
	// serially. factOverlap: R + W > N.
	factMajority     = "a majority acknowledges"
	factSerializable = "serializable"
	factOverlap      = "reads overlap writes"
	factVersion      = "version"
	factPage         = "isolation page"
)

type need uint8

const (
	severalNodes need = 1 << iota
	failover          // another node took over
	divided           // two may have taken themselves for the primary
	anyEvent
)

// condition requires a setting to have one of the values or, if not is true, none of them,
// present or not. Without values it requires that the setting is present.
type condition struct {
	setting string
	not     bool
	values  []string
}

func is(setting string, values ...string) condition { return condition{setting, false, values} }

// since requires this version or a later one; an unknown version passes.
func since(version string) condition { return condition{factVersion, false, []string{version}} }

func isNot(setting string, values ...string) condition { return condition{setting, true, values} }

func (x condition) holds(facts map[string]string) bool {
	value, there := facts[x.setting]
	switch {
	case x.setting == factVersion:
		return value == "" || !durability.Newer(x.values[0], value)
	case !there:
		return x.not
	case len(x.values) == 0:
		return true
	}
	return slices.Contains(x.values, value) != x.not
}

type rule struct {
	products   []string // none for all
	properties []Property
	when       []condition
	needs      need
	// open is true if the manual leaves the question open.
	open bool
	// source is the settings in the product's words; {NAME} stands for a setting's value.
	source, manual string
}

// rules lists all rules. The first match decides.
func rules() []rule {
	return slices.Concat(mongoRules(), sqlRules(), cassandraRules(), redisRules(), etcdRules(), commonRules())
}

func mongoRules() []rule {
	mongo := []string{"MongoDB"}
	const recency = `MongoDB manual, "Read Isolation, Consistency, and Recency"`
	return []rule{
		{mongo, []Property{Recency}, []condition{is(settingReads), isNot(settingReads, "primary")}, severalNodes, false,
			"reads answered by {reads are answered by}", `MongoDB manual, "Read Preference" (members other than the primary may return stale data)`},
		// At read concern snapshot or majority a transaction reads what a majority has.
		{mongo, []Property{Recency}, []condition{is(factMajority, "false"), isNot(settingReadConcern, "linearizable")}, severalNodes, false,
			"w:{write concern}", `MongoDB manual, "Write Concern", "Read Concern \"majority\"" (what is acknowledged by fewer is not yet what such a read returns)`},
		{mongo, []Property{Recency}, []condition{is(factMajority, "unknown"), isNot(settingReadConcern, "linearizable")}, severalNodes, true,
			"w:{write concern}", `MongoDB manual, "getDefaultRWConcern" (who acknowledges a write is the server's default, which this user may not ask for)`},
		// No page says that a transaction reads the past, only that it reads one snapshot.
		{mongo, []Property{Recency}, []condition{is(settingReads), is(settingReadConcern, "snapshot"), since("5.0")}, severalNodes, false,
			"read concern {read concern}", `MongoDB manual, "Read Concern \"snapshot\"" (outside of transactions a read is of a specific single point in time in the recent past)`},
		{mongo, []Property{Recency}, []condition{isNot(settingReadConcern, "linearizable")}, severalNodes | divided, false,
			"read concern {read concern}", recency + " (two nodes may transiently believe that they are the primary; clients of the former one may observe stale data)"},
		{mongo, []Property{Permanence}, []condition{is(settingReadConcern, "local", "available")}, severalNodes | failover, false,
			"read concern {read concern}", `MongoDB manual, "Read Concern \"local\"" (what a majority does not have may be read, and rolled back)`},
		{mongo, []Property{Snapshot}, []condition{is(factMajority, "false")}, severalNodes | failover, true,
			"w:{write concern}", `MongoDB manual, "Transactions", "Read Concern \"snapshot\"" (no guarantee unless the commit has write concern majority)`},
	}
}

func sqlRules() []rule {
	const galera = `MariaDB Galera Cluster documentation, "Known Limitations" (Stale Reads) and "Galera Cluster System Variables" (wsrep_sync_wait: a node may answer before it has applied what others have committed)`
	const semisync = `MySQL manual, "Semisynchronous Replication"; MariaDB documentation, "Semisynchronous Replication" (if the timeout occurs without any replica having acknowledged the transaction, the source reverts to asynchronous replication)`
	const consistency = `MySQL manual, "Transaction Consistency Guarantees" (a member that was cut off or has not applied its backlog may answer with what is old)`
	const backlog = `MySQL manual, "Understanding Transaction Consistency Guarantees" (a new primary may take reads while it still applies what came from the old one, so that they may be old)`
	const waiting = `PostgreSQL manual, "Log-Shipping Standby Servers", "Planning for High Availability" (where the primary restarts while commits wait for a standby, they are committed there, and may be missing on the standby; what is promised is that no client gets an acknowledgement)`
	const cancelled = `Patroni documentation, "Replication modes", "Synchronous mode" (a commit that is cancelled while it waits becomes visible, and may be lost when a standby is promoted)`
	const afterCommit = `MySQL manual, "Semisynchronous Replication"; MariaDB documentation, "Semisynchronous Replication" (after_commit: others see a transaction before a replica has it, and may lose what they saw at a failover)`
	mysql := []string{"MariaDB", "MySQL"}
	return []rule{
		{mysql, []Property{Permanence}, []condition{is("rpl_semi_sync_source_wait_point", "after_commit")}, severalNodes | failover, false,
			"rpl_semi_sync_source_wait_point=AFTER_COMMIT", afterCommit},
		{mysql, []Property{Permanence}, []condition{is("rpl_semi_sync_master_wait_point", "after_commit")}, severalNodes | failover, false,
			"rpl_semi_sync_master_wait_point=AFTER_COMMIT", afterCommit},
		{[]string{"PostgreSQL"}, []Property{Permanence}, []condition{is(settingLedBy, "patroni")}, severalNodes | failover, false,
			"commits that were given up while they waited for a standby", cancelled},
		{[]string{"PostgreSQL"}, []Property{Permanence}, nil, severalNodes | failover, false,
			"commits that were given up while they waited for a standby", waiting},
		{mysql, append(afterLoss(), Permanence), []condition{is("rpl_semi_sync_source_enabled", "on")}, severalNodes | failover | divided, true,
			"rpl_semi_sync_source_timeout={rpl_semi_sync_source_timeout} ms, after which commits wait for no replica, and nodes that were cut off", semisync},
		{mysql, append(afterLoss(), Permanence), []condition{is("rpl_semi_sync_master_enabled", "on")}, severalNodes | failover | divided, true,
			"rpl_semi_sync_master_timeout={rpl_semi_sync_master_timeout} ms, after which commits wait for no replica, and nodes that were cut off", semisync},
		{mysql, []Property{Recency}, []condition{is("members of the group"), isNot("group_replication_consistency", "before", "before_and_after")}, severalNodes | divided, false,
			"group_replication_consistency={group_replication_consistency}", consistency},
		{mysql, []Property{Recency}, []condition{is("members of the group"), is("group_replication_consistency", "eventual")}, severalNodes | failover, false,
			"group_replication_consistency={group_replication_consistency}", backlog},
		{mysql, []Property{Recency}, []condition{is("wsrep_cluster_size"), is("wsrep_sync_wait", "0", "2", "4", "6", "8", "10", "12", "14"), isNot("audits", "wsrep_sync_wait=1")},
			severalNodes, false, "wsrep_sync_wait={wsrep_sync_wait}", galera},
		// A standby that confirms commits may be out of reach, or without repmgrd.
		{[]string{"PostgreSQL"}, afterLoss(), []condition{is(settingLedBy, "repmgr"), is(settingStandbys), isNot(settingStandbys, "", "(none)", "unknown")}, severalNodes | failover, true,
			"led by=repmgr, synchronous_standby_names={synchronous_standby_names}", `repmgr manual, "Automatic failover with repmgrd" (it does not say that the standby which is promoted is one that has confirmed the commits)`},
		{[]string{"TiDB"}, []Property{Recency}, []condition{is("tidb_read_staleness"), isNot("tidb_read_staleness", "0", "(none)")}, 0, false,
			"tidb_read_staleness={tidb_read_staleness}", `TiDB documentation, "Read Historical Data Using the tidb_read_staleness System Variable" (queries outside of interactive transactions)`},
		// A primary shows a commit after its wait for log and standbys, a standby in log order.
		{[]string{"PostgreSQL"}, []Property{Recency, CommitOrder}, []condition{is(settingReads), isNot(settingReads, "the primary")}, severalNodes, false,
			"reads answered by {reads are answered by}", `PostgreSQL manual, "Hot Standby" (data on a standby takes some time to arrive, so that it is eventually consistent with the primary)`},
		{[]string{"PostgreSQL"}, []Property{Recency, Snapshot}, nil, severalNodes | failover, true,
			"a failover without a proof that the old primary was fenced", `PostgreSQL manual, "Failover" (the old primary must be told that it is no longer the primary)`},
	}
}

func cassandraRules() []rule {
	const tunable = `Cassandra documentation, "Dynamo" (Tunable Consistency: a read sees a write for certain if R + W > N)`
	const clocks = `Cassandra documentation, "Dynamo", "Data Versioning" (the last write by its timestamp wins, which is right only while the clocks agree)`
	return []rule{
		{[]string{"Cassandra"}, []Property{Recency, LastWrite}, []condition{is(store.SettingTimestamps, store.TimestampsCoordinated)}, severalNodes, false,
			"timestamps of the coordinating nodes, whose clocks may differ", clocks},
		{[]string{"Cassandra"}, []Property{Recency}, []condition{is(factOverlap, "false")}, severalNodes, false,
			"consistency {consistency of writes} of writes and {consistency of reads} of reads", tunable},
		{[]string{"Cassandra"}, []Property{Durability, LastWrite}, []condition{is(factOverlap, "false")}, severalNodes | anyEvent, false,
			"consistency {consistency of writes} of writes and {consistency of reads} of reads", tunable},
	}
}

func redisRules() []rule {
	of := []string{"Redis"}
	return []rule{
		{of, []Property{Recency}, []condition{is("failover by", "redis cluster")}, severalNodes | failover, false, "a failover by Redis Cluster",
			`Redis documentation, "Redis cluster specification", "Write safety" (asynchronous replication between nodes, and last failover wins)`},
		{of, []Property{Recency}, nil, severalNodes | failover, false, "a failover by Sentinels",
			`Redis documentation, "High availability with Redis Sentinel", "Consistency under partitions" (an eventually consistent system in which the last failover wins)`},
		{of, []Property{Durability, LastWrite, Recency}, []condition{is("maxmemory-policy", "allkeys-lru", "allkeys-lrm", "allkeys-lfu", "allkeys-random"), isNot("maxmemory", "0")}, 0, false,
			"maxmemory={maxmemory}, maxmemory-policy={maxmemory-policy}", `Redis documentation, "Key eviction" (keys are removed when the memory is full)`},
	}
}

func etcdRules() []rule {
	return []rule{
		{[]string{"etcd"}, []Property{Recency}, []condition{is("reads", "serializable")}, severalNodes, false,
			"reads={reads}", `etcd manual, "etcd API guarantees", "Linearizability" (a serializable read is answered by one member and may be stale)`},
	}
}

func commonRules() []rule {
	return []rule{
		{nil, []Property{Invariant}, []condition{is(factSerializable, "false"), is("isolation")}, 0, false,
			"isolation {isolation}, at which transactions need not be as one after the other", "{isolation page}"},
		{nil, []Property{Invariant}, []condition{is(factSerializable, "false")}, 0, true, "an isolation level of which nothing is known", "{isolation page}"},
	}
}

func (r *rule) matches(c *Circumstances, facts map[string]string, p Property) bool {
	h := c.Happened
	for needed, so := range map[need]bool{severalNodes: c.several(), failover: h.Failover, divided: h.Divided, anyEvent: h.Any()} {
		if r.needs&needed != 0 && !so {
			return false
		}
	}
	return (r.products == nil || slices.Contains(r.products, c.Product)) && slices.Contains(r.properties, p) &&
		!slices.ContainsFunc(r.when, func(x condition) bool { return !x.holds(facts) })
}

func (r *rule) ruling(facts map[string]string) Ruling {
	source, manual := r.source, strings.ReplaceAll(r.manual, "{"+factPage+"}", facts[factPage])
	for name, value := range facts {
		source = strings.ReplaceAll(source, "{"+name+"}", value)
	}
	if r.open {
		return unknown(source, manual)
	}
	return allowed(source, manual)
}
