// Package durability says what an acknowledgement is worth under the settings that a server
// reports. It covers a killed process, a loss of power of one machine and of all, by the
// product's manual.
//
// It must not know any driver, cluster or report: it is a function of a product's name and
// settings.
package durability

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"assay/store"
)

// Class says what an acknowledged transaction survives.
type Class string

const (
	// None: it may be lost when the server's process is killed.
	None Class = "none"
	// ProcessCrash: a killed process loses nothing, but a loss of power may lose even old work.
	ProcessCrash Class = "process crash"
	// SystemCrashWithin: it survives a loss of power once it is older than a documented time.
	SystemCrashWithin Class = "system crash with loss"
	// SystemCrash: it survives a loss of power of the server that acknowledged it.
	SystemCrash Class = "system crash"
	// SomeNodes: it survives the loss of some nodes with their disks, but not of any minority.
	SomeNodes Class = "loss of some nodes"
	// Majority: it survives the loss of any minority of the nodes with their disks.
	Majority Class = "majority"
)

// Unbounded is a window without a limit.
const Unbounded time.Duration = -1

// Guarantee is what a product promises. The zero value means that nothing is known. Its times say
// how long before an event a transaction may have been acknowledged that is then lost; 0 means
// that none may be lost.
type Guarantee struct {
	Class Class
	// OneNode is for a loss of power of a minority, AllNodes of all nodes at the same time.
	OneNode, AllNodes time.Duration
	// Killed and AllKilled are the same for killed processes whose machines stay up.
	Killed, AllKilled time.Duration
	// Stopped is for a process that ends in order.
	Stopped time.Duration
	// Failover is for a takeover by another node, until the old primary is back.
	Failover time.Duration
	// Returning is how long a returning old primary may take writes, which are then lost too.
	Returning time.Duration
	// StoodStill replaces Failover if the old primary's processes stood still and went on.
	StoodStill time.Duration
	// FailoverText says how much a failover loses, if the manual says more than Failover. Several
	// is true if there is a node that could take over.
	FailoverText string
	Several      bool
	// Survives is how many of Nodes may be lost, in the class SomeNodes.
	Survives, Nodes int
	// Source is the settings that decide, as reported, and Manual the chapter that explains them.
	Source, Manual string
}

// Known reports whether anything is known of the product.
func (g Guarantee) Known() bool { return g.Class != "" }

// Text is the class in words, with its time and what a failover may lose.
func (g Guarantee) Text() string {
	text := string(g.Class)
	switch g.Class {
	case SystemCrashWithin:
		text += fmt.Sprintf(" of up to %d ms", g.AllNodes.Milliseconds())
	case SomeNodes:
		text = g.ofNodes()
	}
	switch {
	case !g.Several || g.Failover == 0:
		return text
	case g.FailoverText != "":
		return text + "; a failover loses " + g.FailoverText
	}
	return text + "; a failover may lose what no other node has"
}

// Allows is how old lost work may be if this many nodes lost power. A majority counts as all.
func (g Guarantee) Allows(cut, all int) time.Duration {
	if 2*cut > all {
		return g.AllNodes
	}
	return g.OneNode
}

// AllowsKilled is Allows for nodes without a process.
func (g Guarantee) AllowsKilled(killed, all int) time.Duration {
	if 2*killed > all {
		return longer(g.Killed, g.AllKilled)
	}
	return g.Killed
}

// Setting is a setting that a server reports.
type Setting struct{ Name, Value string }

type settings map[string]string

// Of returns what a product promises under its settings.
func Of(product string, reported []Setting) Guarantee {
	all := settings{}
	for _, s := range reported {
		all[s.Name] = s.Value
	}
	g := all.of(product)
	if !g.Known() {
		return g
	}
	g.Several = max(all.count("data nodes"), all.count("standbys")+1, all.count(store.SettingReplicas)+1) > 1
	for _, s := range reported {
		if way, apart := strings.CutPrefix(s.Name, store.SettingStoredAs); apart {
			g = weaker(g, storedAs(product, way, s.Value))
		}
	}
	return g
}

