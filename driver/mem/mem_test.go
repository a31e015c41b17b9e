package mem

import (
	"context"
	"errors"
	"reflect"
	"runtime"
	"strings"
	"testing"
	"time"

	"assay/driver/drivertest"
	"assay/history"
	"assay/workload"
	"assay/workload/bank"
)

func mustNew(t *testing.T, o Options) *Database {
	t.Helper()
	d, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func TestBank(t *testing.T) {
	d := mustNew(t, Options{})
	setForeign := func(foreign bool) {
		d.mu.Lock()
		d.foreign = foreign
		d.mu.Unlock()
	}
	drivertest.RunBank(t, drivertest.Bank{
		Open: func(*testing.T) bank.Store { return d.Bank() },
		MakeForeign: func(t *testing.T) {
			setForeign(true)
			t.Cleanup(func() { setForeign(false) })
		},
		ForeignIntact: func(t *testing.T) {
			if d.mark != nil || d.bank.rows != 0 || d.bank.loaded != 0 {
				t.Error("what is foreign was changed")
			}
		},
	})
}

// TestBankWithLatency has contexts end while a transfer waits.
func TestBankWithLatency(t *testing.T) {
	d := mustNew(t, Options{Latency: 200 * time.Microsecond})
	drivertest.RunBank(t, drivertest.Bank{Open: func(*testing.T) bank.Store { return d.Bank() }})
}

func TestEachOpenIsItsOwnDatabase(t *testing.T) {
	target := workload.Target{Address: "mem://"}
	a, errA := OpenBank(t.Context(), target)
	b, errB := OpenBank(t.Context(), target)
	if err := errors.Join(errA, errB, a.Create(t.Context(), workload.Marker{Run: "a"})); err != nil {
		t.Fatal(err)
	}
	if remains, err := b.Find(t.Context()); remains != nil || err != nil {
		t.Errorf("the second database holds %+v, %v", remains, err)
	}
}

func TestAddress(t *testing.T) {
	good := map[string]Options{
		"mem:":                    {},
		"mem://":                  {},
		"mem:///":                 {},
		"mem://?bug=lost-ack:0.5": {Inject: []Injection{{"lost-ack", 0.5}}},
		"mem://?bug=lost-ack:0":   {Inject: []Injection{{"lost-ack", 0}}},
		"mem://?timeout=0.25":     {Timeout: 0.25},
		"mem://?latency=2ms":      {Latency: 2 * time.Millisecond},
		"mem://?bug=extra-row:1,torn-transfer:0.1&bug=late-apply:1e-3": {Inject: []Injection{
			{"extra-row", 1}, {"torn-transfer", 0.1}, {"late-apply", 0.001}}},
	}
	for address, want := range good {
		want.Seed = 9
		got, err := parse(workload.Target{Address: address, Seed: 9}, Bugs())
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %+v, %v", address, got, err)
		}
	}
	bad := map[string]string{
		"memory://":                        "address",
		"mem://host":                       "address",
		"mem://?bug=":                      "bug",
		"mem://?bug=lost-ack":              "bug",
		"mem://?bug=lost-ack:":             "bug",
		"mem://?bug=lost-ack:1.1":          "bug",
		"mem://?bug=lost-ack:-1":           "bug",
		"mem://?bug=lost-ack:NaN":          "bug",
		"mem://?bug=lost-ack:1,lost-ack:1": "bug",
		"mem://?bug=no-such:1":             "bug",
		"mem://?timeout=2":                 "timeout",
		"mem://?timeout=x":                 "timeout",
		"mem://?timeout=0&timeout=1":       "parameter",
		"mem://?latency=-1s":               "latency",
		"mem://?latency=5":                 "latency",
		"mem://?speed=1":                   "parameter",
		"mem://?bug=%zz":                   "parameters",
	}
	for address, option := range bad {
		_, err := OpenBank(t.Context(), workload.Target{Address: address})
		var refused *workload.OptionError
		if !errors.As(err, &refused) || refused.Option != option {
			t.Errorf("%s: %v, want a refusal of %q", address, err, option)
			continue
		}
		if strings.Contains(address, "no-such") && !strings.Contains(refused.Want, "partial-rollback, ") {
			t.Errorf("%s: %v does not list the bugs", address, err)
		}
	}
	var refused *workload.OptionError
	if _, err := OpenBank(t.Context(), workload.Target{Address: "mem://", Isolation: "chaos"}); !errors.As(err, &refused) {
		t.Errorf("isolation chaos: %v", err)
	}
}

// bench is a database with accounts 1 to n of 1000 each and one session.
type bench struct {
	*Database
	store   bank.Store
	session bank.Session
	ledger  *drivertest.Transfers
	seq     uint64
}

