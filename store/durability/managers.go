package durability

import (
	"cmp"
	"fmt"
	"math"

	"assay/store"
)

// or is what the program that leads the nodes was told, or its default.
func (s settings) or(name, usual string) string { return cmp.Or(s[name], usual) }

// led follows the manual of the program that leads the nodes. None of them says how long an old
// primary that is back takes writes at most: Patroni stops it "under normal circumstances" ("Watchdog
// support"), and repmgr leaves it to whoever looks after the machines ("Concepts", fencing). It
// matters where a failover may lose anything, of which Patroni's bounds how much but not since when: a commit that waits for a standby is not acknowledged
// by a primary that no standby follows.
func (s settings) led(g Guarantee) Guarantee {
	by, is := s[store.SettingLedBy]
	if !is {
		return g
	}
	g.Returning = math.MaxInt64
	g.Source = s.source(store.SettingLedBy) + ", " + g.Source
	switch by {
	case "Patroni":
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
