package durability

import "time"

// redisDelay is how long a write may stay in memory if the append-only file is synced every
// second: "it uses a different thread, and if the fsync is still in progress Redis uses a buffer
// to delay the write(2) call up to two seconds" (Redis documentation, "Diagnosing latency
// issues", "Latency due to AOF and disk I/O").
const redisDelay = 2 * time.Second

// redisReturning bounds how long a returning primary takes itself for the primary, until the
// Sentinels make it a replica: "the wrong configuration must be observed for some time, that is
// greater than the period used to broadcast new configurations" (Redis documentation, "High
// availability with Redis Sentinel", "Sentinel reconfiguration of instances outside the failover
// procedure"). Sentinel looks every 10 s and waits 8 s (sentinel.c of release 7.0,
// sentinelRefreshInstanceInfo), and must connect.
const redisReturning = 30 * time.Second

// redisLeaders cites the chapter on failovers. A Redis Cluster loses in the same way: "Redis
// Cluster uses asynchronous replication between nodes, and last failover wins implicit merge
// function" ("Write safety"); the first node that its old primary hears from tells it.
func redisLeaders(s settings) string {
	if s.is("failover by", "Redis Cluster") {
		return `"Redis cluster specification" (Write safety)`
	}
	return `"High availability with Redis Sentinel"`
}

// redis follows Redis's documentation, "Redis persistence" (snapshots; the append-only file and
// appendfsync), "Redis replication" and "High availability with Redis Sentinel": "Redis uses
// asynchronous replication", and after a failover "there is always a window for losing
// acknowledged writes". Even with WAIT "it is possible to still lose a write synchronously
// replicated to multiple replicas" ("WAIT").
func redis(s settings) Guarantee {
	manual := `Redis documentation, "Redis persistence"`
	deciding := []string{"appendonly", "appendfsync", "save"}
	// "while another child is saving, the durability of Redis is the same as "appendfsync no""
	// (redis.conf, no-appendfsync-on-rewrite).
	paused := s.is("no-appendfsync-on-rewrite", "yes")
	if paused {
		deciding, manual = append(deciding, "no-appendfsync-on-rewrite"), manual+", redis.conf"
	}
	source := s.source(deciding...)
	var g Guarantee
	switch {
	case s["appendonly"] == "": // the server does not tell
		return Guarantee{}
	case s.is("appendonly", "no"): // what came after the last snapshot
		g = alone(None, Unbounded, source, manual)
		// When it ends in order it saves "if at least one save point is configured" ("SHUTDOWN").
		if s.is("save", "(none)") {
			g.Stopped, g.Manual = Unbounded, manual+`, "SHUTDOWN"`
		}
	case s.is("appendfsync", "always") && !paused:
		g = alone(SystemCrash, 0, source, manual)
	case s.is("appendfsync", "everysec") && !paused:
		g = alone(within(redisDelay), redisDelay, source, manual+`, "Diagnosing latency issues"`)
	default:
		g = alone(ProcessCrash, Unbounded, source, manual)
	}
	if g.Class != None && s.is("appendfsync", "everysec") {
		g.Killed = redisDelay
	}
	g.Failover, g.Returning = Unbounded, redisReturning
	if s.count("data nodes") > 1 {
		g.Source, g.Manual = s.source(append(deciding, "replicas waited for", "min-replicas-to-write")...), g.Manual+`, "WAIT", `+redisLeaders(s)
	}
	return g
}
