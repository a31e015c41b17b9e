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

	"assay/cluster/streaming"
	"assay/driver/drivertest"
	"assay/history"
	"assay/internal/expect"
	"assay/store"
	"assay/workload"
	"assay/workload/bank"
	"assay/workload/entity"
)

// troupe is a bank on a primary with two standbys, one of which confirms each commit.
type troupe struct {
	t     *testing.T
	ctx   context.Context
	set   *streaming.Plain
	store *bankStore
	seq   uint64
}

func startSet(t *testing.T, ctx context.Context, nodes int) *streaming.Plain {
	t.Helper()
	set, err := streaming.StartPlain(ctx, streaming.PlainOptions{Placement: streaming.Placement{Nodes: nodes, Password: secret},
		Settings: []string{"ignore_checksum_failure=on"}}) // for the test that changes a file
	expect.NoError(t, err)
	expect.AtEnd(t, set.Close)
	return set
}

// atNodes is the set's address with these nodes, or other hosts, in order.
func atNodes(t *testing.T, set *streaming.Plain, hosts ...string) string {
	t.Helper()
	u, err := url.Parse(set.Address())
	expect.NoError(t, err)
	u.Host = strings.Join(hosts, ",")
	if len(hosts) == 1 {
		u.RawQuery = "sslmode=disable"
	}
	return u.String()
}

func gather(t *testing.T) *troupe {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 3*expect.Patience) // for all that is done
	t.Cleanup(cancel)
	p := &troupe{t: t, ctx: ctx, set: startSet(t, ctx, 3)}
	p.store = p.open(p.set.Address())
	load(t, ctx, p.store)
	return p
}

func (p *troupe) at(node int) string { return atNodes(p.t, p.set, p.set.Node(node).Address()) }

func (p *troupe) open(address string) *bankStore {
	p.t.Helper()
	db := openBank(p.t, store.Target{Address: address, ConnectTimeout: 5 * time.Second}) // a paused standby takes all of it
	p.t.Cleanup(func() { db.Close() })
	return db
}

func (p *troupe) members() ([]bank.Replica, map[string]error) {
	p.t.Helper()
	members, unreachable, err := p.store.Replicas(p.ctx)
	expect.NoError(p.t, err)
	return members, unreachable
}

// member is standby i's name in Replicas.
func (p *troupe) member(i int) bank.Replica { return bank.Replica{Name: p.set.Node(i + 1).Address()} }

