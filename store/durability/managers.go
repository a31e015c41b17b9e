package durability

import (
	"cmp"
	"fmt"
	"math"
	"time"

	"assay/store"
)

func (s settings) or(name, usual string) string { return cmp.Or(s[name], usual) }

// TakenOver is how long before a takeover acknowledged work may be lost.
func (g Guarantee) TakenOver(stoodStill bool) time.Duration {
	if stoodStill && g.StoodStill != 0 {
		return g.StoodStill
	}
	return g.Failover
}

// led follows the manual of the program that leads the nodes. No manual bounds how long a
// returning primary takes writes: Patroni stops it "under normal circumstances" ("Watchdog
// support"), and repmgr leaves it to the operator ("Concepts", fencing). It matters where a
// failover may lose anything; Patroni bounds how much, but not since when.
func (s settings) led(g Guarantee) Guarantee {
	by, is := s[store.SettingLedBy]
	if !is {
		return g
	}
	g.Returning = math.MaxInt64
	g.Source = s.source(store.SettingLedBy, "synchronous_mode") + ", " + g.Source
	if page := s.goesOn(by); page != "" && g.Failover == 0 {
		// Only this node has what it acknowledges then, and no other node is promoted.
		if g.Manual += page; g.Class == Majority || g.Class == SomeNodes {
			g.Class, g.Survives, g.Nodes = SystemCrash, 0, 0
		}
	}
	switch by {
	case "Patroni":
		// "Patroni does not get to run due to high load on the system, the VM being paused by the
		// hypervisor": then only a watchdog device guarantees a single primary.
		g.StoodStill = Unbounded
		if g.Failover != 0 {
			lag, ttl := s.or("maximum_lag_on_failover", "1 MiB"), s.or("ttl", "30 s")
			g.FailoverText = fmt.Sprintf("up to %s of log (maximum_lag_on_failover) and what was written in the last %s (ttl)", lag, ttl)
			g.Manual += `; Patroni documentation, "Replication modes" (Asynchronous mode durability)`
		}
		g.Manual += `; Patroni documentation, "Watchdog support"`
	case "repmgr":
		g.Manual += `; repmgr manual, "Concepts" (fencing)`
	}
	return g
}

// goesOn cites the page that lets a primary acknowledge commits alone once it can wait for no
// standby, whatever its settings say then. It is empty if none does.
func (s settings) goesOn(by string) string {
	switch {
	case by == "Patroni" && s.is("synchronous_mode", "on"):
		return `; Patroni documentation, "Replication modes" (Synchronous mode: when no suitable standby is available, the primary still accepts writes)`
	case by == "pg_auto_failover" && s.count("standbys") < 2:
		return `; pg_auto_failover documentation, "Multi-node Architectures" (Number Sync Standbys: with zero, commits wait for nobody while no standby is healthy)`
	}
	return ""
}
