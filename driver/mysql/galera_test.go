package mysql

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	cluster "assay/cluster/mariadb"
	"assay/driver/drivertest"
	"assay/driver/sqldb"
	"assay/history"
	"assay/internal/expect"
	"assay/store"
	"assay/workload"
	"assay/workload/bank"
	"assay/workload/candles"
	"assay/workload/churn"
	"assay/workload/definition"
	"assay/workload/isolation"
)

type troupe struct {
	t   *testing.T
	ctx context.Context
	*cluster.Cluster
}

// TestGalera: subtests share one cluster and leave it healthy.
func TestGalera(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(context.Background(), 3*expect.Patience) // for all that is done
	defer cancel()
	o := cluster.Options{Password: secret, Suspect: 2 * time.Second, Inactive: 4 * time.Second, Install: 4 * time.Second}
	o.Nodes = 3
	nodes, err := cluster.Start(ctx, o)
	expect.NoError(t, err)
	expect.AtEnd(t, nodes.Close)
	p := &troupe{t, ctx, nodes}
	t.Run("Store", func(t *testing.T) {
		d := drivertest.Store{Open: Open, Lacks: sqldb.Lacks(), Target: target(p.everywhere()), Secret: secret}
		drivertest.ShortRuns(t, d.Target, definition.SupportOf(bank.Definition(), Open, d.Lacks), definition.SupportOf(isolation.Definition(), Open, d.Lacks),
			definition.SupportOf(churn.Definition(), Open, d.Lacks), definition.SupportOf(candles.Definition(), Open, d.Lacks)) // which load much at once
		t.Run("on any node", func(t *testing.T) { // a session sees what others did elsewhere before
			d.Target = target(p.everywhere(), parameter("balance", "random"), parameter("wsrep_sync_wait", "7"))
			drivertest.RunOutcomes(t, d, drivertest.Conformance)
		})
	})
	for _, s := range []struct {
		name string
		run  func(*testing.T, *troupe)
	}{
		{"AllTheSame", testAllTheSame},
		{"Conflicts", testConflicts},
		{"Paused", testPausedNode},
		{"Killed", testKilledNode},
		{"ReadElsewhere", testReadElsewhere},
		{"NotAMember", testNotAMember},
		{"NoQuorum", testNoQuorum},
	} {
		t.Run(s.name, func(t *testing.T) {
			p.t = t
			s.run(t, p)
		})
	}
}

func (p *troupe) everywhere() func(*spot) {
	return atHosts(p.Node(0).Address(), p.Node(1).Address(), p.Node(2).Address())
}

func (p *troupe) loaded(changes ...func(*spot)) *bankStore {
	p.t.Helper()
	to := target(append([]func(*spot){p.everywhere()}, changes...)...)
	to.ConnectTimeout = 5 * time.Second
	opened := openBank(p.t, to)
	load(p.t, p.ctx, opened)
	p.t.Cleanup(func() {
		if err := errors.Join(opened.Settle(p.ctx), opened.Drop(p.ctx), opened.Close()); err != nil {
			p.t.Error(err)
		}
	})
	return opened
}

func (p *troupe) read(opened *bankStore, member bank.Replica) drivertest.Snapshot {
	p.t.Helper()
	s, err := drivertest.ReadReplica(p.ctx, opened, member)
	expect.NoError(p.t, err)
	return s
}

func (p *troupe) commit(opened *bankStore, id int64) {
	p.t.Helper()
	commitTransfer(p.t, p.ctx, opened, id, 10*time.Second)
}

// commitTransfer repeats a transfer, with new sessions if needed, until it is committed; bound
// limits each attempt.
func commitTransfer(t *testing.T, ctx context.Context, opened *bankStore, id int64, bound time.Duration) {
	t.Helper()
	var last bank.Reply
	for ctx.Err() == nil {
		session, err := opened.Session(ctx)
		if err == nil {
			bounded, cancel := context.WithTimeout(ctx, bound)
			last = session.Transfer(bounded, bank.Transfer{ID: id, Source: 1 + id%4, Destination: 1 + (id+1)%4, Amount: 1})
			cancel()
			session.Close()
			if last.Outcome == history.Committed || last.Duplicate {
				return
			}
		}
		time.Sleep(50 * time.Millisecond)
	}
	t.Fatalf("no transfer commits: %+v", last)
}

func catchUp(ctx context.Context, opened *bankStore, member bank.Replica, within time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	return opened.CatchUp(ctx, member)
}

