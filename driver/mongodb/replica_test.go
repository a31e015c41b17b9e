package mongodb

import (
	"context"
	"errors"
	"net"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	cluster "assay/cluster/mongodb"
	"assay/cluster/server"
	"assay/driver/drivertest"
	"assay/internal/expect"
	"assay/store"
	"assay/workload"
	"assay/workload/bank"
)

// troupe is a replica set with a loaded bank.
type troupe struct {
	set    *cluster.ReplicaSet
	dir    string
	store  *bankStore
	ledger *drivertest.Transfers
	seq    uint64
}

// TestReplicas shares one set of three nodes, so each subtest leaves it
// healthy.
func TestReplicas(t *testing.T) {
	t.Parallel()
	p := &troupe{dir: filepath.Join(t.TempDir(), "set")}
	var err error
	p.set, err = cluster.Start(t.Context(), cluster.Options{
		// MongoDB's own election timeout: nothing here needs an election, and with a
		// shorter one a busy machine causes some.
		Layout: server.Layout{Dir: p.dir}, Heartbeat: 500 * time.Millisecond,
		Args: []string{"--setParameter", "enableTestCommands=1"},
	})
	expect.NoError(t, err)
	expect.AtEnd(t, p.set.Close)
	p.store, p.ledger = loaded(t, p.set, 1000, 1000, 1000, 1000)
	p.store.connectTimeout = 5 * time.Second // a paused member takes all of it
	for _, s := range []struct {
		name string
		run  func(*testing.T, *troupe)
	}{
		{"AllTheSame", testAllTheSame},
		{"LeaseDuringAnElection", testLeaseDuringAnElection},
		{"ApplyingHeldBack", testApplyingHeldBack},
		{"Paused", testPausedMember},
		{"Down", testMemberDown},
		{"UnknownMember", testUnknownMember},
		{"ChangedBehindItsBack", testChangedBehindItsBack},
	} {
		t.Run(s.name, func(t *testing.T) { s.run(t, p) })
	}
}

// transfer has some clients do n transfers each at the same time.
func (p *troupe) transfer(t *testing.T, n int) {
	t.Helper()
	var all sync.WaitGroup
	for client := range 2 {
		session := mustSession(t, p.store)
		all.Go(func() {
			for i := range n {
				id := workload.OperationID(client, p.seq+uint64(i))
				mustCommit(t, session, p.ledger, bank.Transfer{ID: id, Source: 1 + id%4, Destination: 1 + (id+1)%4, Amount: 1})
			}
		})
	}
	all.Wait()
	p.seq += uint64(n)
}

// secondary is the number of a member that is not the primary.
func (p *troupe) secondary(t *testing.T) (int, bank.Replica) {
	t.Helper()
	primary, err := p.set.Primary(expect.Patiently(t))
	expect.NoError(t, err)
	i := (primary + 1) % len(p.set.Nodes())
	return i, bank.Replica{Name: p.set.Node(i).Address()}
}

func (p *troupe) members(t *testing.T) ([]bank.Replica, map[string]error) {
	t.Helper()
	members, unreachable, err := p.store.Replicas(expect.Patiently(t))
	expect.NoError(t, err)
	return members, unreachable
}

func (p *troupe) read(t *testing.T, member bank.Replica) drivertest.Snapshot {
	t.Helper()
	s, err := drivertest.ReadReplica(expect.Patiently(t), p.store, member)
	expect.NoError(t, err)
	return s
}

func same(a, b drivertest.Snapshot) bool {
	return slices.Equal(a.Accounts, b.Accounts) && slices.Equal(a.Entries, b.Entries)
}

func (p *troupe) catchUp(t *testing.T, member bank.Replica, within time.Duration) error {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), within)
	defer cancel()
	return p.store.CatchUp(ctx, member)
}

func testAllTheSame(t *testing.T, p *troupe) {
	p.transfer(t, 20)
	members, unreachable := p.members(t)
	if len(members) != 3 || len(unreachable) != 0 {
		t.Fatalf("members %+v, unreachable %v", members, unreachable)
	}
	primary, err := p.set.Primary(expect.Patiently(t))
	expect.NoError(t, err)
	for _, member := range members {
		if member.Primary != (member.Name == p.set.Node(primary).Address()) {
			t.Errorf("%+v, and the primary is %s", member, p.set.Node(primary).Address())
		}
		expect.NoError(t, p.catchUp(t, member, expect.Patience))
		read := p.read(t, member)
		if problems := p.ledger.Problems(read); len(problems) > 0 || len(read.Entries) != 40 || !same(read, p.read(t, members[0])) {
			t.Errorf("%s has %d rows and accounts %v: %s", member.Name, len(read.Entries), read.Accounts, strings.Join(problems, "; "))
		}
	}
}

