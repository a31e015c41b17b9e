package cluster

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"assay/cluster/etcd"
	"assay/cluster/haproxy"
	"assay/cluster/patroni"
	"assay/cluster/postgres"
	"assay/cluster/server"
	"assay/cluster/streaming"
)

func patroniEntry() entry {
	return entry{
		topology: topology{
			name: "patroni", scheme: "postgres", nodes: []int{2, 3, 4, 5}, arbiters: []int{0},
			options: append([]option{
				{name: "synchronous_mode", want: "synchronous_mode=off, synchronous_mode=on (commits wait for a standby while there is one) or synchronous_mode=strict (also if there is none)",
					check: oneOf("off", "on", "strict")},
				{name: "maximum_lag_on_failover", want: "maximum_lag_on_failover=SIZE of log that a standby may lack and still be promoted, such as 1MiB", check: aSize},
				{name: "ttl", want: "ttl=SECONDS for which the primary's key lasts, such as 30s", check: secondsFrom(1)},
				{name: "loop_wait", want: "loop_wait=SECONDS between two looks at the store, such as 10s", check: secondsFrom(1)},
				{name: "retry_timeout", want: "retry_timeout=SECONDS for which the store or PostgreSQL may not answer, such as 10s", check: secondsFrom(1)},
				{name: "failsafe_mode", want: "failsafe_mode=on (a primary that has lost the store and reaches all others goes on) or failsafe_mode=off", check: oneOf("on", "off")},
				{name: RoleDCS, want: "dcs=1, dcs=3 or dcs=5 nodes of etcd", check: oneOf("1", "3", "5")},
				archiveOption(), versionOption("patroni"),
			}, frontOptions()...),
			parameters: patroniParameters(),
			roles:      append([]role{{name: RoleDCS, count: stores, apart: true, example: "patroni:3"}}, frontRoles("patroni")...),
		},
		footprint: Footprint{Start: 25 * time.Second, Empty: 120 << 20},
		start:     startPatroni, clear: postgres.ClearRestored, ledBy: "Patroni",
		oneClock: "Patroni compares when PostgreSQL says it has started with what the kernel says, whose clock cannot be shifted for one node, and would take it for another program",
	}
}

func stores(s Spec) int { return cmp.Or(s.count(RoleDCS), 3) }

func placement(s Spec, e environment, password string) streaming.Placement {
	return streaming.Placement{Nodes: s.Nodes, Machines: e.machines, Dir: e.dir, LogDir: e.logs, Archive: archiveFolder(s, e), Password: password}
}

// patroniParameters are PostgreSQL's, which Patroni keeps in the store for all nodes. Patroni sets
// some itself and ignores what a user says about them (its manual, "Dynamic Configuration
// Settings").
func patroniParameters() parameters {
	ours := append(postgresAccess(), ourParameters{append(postgresFollowing(), "synchronous_standby_names", "wal_level", "cluster_name", "wal_log_hints", "archive_cleanup_command", "recovery_min_apply_delay"),
		"Patroni decides on it (synchronous_mode= says whom a commit waits for)"})
	return parameters{example: "work_mem=16MB", ours: ours, check: func(s Spec) string {
		ttl, loop, retry := patroniTimes(s)
		if loop+2*retry > ttl {
			return fmt.Sprintf("loop_wait + 2*retry_timeout of at most ttl, as Patroni's manual has it, and not %v + 2*%v with a ttl of %v", loop, retry, ttl)
		}
		return ""
	}}
}

func patroniTimes(s Spec) (ttl, loop, retry time.Duration) {
	return cmp.Or(s.duration("ttl"), patroni.DefaultTTL), cmp.Or(s.duration("loop_wait"), patroni.DefaultLoopWait),
		cmp.Or(s.duration("retry_timeout"), patroni.DefaultRetryTimeout)
}

func startPatroni(ctx context.Context, s Spec, e environment) (product, error) {
	store, err := etcd.Start(ctx, etcd.Options{Layout: server.Layout{
		Programs: e.programs, Nodes: stores(s), Machines: e.beside[RoleDCS], Dir: filepath.Join(e.logs, RoleDCS), LogDir: e.logs,
	}})
	if err != nil {
		return nil, err
	}
	password := rand.Text()
	o := patroni.Options{
		Programs: e.programs, Placement: placement(s, e, password),
		Synchronous: s.Options["synchronous_mode"] == "on", Strict: s.Options["synchronous_mode"] == "strict", Failsafe: s.Options["failsafe_mode"] == "on",
		MaximumLag: s.size("maximum_lag_on_failover"), TTL: s.duration("ttl"), LoopWait: s.duration("loop_wait"), RetryTimeout: s.duration("retry_timeout"),
		Settings: postgresSettings(s),
	}
	for _, n := range store.Nodes() {
		o.Stores = append(o.Stores, n.Address())
	}
	set, err := patroni.Start(ctx, o)
	if err != nil {
		return nil, errors.Join(err, store.Close())
	}
	var servers []haproxy.Server
	for i, n := range set.Nodes() {
		servers = append(servers, haproxy.Server{Name: set.Name(i), At: n, REST: set.REST(i)})
	}
	return behindFronts(ctx, s, e, password, joined{product: set, with: store, first: s.Nodes, needed: true}, servers)
}
