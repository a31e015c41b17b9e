package durability

import (
	"fmt"
	"regexp"
	"strings"
	"sync"
	"time"
)

// spread is g for a server that acknowledges a transaction once this many nodes, itself included,
// have it. If every loss of a minority leaves a copy the class is Majority, otherwise SomeNodes.
func spread(g Guarantee, copies, nodes int) Guarantee {
	if nodes = max(nodes, copies); copies > (nodes-1)/2 {
		g.Class = Majority
		return g
	}
	g.Class, g.Survives, g.Nodes = SomeNodes, copies-1, nodes
	return g
}

func (g Guarantee) ofNodes() string {
	return fmt.Sprintf("%s: any %d of %d, which is less than a minority", SomeNodes, g.Survives, g.Nodes)
}

var standbysWaitedFor = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?is)^\s*(?:(?:ANY|FIRST)\s+)?(\d+)\s*\((.*)\)\s*$`)
})

// confirming returns how many standbys a PostgreSQL commit waits for, and how many are named; 0
// means all (PostgreSQL manual, "Replication", synchronous_standby_names).
func confirming(names string) (waited, named int) {
	waited = 1
	if m := standbysWaitedFor().FindStringSubmatch(names); m != nil {
		_, _ = fmt.Sscan(m[1], &waited) // it is a number
		names = m[2]
	}
	for name := range strings.SplitSeq(names, ",") {
		if strings.TrimSpace(name) == "*" {
			return waited, 0
		}
		named++
	}
	return waited, named
}

// AllowsEmptied is how long before an event acknowledged work may be lost if nodes came back
// without data while this many of all were away, the primary among them or not. It is Unbounded
// unless the remaining nodes have everything. "To prevent changing the write quorum, never rotate
// more than one replica set member at a time" (MongoDB manual, "Resync a Member of a Replica
// Set").
func (g Guarantee) AllowsEmptied(away, all int, primary bool) time.Duration {
	if primary && g.Failover != 0 || away >= all || away > 1 && 2*away >= all {
		return Unbounded
	}
	return 0
}

// cassandra follows the Cassandra documentation, "Storage Engine" (CommitLog: commitlog_sync) and
// "Dynamo" (tunable consistency).
func cassandra(s settings) Guarantee {
	const manual = `Cassandra documentation, "Storage Engine" (commit log) and "Dynamo" (Tunable Consistency)`
	const usual = 10 * time.Second
	window := time.Duration(0)
	if s.is("commitlog_sync", "periodic") {
		// "up to the sync period or more if the sync is delayed": by default, writes are
		// acknowledged until the sync lags by 1.5 periods (periodic_commitlog_sync_lag_block).
		window = s.duration("commitlog_sync_period", time.Millisecond, usual) * 3 / 2
	}
	source := s.source("consistency of writes", "replication", "commitlog_sync", "commitlog_sync_period")
	switch {
	case s.is("durable_writes", "false"):
		return alone(None, Unbounded, s.source("durable_writes"), `Cassandra documentation, "Data Definition" (durable_writes: whether to use the commit log)`)
	case s["commitlog_sync"] == "": // the server does not tell
		return Guarantee{}
	}
	if all, waited := s.replicas(); waited > 1 {
		return spread(Guarantee{AllNodes: window, Source: source, Manual: manual}, waited, all)
	}
	return alone(within(window), window, source, manual)
}

// replicas returns the copies in all data centres, and the fewest that a write waits for.
func (s settings) replicas() (all, waited int) {
	var centres []int
	for part := range strings.SplitSeq(s["replication"], ",") {
		_, number, _ := strings.Cut(part, ":")
		n := 0
		_, _ = fmt.Sscan(strings.TrimSpace(number), &n) // what is no number counts for none
		centres, all = append(centres, n), all+n
	}
	const level = "consistency of writes"
	switch {
	case s.is(level, "all"):
		waited = all
	case s.is(level, "quorum"):
		waited = all/2 + 1
	case s.is(level, "each_quorum"):
		for _, n := range centres {
			waited += n/2 + 1
		}
	case s.is(level, "local_quorum"): // which centre is the local one is not told: the smallest
		waited = all
		for _, n := range centres {
			waited = min(waited, n/2+1)
		}
	default:
		waited = map[string]int{"two": 2, "three": 3}[strings.ToLower(s[level])]
	}
	return all, min(waited, all)
}
