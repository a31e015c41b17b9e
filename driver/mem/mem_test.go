package mem

import (
	"context"
	"errors"
	"runtime"
	"testing"
	"time"

	"assay/driver/drivertest"
	"assay/history"
	"assay/internal/expect"
	"assay/store"
	"assay/workload"
	"assay/workload/bank"
	"assay/workload/entity"
)

// foreign makes a database another owner's until the test ends.
func foreign(d *database) func(*testing.T) {
	set := func(foreign bool) {
		d.mu.Lock()
		d.foreign = foreign
		d.mu.Unlock()
	}
	return func(t *testing.T) {
		set(true)
		t.Cleanup(func() { set(false) })
	}
}

func untouched(d *database) func(*testing.T) {
	return func(t *testing.T) {
		if d.tree.Len() != 0 || d.marker != nil {
			t.Errorf("what is foreign was changed: there are %d entries", d.tree.Len())
		}
	}
}

func TestEachOpenIsItsOwnDatabase(t *testing.T) {
	target := store.Target{Address: "mem://"}
	a, errA := Open(t.Context(), target, bank.Schema())
	b, errB := Open(t.Context(), target, bank.Schema())
	expect.NoError(t, errors.Join(errA, errB, a.Create(t.Context(), store.Marker{Run: "a"})))
	if remains, err := b.Find(t.Context()); remains != nil || err != nil {
		t.Errorf("the second database holds %+v, %v", remains, err)
	}
}

func TestAddress(t *testing.T) {
	for address, want := range map[string]*database{
		"mem:": {}, "mem://": {}, "mem:///": {}, "mem://?timeout=0.25": {timeout: 0.25}, "mem://?latency=2ms&timeout=0": {latency: 2 * time.Millisecond},
	} {
		got, err := open(store.Target{Address: address, Seed: 9})
		if err != nil || got.timeout != want.timeout || got.latency != want.latency {
			t.Errorf("%s: %+v, %v", address, got, err)
		}
	}
	for address, option := range map[string]string{
		"memory://": "address", "mem://host": "address", "mem://?timeout=2": "timeout", "mem://?timeout=x": "timeout", "mem://?timeout=NaN": "timeout",
		"mem://?timeout=0&timeout=1": "the address's option", "mem://?latency=-1s": "latency", "mem://?latency=5": "latency", "mem://?bug=lost-ack:1": "the address's option", "mem://?speed=1": "the address's option",
		"mem://?timeout=%zz": "the address's options",
	} {
		_, err := Open(t.Context(), store.Target{Address: address}, bank.Schema())
		var refused *store.OptionError
		if !errors.As(err, &refused) || refused.Option != option {
			t.Errorf("%s: %v, want a refusal of %q", address, err, option)
		}
	}
	for _, target := range []store.Target{{Address: "mem://", Isolation: "chaos"}, {Address: "mem://", Read: store.ReadNearest}} {
		var refused *store.OptionError
		if _, err := Open(t.Context(), target, entity.Schema()); !errors.As(err, &refused) {
			t.Errorf("%+v: %v", target, err)
		}
	}
	if _, err := Open(t.Context(), store.Target{Address: "mem://", Read: store.ReadPrimary}, entity.Schema()); err != nil {
		t.Error(err)
	}
}

// bench has accounts 1 to n of 1000 each and one session.
type bench struct {
	bank.Store
	session *bank.Session
	ledger  *drivertest.Transfers
	seq     uint64
}

func newBench(t testing.TB, address string, n int64) *bench {
	t.Helper()
	db, err := Open(t.Context(), store.Target{Address: address, Seed: 1}, bank.Schema())
	expect.NoError(t, err)
	var accounts []bank.Account
	for id := int64(1); id <= n; id++ {
		accounts = append(accounts, bank.Account{ID: id, Balance: 1000})
	}
	b := &bench{Store: bank.Over(db), ledger: drivertest.NewTransfers(accounts)}
	err = errors.Join(b.Create(t.Context(), store.Marker{}), b.LoadAccounts(t.Context(), accounts), b.FinishLoad(t.Context()))
	expect.NoError(t, err)
	if b.session, err = b.Session(t.Context()); err != nil {
		t.Fatal(err)
	}
	return b
}

// do sends and records a transfer under a fresh id.
func (b *bench) do(ctx context.Context, source, destination, amount int64) bank.Reply {
	b.seq++
	tr := bank.Transfer{ID: workload.OperationID(0, b.seq), Source: source, Destination: destination, Amount: amount}
	r := b.session.Transfer(ctx, tr)
	b.ledger.Record(tr, r)
	return r
}

func TestTimeoutIsHonest(t *testing.T) {
	b := newBench(t, "mem://?timeout=1", 4)
	for i := range int64(400) {
		if r := b.do(t.Context(), 1+i%4, 1+(i+1+i/4%3)%4, 1+i*37%1500); r.Outcome != history.Unknown || r.Class != store.ClassTimeout || r.Source != (bank.State{}) {
			t.Fatalf("transfer %d: %+v, want unknown", i, r)
		}
	}
	read := b.ledger.Check(t.Context(), t, b.Store)
	if n := len(read.Entries); n < 50 || n > 300 {
		t.Errorf("%d of 400 were applied, want about half of those with funds", n)
	}
}

func TestLatencyHeedsContext(t *testing.T) {
	b := newBench(t, "mem://?latency=1h", 2)
	ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	if r := b.do(ctx, 1, 2, 1); r.Outcome != history.Failed || r.Class != store.ClassTimeout || !errors.Is(r.Err, context.DeadlineExceeded) {
		t.Errorf("%+v, want failed by timeout", r)
	}
	b.ledger.Check(t.Context(), t, b.Store)
}

func TestNobodyIsNoMember(t *testing.T) {
	db, nobody := newBench(t, "mem://", 2).Database.(store.Replicated), store.Replica{Name: "mem:3"}
	_, err := drivertest.ReadReplica(t.Context(), db, nobody)
	if err == nil || db.CatchUp(t.Context(), nobody) == nil {
		t.Error("somebody answered")
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if one := (store.Replica{Name: secondMember}); db.CatchUp(t.Context(), one) != nil || db.CatchUp(ended, one) == nil {
		t.Error("CatchUp does not heed its context")
	}
}

// TestMemoryPerTransfer: ten million transfers must fit into 1.5 GiB.
func TestMemoryPerTransfer(t *testing.T) {
	b := newBench(t, "mem://", 2)
	const n = 100_000
	before := heapBytes()
	for seq := range uint64(n) {
		tr := bank.Transfer{ID: workload.OperationID(int(seq%8), seq/8), Source: 1 + int64(seq%2), Destination: 2 - int64(seq%2), Amount: 1}
		if r := b.session.Transfer(t.Context(), tr); r.Outcome != history.Committed {
			t.Fatalf("%+v", r)
		}
	}
	if each := (heapBytes() - before) / n; each > 140 {
		t.Errorf("%d bytes a transfer, want at most 140", each)
	}
	runtime.KeepAlive(b)
}

func heapBytes() int64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}
