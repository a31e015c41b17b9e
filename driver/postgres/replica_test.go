package postgres

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	cluster "assay/cluster/postgres"
	"assay/driver/drivertest"
	"assay/history"
	"assay/workload"
	"assay/workload/bank"
)

// troupe is a primary with two standbys and a bank on them.
type troupe struct {
	t        *testing.T
	ctx      context.Context
	primary  *cluster.Server
	standbys []*cluster.Server
	store    *bankStore
	seq      uint64
}

func gather(t *testing.T) *troupe {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 3*time.Minute)
	t.Cleanup(cancel)
	p := &troupe{t: t, ctx: ctx}
	closing := func(node *cluster.Server, err error) *cluster.Server {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := node.Close(); err != nil {
				t.Error(err)
			}
		})
		return node
	}
	p.primary = closing(cluster.Start(ctx, cluster.Options{Password: secret}))
	for _, o := range []cluster.StandbyOptions{{Synchronous: true}, {}} {
		p.standbys = append(p.standbys, closing(p.primary.StartStandby(ctx, o)))
	}
	p.store = p.open(p.primary.AddressWith(p.standbys...))
	load(t, ctx, p.store)
	return p
}

func (p *troupe) open(address string) *bankStore {
	p.t.Helper()
	store := openBank(p.t, workload.Target{Address: address, ConnectTimeout: time.Second})
	p.t.Cleanup(func() { store.Close() })
	return store
}

func hostOf(t *testing.T, node *cluster.Server) string {
	t.Helper()
	u, err := url.Parse(node.Address())
	if err != nil {
		t.Fatal(err)
	}
	return u.Host
}

func (p *troupe) members() ([]bank.Replica, map[string]error) {
	p.t.Helper()
	members, unreachable, err := p.store.Replicas(p.ctx)
	if err != nil {
		p.t.Fatal(err)
	}
	return members, unreachable
}

// member is standby i as Replicas names it.
func (p *troupe) member(i int) bank.Replica { return bank.Replica{Name: hostOf(p.t, p.standbys[i])} }

// transfer does n transfers, and some clients at the same time.
func (p *troupe) transfer(store bank.Store, n int) {
	p.t.Helper()
	var all sync.WaitGroup
	for client := range 2 {
		session, err := store.Session(p.ctx)
		if err != nil {
			p.t.Fatal(err)
		}
		all.Go(func() {
			defer session.Close()
			for i := range n {
				id := bank.TransferID(client, p.seq+uint64(i))
				tr := bank.Transfer{ID: id, Source: 1 + id%4, Destination: 1 + (id+1)%4, Amount: 1}
				if r := session.Transfer(p.ctx, tr); r.Outcome != history.Committed {
					p.t.Errorf("got %+v", r)
				}
			}
		})
	}
	all.Wait()
	p.seq += uint64(n)
}

// read reads a member, with the rows of the journal in the order of their ids.
func (p *troupe) read(member bank.Replica) drivertest.Snapshot {
	p.t.Helper()
	var s drivertest.Snapshot
	err := p.store.ReadReplica(p.ctx, member,
		func(a bank.Account) error { s.Accounts = append(s.Accounts, a); return nil },
		func(e bank.Entry) error { s.Entries = append(s.Entries, e); return nil })
	if err != nil {
		p.t.Fatal(err)
	}
	slices.SortFunc(s.Entries, func(a, b bank.Entry) int { return int(a.ID - b.ID) })
	return s
}

func same(a, b drivertest.Snapshot) bool {
	return slices.Equal(a.Accounts, b.Accounts) && slices.Equal(a.Entries, b.Entries)
}

func (p *troupe) catchUp(member bank.Replica, within time.Duration) error {
	ctx, cancel := context.WithTimeout(p.ctx, within)
	defer cancel()
	return p.store.CatchUp(ctx, member)
}

// TestReplicas shares one primary and its standbys, so each subtest leaves them
// healthy, but for the last.
func TestReplicas(t *testing.T) {
	p := gather(t)
	for _, s := range []struct {
		name string
		run  func(*testing.T, *troupe)
	}{
		{"AllTheSame", testAllTheSame},
		{"CommitsNotYetWritten", testCommitsNotYetWritten},
		{"ReplayHeldBack", testReplayHeldBack},
		{"Paused", testPausedStandby},
		{"Down", testStandbyDown},
		{"OneHost", testOneHost},
		{"OneServerTwoNames", testOneServerTwoNames},
		{"AnotherPrimary", testAnotherPrimary},
		{"UnknownMember", testUnknownMember},
		{"ChangedBehindItsBack", testChangedBehindItsBack},
		{"Promoted", testPromoted},
	} {
		t.Run(s.name, func(t *testing.T) {
			p.t = t
			s.run(t, p)
		})
	}
}