// testLeaseDuringAnElection has the primary give up while the lease is taken.
func testLeaseDuringAnElection(t *testing.T, p *troupe) {
	client := plainClient(t, p.set.Address())
	if err := client.Database("admin").RunCommand(expect.Patiently(t), bson.D{
		{Key: "configureFailPoint", Value: "failCommand"}, {Key: "mode", Value: bson.D{{Key: "times", Value: 2}}},
		{Key: "data", Value: bson.D{{Key: "failCommands", Value: bson.A{"findAndModify"}}, {Key: "errorCode", Value: 11602}}},
	}).Err(); err != nil {
		t.Fatal(err)
	}
	other := closing(t, mustOpen(t, p.set.Address()))
	holder := store.Holder{Token: "during-an-election"}
	expect.NoError(t, other.TakeLease(expect.Patiently(t), holder, time.Minute, p.store.Taken().Token))
	if l, err := other.Lease(expect.Patiently(t)); err != nil || l.Token != holder.Token {
		t.Errorf("the lease is %+v, %v", l, err)
	}
	expect.NoError(t, other.ReleaseLease(expect.Patiently(t), holder.Token))
}

// testApplyingHeldBack has a member hear of all that is written and apply
// nothing.
func testApplyingHeldBack(t *testing.T, p *troupe) {
	_, member := p.secondary(t)
	before := p.read(t, member)
	client := plainClient(t, "mongodb://"+member.Name+"/?directConnection=true")
	failPoint := func(mode string) {
		t.Helper()
		if err := client.Database("admin").RunCommand(expect.Patiently(t), bson.D{
			{Key: "configureFailPoint", Value: "rsSyncApplyStop"}, {Key: "mode", Value: mode}}).Err(); err != nil {
			t.Fatal(err)
		}
	}
	failPoint("alwaysOn")
	p.transfer(t, 2)
	err := p.catchUp(t, member, 3*time.Second) // in which a busy server has answered once
	if !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "it is at") {
		t.Errorf("CatchUp: %v", err)
	}
	if !same(p.read(t, member), before) {
		t.Error("what was read is not this member's")
	}
	failPoint("off")
	expect.NoError(t, p.catchUp(t, member, expect.Patience))
	if read := p.read(t, member); same(read, before) || len(p.ledger.Problems(read)) != 0 {
		t.Errorf("afterwards: %d rows, %v", len(read.Entries), p.ledger.Problems(read))
	}
}

func testPausedMember(t *testing.T, p *troupe) {
	i, member := p.secondary(t)
	expect.NoError(t, p.set.Node(i).Pause())
	p.transfer(t, 2)
	if err := p.catchUp(t, member, time.Second); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("CatchUp: %v", err)
	}
	if members, unreachable := p.members(t); len(members) != 2 || len(unreachable) != 1 || unreachable[member.Name] == nil {
		t.Errorf("members %+v, unreachable %v", members, unreachable)
	}
	expect.NoError(t, p.set.Node(i).Resume())
	expect.NoError(t, p.catchUp(t, member, expect.Patience))
	if read := p.read(t, member); len(p.ledger.Problems(read)) != 0 {
		t.Errorf("afterwards: %v", p.ledger.Problems(read))
	}
}

func testMemberDown(t *testing.T, p *troupe) {
	i, member := p.secondary(t)
	expect.NoError(t, p.set.Node(i).Kill())
	if _, unreachable := p.members(t); len(unreachable) != 1 || unreachable[member.Name] == nil {
		t.Errorf("unreachable %v", unreachable)
	}
	caughtUp := make(chan error, 1)
	go func() { caughtUp <- p.catchUp(t, member, expect.Patience) }()
	p.transfer(t, 2)
	expect.NoError(t, p.set.Restart(expect.Patiently(t), i))
	if err := <-caughtUp; err != nil {
		t.Errorf("a member that came back: %v", err)
	}
}

func testUnknownMember(t *testing.T, p *troupe) {
	nobody := bank.Replica{Name: "127.0.0.1:1"}
	ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
	defer cancel()
	if err := p.store.CatchUp(ctx, nobody); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("CatchUp of nobody: %v", err)
	}
	if _, err := drivertest.ReadReplica(ctx, p.store, nobody); err == nil {
		t.Error("ReadReplica of nobody")
	}
}