func testAllTheSame(t *testing.T, p *troupe) {
	opened := p.loaded(parameter("balance", "random"))
	var all sync.WaitGroup
	for client := range 4 {
		all.Go(func() {
			for i := range 10 {
				p.commit(opened, workload.OperationID(client, uint64(i)))
			}
		})
	}
	all.Wait()
	members, unreachable, err := opened.Replicas(p.ctx)
	want := []bank.Replica{{Name: p.Node(0).Address(), Primary: true}, {Name: p.Node(1).Address()}, {Name: p.Node(2).Address()}}
	if err != nil || len(unreachable) != 0 || !slices.Equal(members, want) {
		t.Fatalf("members %+v, unreachable %v, %v; want %+v", members, unreachable, err, want)
	}
	for _, member := range members {
		expect.NoError(t, catchUp(p.ctx, opened, member, expect.Patience))
		read, first := p.read(opened, member), p.read(opened, members[0])
		if len(read.Entries) != 40 || !slices.Equal(read.Entries, first.Entries) || !slices.Equal(read.Accounts, first.Accounts) {
			t.Errorf("%s has %d rows and accounts %v", member.Name, len(read.Entries), read.Accounts)
		}
	}
	product, err := opened.Describe(p.ctx)
	if err != nil || product.Topology.Nodes != 3 || product.Topology.Replicas != 3 {
		t.Errorf("%+v, %v", product, err)
	}
	nobody := bank.Replica{Name: "nowhere:1"}
	if _, err := drivertest.ReadReplica(p.ctx, opened, nobody); err == nil || opened.CatchUp(p.ctx, nobody) == nil {
		t.Error("something was read of nobody")
	}
	if _, err := Open(p.ctx, target(p.everywhere(), parameter("engine", "Aria")), bank.Schema()); !errors.As(err, new(*store.OptionError)) {
		t.Errorf("an engine that is not replicated: %v", err)
	}
}

// testConflicts has clients on all nodes want the same rows until two collide. Fast nodes may leave
// no occasion at first. There are so many clients that not all are on one node.
func testConflicts(t *testing.T, p *troupe) {
	opened := p.loaded(parameter("balance", "random"))
	var all sync.WaitGroup
	var mu sync.Mutex
	classes := map[string]int{}
	conflict := "failed " + store.ClassDeadlock
	for client := range 12 {
		session, err := opened.Session(p.ctx)
		expect.NoError(t, err)
		all.Go(func() {
			defer session.Close()
			for i, seen := 0, false; i < 15 || !seen && i < 1000; i++ {
				id := workload.OperationID(client, uint64(i))
				r := session.Transfer(p.ctx, bank.Transfer{ID: id, Source: 1 + id%2, Destination: 2 - id%2, Amount: 1})
				mu.Lock()
				classes[r.Outcome.String()+" "+r.Class]++
				seen = classes[conflict] > 0
				mu.Unlock()
				if r.Outcome != history.Committed && (r.Outcome != history.Failed || r.Class != store.ClassDeadlock || r.Broken) {
					t.Errorf("got %+v", r)
				}
			}
		})
	}
	all.Wait()
	committed := classes["committed "]
	read := p.read(opened, bank.Replica{Name: p.Node(0).Address()})
	if sum := read.Account(1).Balance + read.Account(2).Balance; sum != 2000 {
		t.Errorf("the two accounts hold %d, want 2000", sum)
	}
	if classes[conflict] == 0 || committed == 0 || len(read.Entries) != committed {
		t.Errorf("%v, and %d rows: want conflicts, and a row for each that was committed", classes, len(read.Entries))
	}
}

func testPausedNode(t *testing.T, p *troupe) {
	opened := p.loaded()
	expect.NoError(t, p.Node(2).Pause())
	paused := bank.Replica{Name: p.Node(2).Address()}
	p.commit(opened, 1)
	if err := catchUp(p.ctx, opened, paused, time.Second); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("CatchUp: %v", err)
	}
	members, unreachable, err := opened.Replicas(p.ctx)
	if why := unreachable[paused.Name]; err != nil || why == nil || len(members) != 2 {
		t.Errorf("members %+v, unreachable %v, %v", members, unreachable, err)
	} else {
		quietError(t, why)
	}
	if err := opened.Settle(p.ctx); err != nil { // the two are the whole cluster
		t.Errorf("Settle: %v", err)
	}
	expect.NoError(t, p.Node(2).Resume())
	expect.NoError(t, catchUp(p.ctx, opened, paused, expect.Patience), p.Settled(p.ctx))
	if read := p.read(opened, paused); len(read.Entries) != 1 {
		t.Errorf("%d rows", len(read.Entries))
	}
}

func testKilledNode(t *testing.T, p *troupe) {
	opened := p.loaded()
	session, err := opened.Session(p.ctx)
	expect.NoError(t, err)
	defer session.Close()
	expect.NoError(t, p.Node(0).Kill())
	r := session.Transfer(p.ctx, bank.Transfer{ID: 1, Source: 1, Destination: 2, Amount: 1})
	if r.Outcome == history.Committed || r.Outcome == history.Rejected || !r.Broken {
		t.Errorf("got %+v", r)
	}
	p.commit(opened, 2)
	members, unreachable, err := opened.Replicas(p.ctx)
	if err != nil || !errors.As(unreachable[p.Node(0).Address()], new(*store.UnreachableError)) || len(members) != 2 || !members[0].Primary {
		t.Errorf("members %+v, unreachable %v, %v", members, unreachable, err)
	}
	if err := opened.Settle(p.ctx); err != nil {
		t.Errorf("Settle: %v", err)
	}
	expect.NoError(t, p.Restart(p.ctx, 0))
	back := bank.Replica{Name: p.Node(0).Address()}
	expect.NoError(t, catchUp(p.ctx, opened, back, expect.Patience))
	if _, there := p.read(opened, back).Entry(2); !there {
		t.Error("the node that came back has not what was committed")
	}
}