func testAllTheSame(t *testing.T, p *troupe) {
	p.transfer(p.store, 40)
	members, unreachable := p.members()
	want := []bank.Replica{{Name: hostOf(t, p.primary), Primary: true}, p.member(0), p.member(1)}
	if !slices.Equal(members, want) || len(unreachable) != 0 {
		t.Fatalf("members %+v, unreachable %v; want %+v", members, unreachable, want)
	}
	for _, member := range members {
		if err := p.catchUp(member, time.Minute); err != nil {
			t.Fatal(err)
		}
		if read := p.read(member); !same(read, p.read(members[0])) || len(read.Entries) != 80 {
			t.Errorf("%s has %d rows and accounts %v", member.Name, len(read.Entries), read.Accounts)
		}
	}
}

// testCommitsNotYetWritten has commits answered before they are on the disk.
func testCommitsNotYetWritten(t *testing.T, p *troupe) {
	u, err := url.Parse(p.primary.Address())
	if err != nil {
		t.Fatal(err)
	}
	parameter("synchronous_commit", "off")(u)
	before := len(p.read(p.member(1)).Entries)
	hasty := p.open(u.String())
	for n := range 10 {
		p.transfer(hasty, 1)
		if err := p.catchUp(p.member(1), time.Minute); err != nil {
			t.Fatal(err)
		}
		if rows := len(p.read(p.member(1)).Entries); rows != before+2*(n+1) {
			t.Errorf("%d rows, want %d", rows, before+2*(n+1))
		}
	}
}

// testReplayHeldBack has a standby receive the log and not replay it.
func testReplayHeldBack(t *testing.T, p *troupe) {
	standby := connectTo(t, p.standbys[1].Address())
	before := p.read(p.member(1))
	exec(t, standby, `SELECT pg_wal_replay_pause()`)
	p.transfer(p.store, 5)
	err := p.catchUp(p.member(1), 300*time.Millisecond)
	if !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "has replayed it up to") {
		t.Errorf("CatchUp: %v", err)
	}
	if !same(p.read(p.member(1)), before) {
		t.Error("what was read is not this member's")
	}
	exec(t, standby, `SELECT pg_wal_replay_resume()`)
	if err := p.catchUp(p.member(1), time.Minute); err != nil {
		t.Fatal(err)
	}
	if read := p.read(p.member(1)); same(read, before) || !same(read, p.read(bank.Replica{Name: hostOf(t, p.primary), Primary: true})) {
		t.Errorf("%d rows afterwards", len(read.Entries))
	}
}

func testPausedStandby(t *testing.T, p *troupe) {
	if err := p.standbys[1].Pause(); err != nil {
		t.Fatal(err)
	}
	p.transfer(p.store, 2)
	if err := p.catchUp(p.member(1), 300*time.Millisecond); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("CatchUp: %v", err)
	}
	members, unreachable := p.members()
	if why := unreachable[p.member(1).Name]; why == nil || len(members) != 2 || len(unreachable) != 1 {
		t.Errorf("members %+v, unreachable %v", members, unreachable)
	} else {
		quiet(t, why)
	}
	if err := p.standbys[1].Resume(); err != nil {
		t.Fatal(err)
	}
	if err := p.catchUp(p.member(1), time.Minute); err != nil {
		t.Error(err)
	}
	if members, unreachable := p.members(); len(members) != 3 || len(unreachable) != 0 {
		t.Errorf("members %+v, unreachable %v", members, unreachable)
	}
}

func testStandbyDown(t *testing.T, p *troupe) {
	if err := p.standbys[1].Kill(); err != nil {
		t.Fatal(err)
	}
	if _, unreachable := p.members(); !errors.As(unreachable[p.member(1).Name], new(*workload.UnreachableError)) {
		t.Errorf("unreachable %v", unreachable)
	}
	caughtUp := make(chan error, 1)
	go func() { caughtUp <- p.catchUp(p.member(1), time.Minute) }()
	p.transfer(p.store, 2)
	if err := p.standbys[1].Restart(p.ctx); err != nil {
		t.Fatal(err)
	}
	if err := <-caughtUp; err != nil {
		t.Errorf("a standby that came back: %v", err)
	}
}

func testOneHost(t *testing.T, p *troupe) {
	members, unreachable, err := p.open(p.primary.Address()).Replicas(p.ctx)
	if err != nil || len(unreachable) != 0 || !slices.Equal(members, []bank.Replica{{Name: hostOf(t, p.primary), Primary: true}}) {
		t.Errorf("members %+v, unreachable %v, %v", members, unreachable, err)
	}
}

func testOneServerTwoNames(t *testing.T, p *troupe) {
	address := strings.Replace(p.primary.AddressWith(p.standbys[0], p.standbys[0]),
		","+hostOf(t, p.standbys[0]), ","+strings.Replace(hostOf(t, p.standbys[0]), "127.0.0.1", "localhost", 1), 1)
	members, unreachable, err := p.open(address).Replicas(p.ctx)
	if err != nil || len(unreachable) != 0 || len(members) != 2 {
		t.Errorf("%s: members %+v, unreachable %v, %v", workload.Redact(address), members, unreachable, err)
	}
}

