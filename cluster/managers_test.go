package cluster

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"assay/cluster/server"
	"assay/internal/expect"
)

// managed are clusters of PostgreSQL under a manager, with times that a test can wait for.
var managed = []string{
	"patroni:2,dcs=1,ttl=8s,loop_wait=2s,retry_timeout=3s,synchronous_mode=on",
	"pg-auto-failover:2,node_considered_unhealthy_timeout=5s",
	"repmgr:2,reconnect_attempts=2,reconnect_interval=1s",
}

// TestManagedClusters: clients reach the primary, and its successor after a kill, directly, through
// a proxy, and through a pooler before that.
func TestManagedClusters(t *testing.T) {
	for _, spec := range managed {
		for _, fronts := range []string{"", ",proxy=haproxy", ",proxy=haproxy,pooler=pgbouncer"} {
			t.Run(spec+fronts, func(t *testing.T) { testManaged(t, spec, fronts) })
		}
	}
}

// TestAManagersServerIsNotUpgraded: its process is a shell, and the programs that it starts would stay.
func TestAManagersServerIsNotUpgraded(t *testing.T) {
	spec, err := ParseSpec("patroni:2,version=4.0.11")
	expect.NoError(t, err)
	c := &Cluster{spec: spec}
	_, err = c.ProgramsOf(t.Context(), "4.1.5")
	wantRefusal(t, "4.1.5", err, "postgres or etcd")
}

// TestAManagerBehindAProxy runs in every test of all, with today's Patroni; others use Debian's.
func TestAManagerBehindAProxy(t *testing.T) {
	t.Parallel()
	testManaged(t, managed[0]+",version=4.1.5", ",proxy=haproxy")
}

func testManaged(t *testing.T, spec, fronts string) {
	t.Helper()
	c := startCluster(t, spec+fronts)
	awaitWrite(t, c)
	if _, chosen, is := strings.Cut(spec, "version="); is && c.ManagerVersion() != chosen || c.ManagerVersion() == "" {
		t.Errorf("%s: the manager has version %q", spec, c.ManagerVersion())
	}
	primary, err := c.Primary(expect.Patiently(t))
	expect.NoError(t, err)
	expect.NoError(t, c.Settled(expect.Patiently(t)), primary.Kill())
	expect.NoError(t, server.Until(expect.Patiently(t), 100*time.Millisecond, "another primary", func(ctx context.Context) error {
		other, err := c.Primary(ctx)
		if err == nil && other == primary {
			err = errors.New("it is the same")
		}
		return err
	}))
	awaitWrite(t, c)
	expect.NoError(t, primary.Start(expect.Patiently(t)), c.Settled(expect.Patiently(t)))
	checkFronts(t, c, fronts)
	closesAll(t, c, recordOf(t, c.ID()))
}

func awaitWrite(t *testing.T, c *Cluster) {
	t.Helper()
	expect.NoError(t, server.Until(expect.Patiently(t), 100*time.Millisecond, "a write", func(ctx context.Context) error {
		ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
		defer cancel()
		config, err := pgx.ParseConfig(c.Address())
		if err != nil {
			return server.Permanent(errors.New("the address cannot be read"))
		}
		delete(config.RuntimeParams, "nodes")
		conn, err := pgx.ConnectConfig(ctx, config)
		if err != nil {
			return err
		}
		defer conn.Close(ctx)
		_, err = conn.Exec(ctx, "CREATE TABLE IF NOT EXISTS probe (id int)", pgx.QueryExecModeSimpleProtocol)
		return err
	}))
}

func checkFronts(t *testing.T, c *Cluster, fronts string) {
	t.Helper()
	var all []*Node // what clients come through, the first one last
	for _, n := range c.Servers() {
		if n.Role() == RoleProxy || n.Role() == RolePooler {
			all = append(all, n)
		}
	}
	if len(all) != strings.Count(fronts, "=") || (c.Proxying() != nil) != (len(all) > 0) || (c.Pooling() != nil) != (len(all) > 1) {
		t.Fatalf("%d before the nodes: %+v, %+v", len(all), c.Proxying(), c.Pooling())
	}
	if len(all) == 0 {
		return
	}
	first := all[len(all)-1]
	if !strings.Contains(c.Address(), "@"+first.Address()+"/") || strings.Contains(c.Address(), ",dcs") || first.Port() >= 32768 {
		t.Errorf("clients reach %s first", first.Name())
	}
	proxy := c.Node(RoleProxy)
	if p := c.Proxying(); proxy == nil || p.Address != proxy.Address() || !strings.HasPrefix(p.Program, "HAProxy ") || p.Check == "" {
		t.Errorf("%+v", p)
	}
	expect.NoError(t, proxy.Kill(), proxy.Start(expect.Patiently(t)), c.Settled(expect.Patiently(t)))
}

// TestServersBesideTheNodes: their numbers follow the nodes'.
func TestServersBesideTheNodes(t *testing.T) {
	for text, want := range map[string]string{
		"patroni:2": "dcs1 dcs2 dcs3", "patroni:3,dcs=1,proxy=haproxy,pooler=pgbouncer": "dcs proxy pooler",
		"pg-auto-failover:2,proxy=haproxy": "monitor proxy", "repmgr:2": "", "postgres:2,pooler=pgbouncer": "pooler",
		"patroni:2,ttl=8s,loop_wait=2s,retry_timeout=3s,dcs=1": "dcs",
	} {
		s, err := ParseSpec(text)
		expect.NoError(t, err)
		top, _ := topologyOf(s.Product)
		var got []string
		for _, r := range top.roles {
			if first := top.numberOf(s, r.name); first != s.Nodes+len(got) {
				t.Errorf("%s: %s begins with number %d behind %v", text, r.name, first, got)
			}
			got = append(got, r.names(s)...)
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%s has %v", text, got)
		}
	}
}