func newBench(t testing.TB, o Options, n int64) *bench {
	t.Helper()
	d, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	var accounts []bank.Account
	for id := int64(1); id <= n; id++ {
		accounts = append(accounts, bank.Account{ID: id, Balance: 1000})
	}
	b := &bench{Database: d, store: d.Bank(), ledger: drivertest.NewTransfers(accounts)}
	err = errors.Join(b.store.Create(t.Context(), workload.Marker{}), b.store.LoadAccounts(t.Context(), accounts), b.store.FinishLoad(t.Context()))
	if err != nil {
		t.Fatal(err)
	}
	if b.session, err = b.store.Session(t.Context()); err != nil {
		t.Fatal(err)
	}
	return b
}

// do sends a transfer under a fresh id and records it.
func (b *bench) do(source, destination, amount int64) bank.Reply {
	b.seq++
	tr := bank.Transfer{ID: bank.TransferID(0, b.seq), Source: source, Destination: destination, Amount: amount}
	r := b.session.Transfer(context.Background(), tr)
	b.ledger.Record(tr, r)
	return r
}

func (b *bench) read(t *testing.T) drivertest.Snapshot {
	t.Helper()
	read, err := drivertest.ReadAll(t.Context(), b.store)
	if err != nil {
		t.Fatal(err)
	}
	return read
}

// mixed does n transfers among the first four accounts, some beyond the funds.
func (b *bench) mixed(n int) []bank.Reply {
	var replies []bank.Reply
	for i := range int64(n) {
		replies = append(replies, b.do(1+i%4, 1+(i+1+i/4%3)%4, 1+i*37%1500))
	}
	return replies
}

// TestRepeatable: the same seed and the same calls give the same run, bugs and
// all; another seed gives another.
func TestRepeatable(t *testing.T) {
	o := Options{Seed: 5, Timeout: 0.1}
	for _, bug := range Bugs() {
		o.Inject = append(o.Inject, Injection{bug.Name, 0.05})
	}
	run := func(seed uint64) ([]bank.Reply, drivertest.Snapshot) {
		o.Seed = seed
		b := newBench(t, o, 4)
		return b.mixed(500), b.read(t)
	}
	replies, state := run(5)
	again, stateAgain := run(5)
	if !reflect.DeepEqual(replies, again) || !reflect.DeepEqual(state, stateAgain) {
		t.Error("the same seed gave another run")
	}
	if other, _ := run(6); reflect.DeepEqual(replies, other) {
		t.Error("another seed gave the same run")
	}
}

func TestTimeoutIsHonest(t *testing.T) {
	b := newBench(t, Options{Seed: 1, Timeout: 1}, 4)
	for i, r := range b.mixed(400) {
		if r.Outcome != history.Unknown || r.Class != workload.ClassTimeout {
			t.Fatalf("transfer %d: %+v, want unknown", i, r)
		}
	}
	read := b.ledger.Check(t.Context(), t, b.store)
	if n := len(read.Entries); n < 50 || n > 300 {
		t.Errorf("%d of 400 were applied, want about half of those with funds", n)
	}
}

func TestLatencyHeedsContext(t *testing.T) {
	b := newBench(t, Options{Latency: time.Hour}, 2)
	ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	tr := bank.Transfer{ID: 1, Source: 1, Destination: 2, Amount: 1}
	r := b.session.Transfer(ctx, tr)
	b.ledger.Record(tr, r)
	if r.Outcome != history.Failed || r.Class != workload.ClassTimeout || !errors.Is(r.Err, context.DeadlineExceeded) {
		t.Errorf("%+v, want failed by timeout", r)
	}
	b.ledger.Check(t.Context(), t, b.store)
}

func TestLoadRefusesImpossibleAccounts(t *testing.T) {
	b := newBench(t, Options{}, 2)
	for _, id := range []int64{-1, 0, 1, bank.MaxAccounts + 1} {
		if err := b.store.LoadAccounts(t.Context(), []bank.Account{{ID: id}}); err == nil {
			t.Errorf("account %d was loaded", id)
		}
	}
}

// TestMemoryPerTransfer: ten million transfers must fit well under a GiB.
func TestMemoryPerTransfer(t *testing.T) {
	b := newBench(t, Options{}, 2)
	const n = 400_000
	before := heap()
	for seq := range uint64(n) {
		tr := bank.Transfer{ID: bank.TransferID(int(seq%8), seq/8), Source: 1 + int64(seq%2), Destination: 2 - int64(seq%2), Amount: 1}
		if r := b.session.Transfer(t.Context(), tr); r.Outcome != history.Committed {
			t.Fatalf("%+v", r)
		}
	}
	if each := (heap() - before) / n; each > 80 {
		t.Errorf("%d bytes a transfer on both members, want at most 80", each)
	}
	runtime.KeepAlive(b)
}

func heap() int64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

func BenchmarkTransfer(b *testing.B) {
	x := newBench(b, Options{}, 10_000)
	ctx := b.Context()
	b.ReportAllocs()
	var seq int64
	for b.Loop() {
		seq++
		tr := bank.Transfer{ID: seq, Source: 1 + seq*7919%10_000, Destination: 1 + (seq*7919+5)%10_000, Amount: 1}
		x.session.Transfer(ctx, tr)
	}
}