// testChangedBehindItsBack takes a member out of the set, changes its copy as a
// server of its own, and puts it back: the oplog does not know.
func testChangedBehindItsBack(t *testing.T, p *troupe) {
	i, member := p.secondary(t)
	expect.NoError(t, p.catchUp(t, member, expect.Patience))
	// A checkpoint, so that nothing that is done to the account again when the
	// member comes back covers the change.
	direct := plainClient(t, "mongodb://"+member.Name+"/?directConnection=true")
	expect.NoError(t, direct.Database("admin").RunCommand(expect.Patiently(t), bson.D{{Key: "fsync", Value: 1}}).Err())
	expect.NoError(t, p.set.Node(i).Kill())
	alone(t, filepath.Join(p.dir, "node-"+strconv.Itoa(i)), func(client *mongo.Client) {
		accounts := client.Database("assay_bank").Collection("account")
		result, err := accounts.UpdateByID(expect.Patiently(t), int64(3), bson.D{{Key: "$set", Value: bson.D{{Key: "balance", Value: int64(777)}}}})
		if err != nil || result.ModifiedCount != 1 {
			t.Errorf("%+v, %v", result, err)
		}
	})
	expect.NoError(t, p.set.Restart(expect.Patiently(t), i))
	p.seq++
	mustCommit(t, mustSession(t, p.store), p.ledger,
		bank.Transfer{ID: workload.OperationID(0, p.seq), Source: 1, Destination: 2, Amount: 1})
	members, _ := p.members(t)
	for _, m := range members {
		expect.NoError(t, p.catchUp(t, m, expect.Patience))
		if got := p.read(t, m).Account(3).Balance; (got == 777) != (m.Name == member.Name) {
			t.Errorf("%s has balance %d, and %s was changed", m.Name, got, member.Name)
		}
	}
}

// alone runs a mongod on a member's folder that is not part of the set.
func alone(t *testing.T, dir string, use func(*mongo.Client)) {
	t.Helper()
	program, err := server.Program{Name: "mongod", Get: "scripts/install-servers.sh mongodb"}.Find("")
	expect.NoError(t, err)
	port, err := new(server.Ports).Next()
	expect.NoError(t, err)
	process, err := server.StartProcess(server.ProcessOptions{Name: "standalone", Program: program, Dir: dir,
		Log: filepath.Join(t.TempDir(), "log"), Args: []string{"--port", strconv.Itoa(port), "--bind_ip", "127.0.0.1",
			"--nounixsocket", "--dbpath", dir, "--wiredTigerCacheSizeGB", "0.25"}})
	expect.NoError(t, err)
	t.Cleanup(func() { process.Kill() }) // if the test ends early
	client, err := mongo.Connect(options.Client().SetHosts([]string{net.JoinHostPort("127.0.0.1", strconv.Itoa(port))}).SetDirect(true))
	expect.NoError(t, err)
	use(client)
	// A checkpoint and a quick end: asked to end, it would wait for its clients.
	err = client.Database("admin").RunCommand(expect.Patiently(t), bson.D{{Key: "fsync", Value: 1}}).Err()
	expect.NoError(t, errors.Join(err, client.Disconnect(expect.Patiently(t)), process.Kill()))
}

// TestReplicasWithoutArbiter has a member that holds no data.
func TestReplicasWithoutArbiter(t *testing.T) {
	t.Parallel()
	set, err := cluster.Start(t.Context(), cluster.Options{Layout: server.Layout{Nodes: 2}, Arbiters: 1,
		ElectionTimeout: 2 * time.Second, Heartbeat: 500 * time.Millisecond})
	expect.NoError(t, err)
	expect.AtEnd(t, set.Close)
	if got, want := inForce(t, set.Address()), "1, local, "; got != want {
		t.Errorf("two data nodes of three: the default is %q, want %q", got, want)
	}
	db := closing(t, mustOpen(t, set.Address()))
	members, unreachable, err := db.Replicas(expect.Patiently(t))
	if err != nil || len(members) != 2 || len(unreachable) != 0 {
		t.Errorf("members %+v, unreachable %v, %v", members, unreachable, err)
	}
	for _, member := range members {
		if member.Name == set.Node(2).Address() {
			t.Errorf("the arbiter is a member: %+v", members)
		}
		if err := db.CatchUp(expect.Patiently(t), member); err != nil {
			t.Error(err)
		}
	}
}

// TestReplicasWithAccessControl reads a member as a user with few rights.
func TestReplicasWithAccessControl(t *testing.T) {
	t.Parallel()
	set := startSecured(t)
	ctx := expect.Patiently(t)
	db := closing(t, mustOpen(t, withUser(set, "clerk", rightPassword)))
	members, unreachable, err := db.Replicas(ctx)
	if err != nil || !slices.Equal(members, []bank.Replica{{Name: set.Node(0).Address(), Primary: true}}) || len(unreachable) != 0 {
		t.Fatalf("members %+v, unreachable %v, %v", members, unreachable, err)
	}
	expect.NoError(t, db.CatchUp(ctx, members[0]))
	if _, err := drivertest.ReadReplica(ctx, db, members[0]); err != nil {
		t.Error(err)
	}
}

func TestOpTimeOrder(t *testing.T) {
	at := func(term int64, seconds, count uint32) opTime {
		return opTime{term, bson.Timestamp{T: seconds, I: count}}
	}
	ordered := []opTime{at(1, 5, 1), at(1, 5, 2), at(1, 6, 1), at(2, 4, 1), at(2, 4, 9)}
	for i, a := range ordered {
		for j, b := range ordered {
			if a.before(b) != (i < j) {
				t.Errorf("%v before %v: %t", a, b, a.before(b))
			}
		}
	}
}
