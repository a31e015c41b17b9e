package durability

import (
	"math"

	"assay/store"
)

// led follows the manual of the program that leads the nodes. None of them says how long an old
// primary that is back takes writes at most: Patroni stops it "under normal circumstances" ("Watchdog
// support"), and repmgr leaves it to whoever looks after the machines ("Concepts", fencing). It
// matters where a failover may lose anything: a commit that waits for a standby is not acknowledged
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
		g.Manual += `; Patroni's documentation, "Watchdog support"`
	case "repmgr":
		g.Manual += `; repmgr's manual, "Concepts" (fencing)`
	}
	return g
}