// testAnotherPrimary has a host in the address that replicates from nobody, as
// an old primary that came back does.
func testAnotherPrimary(t *testing.T, p *troupe) {
	other := hostOf(t, server)
	address := strings.Replace(p.primary.AddressWith(p.standbys[0]), hostOf(t, p.standbys[0]), hostOf(t, p.standbys[0])+","+other, 1)
	members, unreachable, err := p.open(address).Replicas(p.ctx)
	if err != nil || len(members) != 2 || len(unreachable) != 1 || unreachable[other] == nil ||
		!strings.Contains(unreachable[other].Error(), "writes of its own") {
		t.Errorf("members %+v, unreachable %v, %v", members, unreachable, err)
	}
}

func testUnknownMember(t *testing.T, p *troupe) {
	nobody := bank.Replica{Name: "nowhere:1"}
	if err := p.store.CatchUp(p.ctx, nobody); err == nil {
		t.Error("CatchUp of nobody")
	}
	err := p.store.ReadReplica(p.ctx, nobody, func(bank.Account) error { return nil }, func(bank.Entry) error { return nil })
	if err == nil {
		t.Error("ReadReplica of nobody")
	}
}

// testChangedBehindItsBack changes a balance in the standby's own file while it
// is down, where no log can tell.
func testChangedBehindItsBack(t *testing.T, p *troupe) {
	const before, after = 0x123456789abcdef, 0x123456789abcde0
	conn := connectTo(t, p.primary.Address())
	exec(t, conn, `UPDATE assay_bank.account SET balance = $1 WHERE id = 3`, int64(before))
	exec(t, conn, `CHECKPOINT`)
	if err := p.catchUp(p.member(1), time.Minute); err != nil {
		t.Fatal(err)
	}
	standby := connectTo(t, p.standbys[1].Address())
	exec(t, standby, `CHECKPOINT`) // so that the file has it, and replay does not write it again
	var file string
	if err := standby.QueryRow(p.ctx, `SELECT pg_relation_filepath('assay_bank.account')`).Scan(&file); err != nil {
		t.Fatal(err)
	}
	if err := p.standbys[1].Stop(p.ctx); err != nil {
		t.Fatal(err)
	}
	patch(t, filepath.Join(p.standbys[1].Data(), file), before, after)
	if err := p.standbys[1].Restart(p.ctx); err != nil {
		t.Fatal(err)
	}
	if err := p.catchUp(p.member(1), time.Minute); err != nil {
		t.Fatal(err)
	}
	members, _ := p.members()
	for i, want := range []int64{before, before, after} {
		if got := p.read(members[i]).Account(3).Balance; got != want {
			t.Errorf("%s has balance %x, want %x", members[i].Name, got, want)
		}
	}
}

// patch replaces a number in a file, where it must be at least once.
func patch(t *testing.T, path string, before, after uint64) {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	old, now := binary.NativeEndian.AppendUint64(nil, before), binary.NativeEndian.AppendUint64(nil, after)
	if !bytes.Contains(data, old) {
		t.Fatal("the number is not in the file")
	}
	file, err := os.OpenFile(path, os.O_WRONLY, 0) // the same file, which stays the server's
	if err != nil {
		t.Fatal(err)
	}
	if _, err := file.Write(bytes.ReplaceAll(data, old, now)); err != nil {
		t.Error(err)
	}
	if err := file.Close(); err != nil {
		t.Fatal(err)
	}
}

func testPromoted(t *testing.T, p *troupe) {
	exec(t, connectTo(t, p.standbys[1].Address()), `SELECT pg_promote()`)
	if err := p.catchUp(p.member(1), time.Minute); !errors.As(err, new(*promotedError)) {
		t.Errorf("CatchUp: %v", err)
	}
	members, unreachable := p.members()
	if len(members) != 2 || unreachable[p.member(1).Name] == nil {
		t.Errorf("members %+v, unreachable %v", members, unreachable)
	}
}

// TestPrimaryIsLookedFor names the standby first.
func TestPrimaryIsLookedFor(t *testing.T) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	standby, err := server.StartStandby(ctx, cluster.StandbyOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := standby.Close(); err != nil {
			t.Error(err)
		}
	}()
	both := host(hostOf(t, standby) + "," + hostOf(t, server))
	store := openBank(t, target(t, both))
	defer store.Close()
	load(t, ctx, store)
	members, unreachable, err := store.Replicas(ctx)
	want := []bank.Replica{{Name: hostOf(t, standby)}, {Name: hostOf(t, server), Primary: true}}
	if err != nil || len(unreachable) != 0 || !slices.Equal(members, want) {
		t.Errorf("members %+v, unreachable %v, %v", members, unreachable, err)
	}
	if err := store.Drop(ctx); err != nil {
		t.Error(err)
	}
	_, err = OpenBank(ctx, workload.Target{Address: standby.AddressWith(standby), ConnectTimeout: time.Second})
	if err != nil {
		quiet(t, err)
	}
	if !errors.As(err, new(*workload.UnreachableError)) {
		t.Errorf("standbys alone: %v", err)
	}
}