func testReadElsewhere(t *testing.T, p *troupe) {
	to := target(p.everywhere(), parameter("wsrep_sync_wait", "1"))
	to.Read = store.ReadSecondaryPreferred
	db := openAvailability(t, to)
	defer db.Close()
	unsynced := openAvailability(t, target(p.everywhere()))
	defer unsynced.Close()
	if db.Promises().Reads != store.Linearizable || unsynced.Promises().Reads != "" {
		t.Errorf("promises %q and %q", db.Promises().Reads, unsynced.Promises().Reads)
	}
	expect.NoError(t, db.Create(p.ctx, store.Marker{Workload: "availability"}))
	session := drivertest.OpenRecords(t, db)
	onFirst := 0
	open := db.Sessions.All()
	for _, s := range open {
		if s.Server == p.Node(0).Address() {
			onFirst++
		}
	}
	if len(open) != 2 || onFirst != 1 {
		t.Errorf("of %d connections %d are to the first node", len(open), onFirst)
	}
	if r := session.Add(p.ctx, 5); r.Outcome != history.Committed {
		t.Errorf("%+v", r)
	}
	if found, r := session.Find(p.ctx, 5); r.Outcome != history.Committed || found != 1 {
		t.Errorf("%d, %+v", found, r)
	}
	session.Close()
	expect.NoError(t, db.Settle(p.ctx), db.Drop(p.ctx))
}

func testNotAMember(t *testing.T, p *troupe) {
	opened := openBank(t, target(atHosts(p.Node(1).Address(), node.Node(0).Address(), strings.Replace(p.Node(1).Address(), "127.0.0.1", "localhost", 1))))
	defer opened.Close()
	members, unreachable, err := opened.Replicas(p.ctx)
	if err != nil || len(members) != 1 || !members[0].Primary || len(unreachable) != 1 ||
		!strings.Contains(unreachable[node.Node(0).Address()].Error(), "no node of the Galera cluster") {
		t.Errorf("members %+v, unreachable %v, %v", members, unreachable, err)
	}
	err = catchUp(p.ctx, opened, bank.Replica{Name: node.Node(0).Address()}, time.Second)
	if !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "no node") {
		t.Errorf("CatchUp: %v", err)
	}
}

// testNoQuorum: the last node of three refuses writes.
func testNoQuorum(t *testing.T, p *troupe) {
	opened := p.loaded()
	session, err := opened.Session(p.ctx)
	expect.NoError(t, err)
	defer session.Close()
	rows := openAvailability(t, target(p.everywhere()))
	defer rows.Close()
	expect.NoError(t, rows.Create(p.ctx, store.Marker{Workload: "availability"}))
	inserter := drivertest.OpenRecords(t, rows)
	defer inserter.Close()
	for _, i := range []int{1, 2} {
		expect.NoError(t, p.Node(i).Kill())
	}
	watcher := connectTo(t, p.Node(0).Address())
	for value(t, watcher, `SELECT variable_value FROM information_schema.global_status WHERE variable_name = 'wsrep_ready'`) == "ON" {
		time.Sleep(50 * time.Millisecond)
	}
	r := session.Transfer(p.ctx, bank.Transfer{ID: 1, Source: 1, Destination: 2, Amount: 1})
	if r.Outcome != history.Failed || r.Class != classNotPrepared || !r.Broken {
		t.Errorf("got %+v, want failed (%s), broken", r, classNotPrepared)
	}
	inserted := inserter.Add(p.ctx, 1)
	if inserted.Outcome != history.Failed || inserted.Class != classNotPrepared || !inserted.Broken {
		t.Errorf("got %+v, want failed (%s), broken", inserted, classNotPrepared)
	}
	_, err = opened.Session(p.ctx)
	if !errors.As(err, new(*store.UnreachableError)) || !strings.Contains(err.Error(), "quorum") {
		t.Errorf("Session: %v", err)
	}
	// Both come back together, since one alone has no quorum.
	var all sync.WaitGroup
	for _, i := range []int{1, 2} {
		all.Go(func() {
			if err := p.Restart(p.ctx, i); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	expect.NoError(t, p.Settled(p.ctx))
	p.commit(opened, 2)
	if read := p.read(opened, bank.Replica{Name: p.Node(2).Address()}); len(read.Entries) != 1 {
		t.Errorf("%d rows, want that of the second transfer", len(read.Entries))
	}
	session.Close()
	inserter.Close()
	expect.NoError(t, rows.Settle(p.ctx), rows.Drop(p.ctx))
}
