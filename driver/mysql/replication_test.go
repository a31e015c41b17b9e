package mysql

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"assay/cluster/mariadb"
	"assay/cluster/mysql"
	process "assay/cluster/server"
	"assay/driver/drivertest"
	"assay/driver/sqldb"
	"assay/history"
	"assay/internal/expect"
	"assay/store"
	"assay/store/durability"
	"assay/workload/bank"
)

type servers interface {
	Address() string
	Node(i int) *process.Node
	Primary(ctx context.Context) (int, error)
	Restart(ctx context.Context, i int, env ...string) error
	Settled(ctx context.Context) error
	Close() error
}

// whole is an address of all servers, with time enough for a client on a busy machine.
func whole(s servers) store.Target {
	return store.Target{Address: strings.Replace(s.Address(), "connect_timeout=2", "connect_timeout=30", 1), ConnectTimeout: 30 * time.Second}
}

// TestOnMySQL repeats the package's tests on one server of MySQL; `make mysql` runs it.
func TestOnMySQL(t *testing.T) {
	ctx := expect.Patiently(t)
	one, err := mysql.Start(ctx, mysql.Options{Password: secret})
	expect.NoError(t, err)
	expect.AtEnd(t, one.Close)
	to := target(atHosts(one.Node(0).Address()))
	drivertest.RunOutcomes(t, drivertest.Store{Open: Open, Lacks: sqldb.Lacks(), Target: to, Secret: secret})
	drivertest.ShortRuns(t, to, supports()...)
	for _, level := range []string{"read uncommitted", "read committed", "serializable"} {
		t.Run(level, func(t *testing.T) {
			at := to
			at.Isolation = level
			drivertest.RunOutcomes(t, drivertest.Store{Open: Open, Lacks: sqldb.Lacks(), Target: at, Secret: secret})
		})
	}
}

// TestPrimariesAndReplicas, for each kind of replication: the promises hold, the replicas are found
// and equal, and sessions find the primary when there is one again.
func TestPrimariesAndReplicas(t *testing.T) {
	t.Parallel()
	testPrimaries(t, map[string]primaries{
		"semisync": {func(ctx context.Context) (servers, error) {
			return mariadb.StartSet(ctx, mariadb.Options{Layout: process.Layout{Nodes: 3}, Password: secret, Replication: mariadb.Semisync})
		}, 0, false},
		"async": {func(ctx context.Context) (servers, error) {
			return mariadb.StartSet(ctx, mariadb.Options{Layout: process.Layout{Nodes: 2}, Password: secret, Replication: mariadb.Asynchronous})
		}, durability.Unbounded, false},
	})
}

func TestOnMySQLPrimariesAndReplicas(t *testing.T) {
	expel := time.Duration(0)
	testPrimaries(t, map[string]primaries{
		"group": {func(ctx context.Context) (servers, error) {
			return mysql.Start(ctx, mysql.Options{Layout: process.Layout{Nodes: 3}, Password: secret, Expel: &expel})
		}, 0, true},
		"semisync": {func(ctx context.Context) (servers, error) {
			return mysql.StartSet(ctx, mysql.Options{Layout: process.Layout{Nodes: 3}, Password: secret, Replication: mysql.Semisync})
		}, 0, false},
		"async": {func(ctx context.Context) (servers, error) {
			return mysql.StartSet(ctx, mysql.Options{Layout: process.Layout{Nodes: 2}, Password: secret, Replication: mysql.Asynchronous})
		}, durability.Unbounded, false},
	})
}

type primaries struct {
	start    func(context.Context) (servers, error)
	failover time.Duration // what a failover may lose
	elects   bool          // another primary when it is gone
}

func testPrimaries(t *testing.T, kinds map[string]primaries) {
	t.Helper()
	for name, c := range kinds {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx := expect.Within(t, 3*expect.Patience) // for all that is done
			s, err := c.start(ctx)
			expect.NoError(t, err)
			expect.AtEnd(t, s.Close)
			all := drivertest.Supports(Open, sqldb.Lacks())
			if !c.elects { // one server takes all writes, as if it were alone
				all = all[:1]
			}
			drivertest.ShortRuns(t, whole(s), all...)
			p := &pair{t, ctx, s}
			p.promises(c.failover)
			p.replicas()
			p.losesPrimary(c.elects)
		})
	}
}

