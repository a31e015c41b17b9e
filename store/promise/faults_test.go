package promise

import (
	"slices"
	"testing"

	"assay/store/durability"
)

// TestWhatAFaultMayLose: what was acknowledged at second 9 before, or at second 12 while, a fault
// acted from second 10 to 20.
func TestWhatAFaultMayLose(t *testing.T) {
	const second = int64(1e9)
	majority := durability.Of("MongoDB", settings("write concern", "majority", "data nodes", "3"))
	one := durability.Of("MongoDB", settings("write concern", "1", "data nodes", "3"))
	lazy := durability.Of("PostgreSQL", settings("synchronous_commit", "off", "wal_writer_delay", "10s"))
	unsaved := durability.Of("Redis", settings("appendonly", "no", "save", "(none)"))
	saved := durability.Of("Redis", settings("appendonly", "no", "save", "3600 1"))
	paused := durability.Of("PostgreSQL", settings("synchronous_commit", "on", "fsync", "on", "full_page_writes", "on", "synchronous_standby_names", "n2", "led by", "Patroni"))
	at := func(f Fault) Fault { f.At, f.Healed = 10*second, 20*second; return f }
	for _, c := range []struct {
		name           string
		g              durability.Guarantee
		f              Fault
		before, within bool
		happened       Events
	}{
		{"kill, a majority", majority, Fault{Kills: true, NoProcess: 1}, false, false, Events{Killed: true}},
		{"kill, not written yet", lazy, Fault{Kills: true, NoProcess: 1}, true, false, Events{Killed: true}},
		{"kill of two of three", majority, Fault{Kills: true, NoProcess: 2}, false, false, Events{Killed: true, MostKilled: true}},
		{"failover, one acknowledges", one, Fault{Kills: true, NoProcess: 1, HitPrimary: true, TookOver: true}, true, true, Events{Killed: true, Failover: true}},
		{"failover, a majority", majority, Fault{Divides: true, HitPrimary: true, TookOver: true}, false, false, Events{Divided: true, Failover: true}},
		{"failover of what stood still", paused, Fault{StandsStill: true, Divides: true, HitPrimary: true, TookOver: true}, true, true, Events{Divided: true, Failover: true, StoodStill: true}},
		{"the primary is replaced, one acknowledges", one, Fault{Kills: true, NoProcess: 1, Away: 1, HitPrimary: true}, true, false, Events{Killed: true, Emptied: true}},
		{"a secondary is replaced, one acknowledges", one, Fault{Kills: true, NoProcess: 1, Away: 1}, false, false, Events{Killed: true}},
		{"the primary is replaced, a majority", majority, Fault{Kills: true, NoProcess: 1, Away: 1, HitPrimary: true}, false, false, Events{Killed: true}},
		{"two of three are replaced", majority, Fault{Kills: true, NoProcess: 2, Away: 2}, true, true, Events{Killed: true, MostKilled: true, Emptied: true}},
		{"power cut, not written yet", lazy, Fault{CutsPower: true, CutAt: 11 * second, NoPower: 1}, true, false, Events{PowerCut: true}},
		{"ended in order, and never written", unsaved, Fault{Ends: true}, true, true, Events{Stopped: true}},
		{"ended in order, and then written", saved, Fault{Ends: true}, false, false, Events{Stopped: true}},
		{"killed, since it did not end in its time", saved, Fault{Ends: true, Kills: true, KilledAt: 13 * second, NoProcess: 1}, true, true, Events{Stopped: true, Killed: true}},
		{"killed so, and it keeps what it acknowledged", majority, Fault{Ends: true, Kills: true, KilledAt: 13 * second, NoProcess: 1}, false, false, Events{Stopped: true, Killed: true}},
	} {
		moments := at(c.f).Moments(c.g, 3)
		may := func(acknowledged int64) bool {
			return slices.ContainsFunc(moments, func(m Moment) bool { return m.MayLose(acknowledged-1, acknowledged) })
		}
		if may(9*second) != c.before || may(12*second) != c.within {
			t.Errorf("%s: before %v, meanwhile %v: %+v", c.name, may(9*second), may(12*second), moments)
		}
		if got := (Events{}).With(at(c.f), c.g, 3); got != c.happened {
			t.Errorf("%s: %+v", c.name, got)
		}
	}
}
