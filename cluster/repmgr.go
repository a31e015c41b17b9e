package cluster

import (
	"context"
	"crypto/rand"
	"time"

	"assay/cluster/haproxy"
	"assay/cluster/pgautofailover"
	"assay/cluster/postgres"
	"assay/cluster/repmgr"
	"assay/cluster/server"
)

func repmgrEntry() entry {
	return entry{
		topology: topology{
			name: "repmgr", scheme: "postgres", nodes: []int{2, 3, 4, 5}, arbiters: []int{0},
			options: append([]option{
				{name: "standby", want: "standby=async or standby=sync (any one standby confirms a commit)", check: oneOf("async", "sync")},
				{name: "fencing", want: "fencing=on (a primary that has lost all standbys for 30 seconds ends itself) or fencing=off", check: oneOf("on", "off")},
				{name: "primary_visibility_consensus", want: "primary_visibility_consensus=true (nobody is promoted while a standby sees the primary) or primary_visibility_consensus=false",
					check: oneOf("true", "false")},
				{name: "reconnect_attempts", want: "reconnect_attempts=NUMBER of times that a lost primary is tried, such as 6", check: aCount},
				{name: "reconnect_interval", want: "reconnect_interval=SECONDS between them, such as 10s", check: secondsFrom(1)},
				archiveOption(),
			}, frontOptions()...),
			parameters: standbyParameters(ourParameters{[]string{"shared_preload_libraries"}, "repmgr's is loaded by it"}),
			roles:      frontRoles("repmgr"),
		},
		footprint: Footprint{Start: 15 * time.Second, Empty: 120 << 20},
		start:     startRepmgr, clear: postgres.ClearRestored, ledBy: "repmgr",
	}
}

func standbyParameters(more ourParameters) parameters {
	return parameters{example: "work_mem=16MB",
		ours: append(postgresAccess(), ourParameters{append(postgresFollowing(), "synchronous_standby_names"), "by them the standbys are led"}, more)}
}

func startRepmgr(ctx context.Context, s Spec, e environment) (product, error) {
	password := rand.Text()
	set, err := repmgr.Start(ctx, repmgr.Options{
		Programs: e.programs, Placement: placement(s, e, password),
		Synchronous: s.Options["standby"] == "sync", Fencing: s.Options["fencing"] == "on", Consensus: s.Options["primary_visibility_consensus"] == "true",
		ReconnectAttempts: s.count("reconnect_attempts"), ReconnectInterval: s.duration("reconnect_interval"),
		Check: s.Options["proxy"] != "", Settings: postgresSettings(s),
	})
	if err != nil {
		return nil, err
	}
	return behindFronts(ctx, s, e, password, set, asked(s, set))
}

func asked(s Spec, p interface{ Node(int) *server.Node }) (all []haproxy.Server) {
	for i := range s.Nodes {
		all = append(all, haproxy.Server{Name: s.names()[i], At: p.Node(i)})
	}
	return all
}

func pgAutoFailoverEntry() entry {
	return entry{
		topology: topology{
			name: "pg-auto-failover", scheme: "postgres", nodes: []int{2, 3, 4, 5}, arbiters: []int{0},
			options: append([]option{
				{name: "replication_quorum", want: "replication_quorum=true (commits wait for a standby, of two nodes while there is one) or replication_quorum=false", check: oneOf("true", "false")},
				{name: "node_considered_unhealthy_timeout", want: "node_considered_unhealthy_timeout=DURATION for which a node has not reported until it is taken for lost, such as 20s", check: aDuration},
				archiveOption(),
			}, frontOptions()...),
			parameters: standbyParameters(ourParameters{[]string{"wal_log_hints", "wal_level"}, "pg_auto_failover decides on it"}),
			roles: append([]role{{name: RoleMonitor, count: func(Spec) int { return 1 }, apart: true, example: "pg-auto-failover:2"}},
				frontRoles("pg-auto-failover")...),
		},
		footprint: Footprint{Start: 25 * time.Second, Empty: 120 << 20},
		start:     startPgAutoFailover, clear: postgres.ClearRestored, ledBy: "pg_auto_failover",
	}
}

func startPgAutoFailover(ctx context.Context, s Spec, e environment) (product, error) {
	password := rand.Text()
	formation, err := pgautofailover.Start(ctx, pgautofailover.Options{
		Programs: e.programs, Placement: placement(s, e, password), Monitor: server.MachineAt(e.beside[RoleMonitor], 0),
		Asynchronous: s.Options["replication_quorum"] == "false", Unhealthy: s.duration("node_considered_unhealthy_timeout"),
		Check: s.Options["proxy"] != "", Settings: postgresSettings(s),
	})
	if err != nil {
		return nil, err
	}
	return behindFronts(ctx, s, e, password, formation, asked(s, formation))
}