type pair struct {
	t   *testing.T
	ctx context.Context
	servers
}

func (p *pair) loaded() *bankStore {
	p.t.Helper()
	opened := openBank(p.t, whole(p))
	load(p.t, p.ctx, opened)
	return opened
}

func (p *pair) done(opened *bankStore) {
	p.t.Helper()
	if err := errors.Join(opened.Settle(p.ctx), opened.Drop(p.ctx), opened.Close()); err != nil {
		p.t.Error(err)
	}
}

func (p *pair) promises(failover time.Duration) {
	p.t.Helper()
	opened := p.loaded()
	defer p.done(opened)
	product, err := opened.Describe(p.ctx)
	expect.NoError(p.t, err)
	var reported []durability.Setting
	for _, s := range product.Settings {
		reported = append(reported, durability.Setting{Name: s.Name, Value: s.Value})
	}
	if g := durability.Of(product.Name, reported); g.Failover != failover || product.Topology.Nodes < 2 {
		p.t.Errorf("a failover may lose %v (%s), %d nodes; want %v", g.Failover, g.Source, product.Topology.Nodes, failover)
	}
	if set := drivertest.Value(product.Changed, "max_connections"); set != "2000" { // by package cluster, for a thousand clients
		p.t.Errorf("max_connections is told as %q of %v", set, product.Changed)
	}
}

func (p *pair) commit(opened *bankStore, id int64) {
	p.t.Helper()
	commitTransfer(p.t, p.ctx, opened, id, 15*time.Second)
}

// same requires that all servers are replicas with these transfers.
func (p *pair) same(opened *bankStore, transfers int) {
	p.t.Helper()
	expect.NoError(p.t, p.Settled(p.ctx))
	primary, err := p.Primary(p.ctx)
	expect.NoError(p.t, err)
	members, unreachable, err := opened.Replicas(p.ctx)
	if err != nil || len(unreachable) != 0 || len(members) < 2 ||
		!slices.Contains(members, bank.Replica{Name: p.Node(primary).Address(), Primary: true}) {
		p.t.Fatalf("members %+v, unreachable %v, %v", members, unreachable, err)
	}
	for _, member := range members {
		expect.NoError(p.t, catchUp(p.ctx, opened, member, expect.Patience))
		read, err := drivertest.ReadReplica(p.ctx, opened, member)
		if err != nil || len(read.Entries) != transfers {
			p.t.Errorf("%s has %d transfers, %v; want %d", member.Name, len(read.Entries), err, transfers)
		}
	}
}

func (p *pair) replicas() {
	p.t.Helper()
	opened := p.loaded()
	defer p.done(opened)
	for id := range int64(5) {
		p.commit(opened, 1+id)
	}
	p.same(opened, 5)
}

// losesPrimary kills the primary under a session. Without an election it starts it again.
func (p *pair) losesPrimary(elects bool) {
	p.t.Helper()
	opened := p.loaded()
	defer p.done(opened)
	p.commit(opened, 1)
	p.same(opened, 1) // all have the same before
	session, err := opened.Session(p.ctx)
	expect.NoError(p.t, err)
	defer session.Close()
	old, err := p.Primary(p.ctx)
	expect.NoError(p.t, err)
	expect.NoError(p.t, p.Node(old).Kill())
	if r := session.Transfer(p.ctx, bank.Transfer{ID: 2, Source: 1, Destination: 2, Amount: 1}); r.Outcome == history.Committed || r.Outcome == history.Rejected || !r.Broken {
		p.t.Errorf("got %+v", r)
	}
	if !elects {
		expect.NoError(p.t, p.Restart(p.ctx, old))
	}
	p.commit(opened, 3)
	if next, err := p.Primary(p.ctx); err != nil || (next != old) != elects {
		p.t.Errorf("the primary is %d after %d, %v", next, old, err)
	}
	if elects {
		expect.NoError(p.t, p.Restart(p.ctx, old))
	}
	p.same(opened, 2)
}