// of ignores tables that are stored in a way of their own.
func (s settings) of(product string) Guarantee {
	switch product {
	case "PostgreSQL":
		return s.led(postgres(s))
	case "MariaDB", "MySQL":
		return mysql(product, s)
	case "MongoDB":
		return mongodb(s)
	case "Cassandra":
		return cassandra(s)
	case "etcd":
		return etcd(s)
	case "SQLite":
		return sqlite(s)
	case "Redis":
		return redis(s)
	}
	return Guarantee{}
}

func (s settings) is(name string, values ...string) bool {
	for _, v := range values {
		if strings.EqualFold(s[name], v) {
			return true
		}
	}
	return false
}

// source lists the reported settings as name=value.
func (s settings) source(names ...string) string {
	var parts []string
	for _, name := range names {
		if value := s[name]; value != "" {
			parts = append(parts, name+"="+value)
		}
	}
	return strings.Join(parts, ", ")
}

// duration reads a time such as 200ms; a bare number is in unit. The default is otherwise.
func (s settings) duration(name string, unit, otherwise time.Duration) time.Duration {
	text := s[name]
	if n, err := strconv.ParseFloat(text, 64); err == nil {
		return time.Duration(n * float64(unit))
	}
	if d, err := time.ParseDuration(text); err == nil {
		return d
	}
	return otherwise
}

func (s settings) count(name string) int {
	n, _ := strconv.Atoi(s[name]) // what is no number counts for none
	return n
}

// alone is the guarantee of a single server.
func alone(class Class, window time.Duration, source, manual string) Guarantee {
	g := Guarantee{Class: class, OneNode: window, AllNodes: window, Source: source, Manual: manual}
	if class == None {
		g.Killed = window
	}
	return g
}

func within(window time.Duration) Class {
	switch {
	case window == 0:
		return SystemCrash
	case window < 0:
		return ProcessCrash
	}
	return SystemCrashWithin
}

// postgres follows the PostgreSQL manual, "Write Ahead Log" (fsync, full_page_writes,
// synchronous_commit), "Asynchronous Commit" (the risk lasts at most three times
// wal_writer_delay) and "Log-Shipping Standby Servers" (Synchronous Replication).
func postgres(s settings) Guarantee {
	const manual = `PostgreSQL manual, "Write Ahead Log" and "Asynchronous Commit"`
	g := committed(s, manual)
	if s.is("fsync", "off") || s.is("full_page_writes", "off") {
		g = both(alone(ProcessCrash, Unbounded, s.source("fsync", "full_page_writes"), manual), g)
	}
	return g
}

// committed is postgres for a server whose log and pages survive any crash.
func committed(s settings, manual string) Guarantee {
	replicated := !s.is("synchronous_standby_names", "", "(none)", "unknown")
	switch {
	case s.is("synchronous_commit", "off"):
		const usual = 200 * time.Millisecond
		window := 3 * s.duration("wal_writer_delay", time.Millisecond, usual)
		g := alone(within(window), window, s.source("synchronous_commit", "wal_writer_delay"), manual)
		g.Killed, g.Failover = window, Unbounded // what is not written yet is in the server's memory
		return g
	case replicated && s.is("synchronous_commit", "on", "remote_apply", "remote_write"):
		waited, named := confirming(s["synchronous_standby_names"])
		g := Guarantee{Source: s.source("synchronous_commit", "synchronous_standby_names", "standbys", "fsync", "full_page_writes"),
			Manual: `PostgreSQL manual, "Log-Shipping Standby Servers" (Synchronous Replication)`}
		if s.is("synchronous_commit", "remote_write") { // "not if the standby suffers an operating-system-level crash" ("Write Ahead Log")
			g.AllNodes = Unbounded
		}
		return spread(g, 1+waited, 1+max(named, s.count("standbys")))
	}
	g := alone(SystemCrash, 0, s.source("synchronous_commit", "fsync", "full_page_writes"), manual)
	g.Failover = Unbounded // "Log-Shipping Standby Servers": a window for data loss, of what was not shipped yet
	if s.count("standbys") > 0 {
		g.Source, g.Manual = s.source("synchronous_commit", "synchronous_standby_names", "fsync", "full_page_writes"), manual+`, "Log-Shipping Standby Servers"`
	}
	return g
}

