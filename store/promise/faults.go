package promise

import (
	"math"
	"time"

	"assay/store/durability"
)

// Fault took effect. Times are nanoseconds of one clock; 0 means never.
type Fault struct {
	// At is when it began, CutAt when the power went, KilledAt when the first process was killed
	// that was to end in order, and Healed when it was over.
	At, CutAt, KilledAt, Healed int64
	// Ends means that processes end in order, Kills that they are killed.
	Kills, Ends, CutsPower, Divides, StandsStill bool
	HitPrimary, TookOver                         bool
	// NoProcess and NoPower count the data nodes without one then, for whatever reason. Away is
	// how many were away while a node was back without its data; 0 if none was.
	NoProcess, NoPower, Away int
}

// KillTakes is how long after a fault began its processes are certainly gone.
const KillTakes = 500 * time.Millisecond

// Moment is a time at which a database may lose acknowledged work: nodes lost their power, lost
// their processes, or took over.
type Moment struct {
	// At is in nanoseconds since the start. Until, if later, is how late nodes may still have
	// acknowledged work that is lost.
	At, Until int64
	// Allowed is how long before At an operation may have been acknowledged that the manual does
	// not promise to keep; negative for any time.
	Allowed time.Duration
}

// Moments of a fault on this many nodes. A power cut is one even if nothing may be lost.
func (f Fault) Moments(g durability.Guarantee, nodes int) (all []Moment) {
	from := f.At
	add := func(allowed time.Duration, until int64) {
		if allowed != 0 {
			all = append(all, Moment{from, until, allowed})
		}
	}
	healed, killed := int64(math.MaxInt64), f.At+int64(KillTakes)
	if f.Healed > f.At {
		healed = f.Healed
	}
	if f.CutsPower && f.CutAt != 0 {
		all = append(all, Moment{At: f.CutAt, Allowed: g.Allows(f.NoPower, nodes)})
	}
	switch {
	case f.Kills && f.KilledAt > f.At: // more of them may be killed, one after the other
		from = f.KilledAt
		add(g.AllowsKilled(f.NoProcess, nodes), healed)
		from = f.At
	case f.Kills:
		add(g.AllowsKilled(f.NoProcess, nodes), min(healed, killed))
	}
	if f.Ends {
		add(g.Stopped, healed)
	}
	until := killed
	if f.Away > 1 { // and others are away, too
		until = max(f.At, f.Healed)
	}
	add(f.emptied(g, nodes), until)
	if f.TookOver && nodes > 1 { // the old one may go on until it can be reached, and is told
		add(g.TakenOver(f.StandsStill), healed+min(int64(g.Returning), math.MaxInt64-healed))
	}
	return all
}

func (f Fault) emptied(g durability.Guarantee, nodes int) time.Duration {
	if f.Away == 0 {
		return 0
	}
	return g.AllowsEmptied(f.Away, nodes, f.TookOver || f.HitPrimary)
}

// With adds what a fault did.
func (e Events) With(f Fault, g durability.Guarantee, nodes int) Events {
	e.Killed, e.PowerCut, e.Divided = e.Killed || f.Kills, e.PowerCut || f.CutsPower, e.Divided || f.Divides
	e.Stopped = e.Stopped || f.Ends
	e.MostKilled = e.MostKilled || f.Kills && 2*f.NoProcess > nodes
	e.Failover, e.StoodStill = e.Failover || f.TookOver, e.StoodStill || f.TookOver && f.StandsStill
	e.Emptied = e.Emptied || f.emptied(g, nodes) != 0
	return e
}

// End is the last time at which lost work may have been acknowledged.
func (m Moment) End() int64 { return max(m.At, m.Until) }

// Before is how long before it an operation was acknowledged; an answer may be on its way.
func (m Moment) Before(acknowledged int64) time.Duration {
	return time.Duration(max(m.At-acknowledged, 0))
}

// Allows reports whether the manual allows losing work acknowledged at a time before it.
func (m Moment) Allows(acknowledged int64) bool {
	return m.Allowed < 0 || m.Allowed > 0 && m.Before(acknowledged) <= m.Allowed
}

// MayLose reports whether an operation that began and was acknowledged then may be lost.
func (m Moment) MayLose(began, acknowledged int64) bool {
	return began <= m.End() && m.Allows(acknowledged)
}