func (p *troupe) transfer(db *bankStore, n int) {
	p.t.Helper()
	var all sync.WaitGroup
	for client := range 2 {
		session, err := db.Session(p.ctx)
		expect.NoError(p.t, err)
		all.Go(func() {
			defer session.Close()
			for i := range n {
				id := workload.OperationID(client, p.seq+uint64(i))
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

func (p *troupe) read(member bank.Replica) drivertest.Snapshot {
	p.t.Helper()
	s, err := drivertest.ReadReplica(p.ctx, p.store, member)
	expect.NoError(p.t, err)
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

// TestReplicas: subtests share one set and leave it healthy, except the last.
func TestReplicas(t *testing.T) {
	t.Parallel()
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
		{"BehindAFront", testBehindAFront},
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
	want := []bank.Replica{{Name: p.set.Node(0).Address(), Primary: true}, p.member(0), p.member(1)}
	if !slices.Equal(members, want) || len(unreachable) != 0 {
		t.Fatalf("members %+v, unreachable %v; want %+v", members, unreachable, want)
	}
	for _, member := range members {
		expect.NoError(t, p.catchUp(member, expect.Patience))
		if read := p.read(member); !same(read, p.read(members[0])) || len(read.Entries) != 80 {
			t.Errorf("%s has %d rows and accounts %v", member.Name, len(read.Entries), read.Accounts)
		}
	}
}

// testCommitsNotYetWritten: commits are answered before they are on the disk.
func testCommitsNotYetWritten(t *testing.T, p *troupe) {
	u, err := url.Parse(p.at(0))
	expect.NoError(t, err)
	parameter("synchronous_commit", "off")(u)
	before := len(p.read(p.member(1)).Entries)
	hasty := p.open(u.String())
	for n := range 10 {
		p.transfer(hasty, 1)
		expect.NoError(t, p.catchUp(p.member(1), expect.Patience))
		if rows := len(p.read(p.member(1)).Entries); rows != before+2*(n+1) {
			t.Errorf("%d rows, want %d", rows, before+2*(n+1))
		}
	}
}

// testReplayHeldBack: a standby receives the log without replaying it.
func testReplayHeldBack(t *testing.T, p *troupe) {
	standby := connectTo(t, p.at(2))
	before := p.read(p.member(1))
	exec(t, standby, `SELECT pg_wal_replay_pause()`)
	p.transfer(p.store, 5)
	err := p.catchUp(p.member(1), 3*time.Second) // in which a busy server has answered once
	if !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "has replayed it up to") {
		t.Errorf("CatchUp: %v", err)
	}
	if !same(p.read(p.member(1)), before) {
		t.Error("what was read is not this member's")
	}
	exec(t, standby, `SELECT pg_wal_replay_resume()`)
	expect.NoError(t, p.catchUp(p.member(1), expect.Patience))
	if read := p.read(p.member(1)); same(read, before) || !same(read, p.read(bank.Replica{Name: p.set.Node(0).Address(), Primary: true})) {
		t.Errorf("%d rows afterwards", len(read.Entries))
	}
}

func testPausedStandby(t *testing.T, p *troupe) {
	expect.NoError(t, p.set.Node(2).Pause())
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
	expect.NoError(t, p.set.Node(2).Resume())
	expect.NoError(t, p.catchUp(p.member(1), expect.Patience))
	if members, unreachable := p.members(); len(members) != 3 || len(unreachable) != 0 {
		t.Errorf("members %+v, unreachable %v", members, unreachable)
	}
}

func testStandbyDown(t *testing.T, p *troupe) {
	expect.NoError(t, p.set.Node(2).Kill())
	if _, unreachable := p.members(); !errors.As(unreachable[p.member(1).Name], new(*store.UnreachableError)) {
		t.Errorf("unreachable %v", unreachable)
	}
	caughtUp := make(chan error, 1)
	go func() { caughtUp <- p.catchUp(p.member(1), expect.Patience) }()
	p.transfer(p.store, 2)
	expect.NoError(t, p.set.Restart(p.ctx, 2))
	if err := <-caughtUp; err != nil {
		t.Errorf("a standby that came back: %v", err)
	}
}

func testOneHost(t *testing.T, p *troupe) {
	members, unreachable, err := p.open(p.at(0)).Replicas(p.ctx)
	if err != nil || len(unreachable) != 0 || !slices.Equal(members, []bank.Replica{{Name: p.set.Node(0).Address(), Primary: true}}) {
		t.Errorf("members %+v, unreachable %v, %v", members, unreachable, err)
	}
}

func testOneServerTwoNames(t *testing.T, p *troupe) {
	one := p.set.Node(1).Address()
	address := atNodes(t, p.set, p.set.Node(0).Address(), strings.Replace(one, "127.0.0.1", "localhost", 1), one)
	members, unreachable, err := p.open(address).Replicas(p.ctx)
	if err != nil || len(unreachable) != 0 || len(members) != 2 {
		t.Errorf("%s: members %+v, unreachable %v, %v", store.Redact(address), members, unreachable, err)
	}
}

// testAnotherPrimary: a host in the address is a former primary that follows none.
func testAnotherPrimary(t *testing.T, p *troupe) {
	alone, err := url.Parse(server.Address())
	expect.NoError(t, err)
	other := alone.Host
	address := atNodes(t, p.set, p.set.Node(0).Address(), p.set.Node(1).Address(), other)
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
	_, err := drivertest.ReadReplica(p.ctx, p.store, nobody)
	if err == nil {
		t.Error("ReadReplica of nobody")
	}
}

// testChangedBehindItsBack changes a balance in a dead standby's file, of which no log tells.
func testChangedBehindItsBack(t *testing.T, p *troupe) {
	const before, after = 0x123456789abcdef, 0x123456789abcde0
	conn := connectTo(t, p.at(0))
	exec(t, conn, `UPDATE assay_bank.account SET balance = $1 WHERE id = 3`, int64(before))
	// With checksums the first read of a changed row changes its page again (hint bits), which must
	// not reach the standby later.
	exec(t, conn, `SELECT count(*) FROM assay_bank.account`)
	exec(t, conn, `CHECKPOINT`)
	expect.NoError(t, p.catchUp(p.member(1), expect.Patience))
	standby := connectTo(t, p.at(2))
	exec(t, standby, `CHECKPOINT`) // so that the file has it, and replay does not write it again
	var file string
	expect.NoError(t, standby.QueryRow(p.ctx, `SELECT pg_relation_filepath('assay_bank.account')`).Scan(&file))
	expect.NoError(t, p.set.Node(2).Stop(p.ctx))
	patch(t, filepath.Join(p.set.Node(2).Dir, "data", file), before, after)
	expect.NoError(t, p.set.Restart(p.ctx, 2))
	expect.NoError(t, p.catchUp(p.member(1), expect.Patience))
	members, _ := p.members()
	for i, want := range []int64{before, before, after} {
		if got := p.read(members[i]).Account(3).Balance; got != want {
			t.Errorf("%s has balance %x, want %x", members[i].Name, got, want)
		}
	}
}

// patch replaces a number in a file that must have it.
func patch(t *testing.T, path string, before, after uint64) {
	t.Helper()
	data, err := os.ReadFile(path)
	expect.NoError(t, err)
	old, now := binary.NativeEndian.AppendUint64(nil, before), binary.NativeEndian.AppendUint64(nil, after)
	if !bytes.Contains(data, old) {
		t.Fatal("the number is not in the file")
	}
	file, err := os.OpenFile(path, os.O_WRONLY, 0) // the same file, which stays the server's
	expect.NoError(t, err)
	if _, err := file.Write(bytes.ReplaceAll(data, old, now)); err != nil {
		t.Error(err)
	}
	expect.NoError(t, file.Close())
}

func TestPrimaryIsLookedFor(t *testing.T) {
	ctx, cancel := context.WithTimeout(context.Background(), expect.Patience)
	defer cancel()
	set := startSet(t, ctx, 2)
	primary, standby := set.Node(0).Address(), set.Node(1).Address()
	db := openBank(t, store.Target{Address: atNodes(t, set, standby, primary), ConnectTimeout: 30 * time.Second})
	defer db.Close()
	load(t, ctx, db)
	members, unreachable, err := db.Replicas(ctx)
	want := []bank.Replica{{Name: standby}, {Name: primary, Primary: true}}
	if err != nil || len(unreachable) != 0 || !slices.Equal(members, want) {
		t.Errorf("members %+v, unreachable %v, %v", members, unreachable, err)
	}
	expect.NoError(t, db.Drop(ctx))
	_, err = Open(ctx, store.Target{Address: atNodes(t, set, standby, standby), ConnectTimeout: time.Second}, bank.Schema())
	if err != nil {
		quiet(t, err)
	}
	if !errors.As(err, new(*store.UnreachableError)) {
		t.Errorf("standbys alone: %v", err)
	}
}

// testBehindAFront: the address names the clients' front and the servers behind it.
func testBehindAFront(t *testing.T, p *troupe) {
	nodes := nodesParameter + "=" + p.set.Node(0).Address() + "," + p.set.Node(1).Address() + "," + p.set.Node(2).Address()
	address := p.at(0) + "&" + nodes
	front := p.open(address)
	members, unreachable, err := front.Replicas(p.ctx)
	want := []bank.Replica{{Name: p.set.Node(0).Address(), Primary: true}, p.member(0), p.member(1)}
	if err != nil || len(unreachable) != 0 || !slices.Equal(members, want) {
		t.Errorf("members %+v, unreachable %v, %v", members, unreachable, err)
	}
	p.transfer(front, 10)
	expect.NoError(t, p.catchUp(p.member(1), expect.Patience))
	if !same(p.read(p.member(1)), p.read(want[0])) {
		t.Error("the standby has something else")
	}
	var refused *store.OptionError
	for _, wrong := range []string{"", "host", "host:0", "host:1,", ":5", "host:70000"} {
		if _, err := read(store.Target{Address: p.at(0) + "&" + nodesParameter + "=" + wrong}); !errors.As(err, &refused) {
			t.Errorf("%q: %v", wrong, err)
		}
	}
	_, err = Open(p.ctx, store.Target{Address: address, Read: store.ReadSecondaryPreferred}, entity.Schema())
	if !errors.As(err, &refused) || !strings.Contains(err.Error(), "primary") {
		t.Errorf("reads of a standby: %v", err)
	}
}
