package redis

import (
	"net/url"
	"strings"
	"testing"
	"time"

	cluster "assay/cluster/redis"
	"assay/cluster/server"
	"assay/driver/drivertest"
	"assay/internal/expect"
	"assay/store"
	"assay/workload/availability"
	"assay/workload/bank"
	"assay/workload/definition"
)

// TestEncrypted runs a single server, Sentinels and a Redis Cluster with TLS alone: short runs, and
// a failover where there is one.
func TestEncrypted(t *testing.T) {
	t.Parallel()
	authority, other := drivertest.NewAuthority(t, "servers"), drivertest.NewAuthority(t, "others")
	pair := authority.Server("127.0.0.1")
	for name, o := range map[string]cluster.Options{
		"alone":     {},
		"Sentinels": {Layout: server.Layout{Nodes: 3}, DownAfter: 2 * time.Second},
		"cluster":   {Layout: server.Layout{Nodes: 6}, Sharded: true, DownAfter: 2 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			o.TLS = cluster.TLS{Authority: authority.File, Certificate: pair.Certificate, Key: pair.Key}
			c := start(t, o)
			plain := strings.Replace(c.Address(), "rediss", "redis", 1)
			for _, address := range []string{plain, strings.Replace(c.Address(), url.QueryEscape(authority.File), url.QueryEscape(other.File), 1)} {
				_, err := Open(expect.Patiently(t), store.Target{Address: address, ConnectTimeout: 10 * time.Second}, availability.Schema())
				if err == nil || !strings.Contains(err.Error(), "tlsCAFile") {
					t.Errorf("%s: %v; want something of tlsCAFile", address, err)
				}
			}
			plain, _, _ = strings.Cut(plain, "?")
			if _, err := Open(expect.Patiently(t), store.Target{Address: plain, ConnectTimeout: 10 * time.Second}, availability.Schema()); err == nil {
				t.Errorf("%s: it is spoken to without TLS", plain)
			}
			locked := drivertest.Locked(t, authority.Client("me"), "pass phrase")
			shown := c.Address() + "&tlsCertFile=" + locked.Certificate + "&tlsKeyFile=" + locked.Key + "&tlsKeyFilePassword="
			db, err := Open(expect.Patiently(t), store.Target{Address: shown + "pass%20phrase", ConnectTimeout: 30 * time.Second}, availability.Schema())
			expect.NoError(t, err)
			expect.NoError(t, db.Close())
			target := store.Target{Address: c.Address(), ConnectTimeout: 30 * time.Second}
			drivertest.ShortRuns(t, target, definition.SupportOf(availability.Definition(), Open, Lacks()), definition.SupportOf(bank.Definition(), Open, Lacks()))
			if o.Nodes == 0 {
				return
			}
			old, err := c.Primary(expect.Patiently(t))
			expect.NoError(t, err, c.Node(old).Kill())
			ctx := expect.Patiently(t)
			for now := old; now == old; {
				now, err = c.Primary(ctx)
				expect.NoError(t, err)
			}
			drivertest.ShortRuns(t, target, definition.SupportOf(availability.Definition(), Open, Lacks()))
			expect.NoError(t, c.Restart(expect.Patiently(t), old), c.Settled(expect.Patiently(t)))
		})
	}
}