// mongodb follows the MongoDB manual, "Write Concern" (acknowledgement behaviour), "Journaling"
// (the journal is synced every 100 ms) and "Rollbacks During Replica Set Failover".
func mongodb(s settings) Guarantee {
	const manual = `MongoDB manual, "Write Concern", "Journaling" and "Rollbacks During Replica Set Failover"`
	const interval = 100 * time.Millisecond // storage.journal.commitIntervalMs
	const persistent = "storage engine is persistent"
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
	case s.is(persistent, "false"):
		g := alone(None, Unbounded, s.source("storage engine", persistent), `MongoDB manual, "Storage Engines" (a storage engine that is not persistent)`)
		g.Stopped = Unbounded
		return g
	case nodes > 1 && !majority && s.count(concern) == 0 && !s.is(concern, "0"): // nobody says who acknowledges
		return Guarantee{}
	case s.is(concern, "0"):
		g := alone(None, Unbounded, source, manual)
		g.Failover = Unbounded
		return g
	case majority && nodes > 1: // records of the journal "remain in the WiredTiger buffers" of each until it is synced
		return Guarantee{Class: Majority, AllNodes: window, AllKilled: window, Source: source, Manual: manual}
	case nodes > 1: // what no other member has yet is rolled back after a failover
		return Guarantee{Class: within(window), OneNode: Unbounded, AllNodes: window, Killed: window, Failover: Unbounded, Source: source, Manual: manual}
	}
	g := alone(within(window), window, source, manual)
	g.Killed = window // records of the journal "remain in the WiredTiger buffers" until then
	return g
}

// etcd follows etcd's manual, "etcd API guarantees": "Any completed operations are durable. All
// accessible data is also durable data." A proposal is acknowledged when a majority has it in its
// synced log ("Tuning", "Disk"). The server does not report --unsafe-no-fsync.
func etcd(s settings) Guarantee {
	const manual = `etcd manual, "etcd API guarantees" (Durability); "Configuration options" (--unsafe-no-fsync takes it away, and is not reported)`
	source := s.source("members")
	if s.count("members") > 1 {
		return Guarantee{Class: Majority, Source: source, Manual: manual}
	}
	return alone(SystemCrash, 0, source, manual)
}

// sqliteFolder is how soon file systems write a changed folder: ext4 every 5 s (ext4(5), commit).
const sqliteFolder = 5 * time.Second

// sqlite follows SQLite's "Pragma statements supported by SQLite" (synchronous, journal_mode).
func sqlite(s settings) Guarantee {
	const manual = `SQLite documentation, "Pragma statements supported by SQLite" (synchronous, journal_mode)`
	source := s.source("journal_mode", "synchronous")
	switch {
	case s.is("journal_mode", "off", "memory"):
		return alone(None, Unbounded, source, manual)
	case s.is("synchronous", "off", "0"), s.is("synchronous", "normal", "1"):
		return alone(ProcessCrash, Unbounded, source, manual) // in WAL it is consistent, and may end at the last checkpoint
	case s.is("journal_mode", "delete") && s.is("synchronous", "full", "2"):
		// "EXTRA provides additional durability if the commit is followed closely by a power
		// loss": FULL does not sync the folder after removing the journal. The file system
		// decides how close.
		return alone(within(sqliteFolder), sqliteFolder, source, manual)
	}
	return alone(SystemCrash, 0, source, manual)
}
