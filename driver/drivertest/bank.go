package drivertest

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"testing"

	"golang.org/x/sync/errgroup"

	"assay/history"
	"assay/workload"
	"assay/workload/bank"
)

// RunBank tests everything that bank.Store promises and that needs no network.
// Its subtests run one after the other on one schema.
func RunBank(t *testing.T, h Bank) {
	on := func(t *testing.T) *bankFixture { return newBank(t, h) }
	runLifecycle(t, h, on)
	operations(t, on, checked([]operation[*bankFixture]{
		{"LoadAtOnce", (*bankFixture).testLoadAtOnce},
		{"Read", (*bankFixture).testRead},
		{"Transfer", (*bankFixture).testTransfer},
		{"NoFunds", (*bankFixture).testNoFunds},
		{"ExactBalance", (*bankFixture).testExactBalance},
		{"MissingAccount", (*bankFixture).testMissingAccount},
		{"RepeatedID", (*bankFixture).testRepeatedID},
		{"SessionAfterErrors", (*bankFixture).testSessionAfterErrors},
		{"ContextOver", (*bankFixture).testContextOver},
		{"RaceOfTwo", func(f *bankFixture) { f.testRace(2) }},
		{"RaceOfEight", func(f *bankFixture) { f.testRace(8) }},
		{"RaceForLastFunds", (*bankFixture).testRaceForLastFunds},
		{"RaceOfOneID", (*bankFixture).testRaceOfOneID},
		{"OppositeDirections", (*bankFixture).testOppositeDirections},
	}))
	t.Run("InterruptedLoad", func(t *testing.T) { newBank(t, h).testInterruptedLoad() })
}

// bankFixture is a fixture with what was answered to transfers.
type bankFixture struct {
	*fixture[bank.Store]
	transfers *Transfers
}

func newBank(t *testing.T, h Bank) *bankFixture {
	t.Helper()
	return &bankFixture{fixture: newFixture(t, h, contents{workload: bank.Name, loads: 3, found: 3, tables: []int64{3, 4}})}
}

// begin makes a schema for so many accounts.
func (f *bankFixture) begin(accounts int) workload.Marker {
	f.t.Helper()
	marker := markerOf(bank.Name, "run-1", int64(accounts))
	f.must("Create", f.create(f.store, marker))
	return marker
}

// loaded makes accounts 1, 2, ... of these balances.
func (f *bankFixture) loaded(balances ...int64) {
	f.t.Helper()
	f.begin(len(balances))
	f.insert(f.store, accountsOf(balances...)...)
	f.finishLoad(f.store)
}

func (f *bankFixture) insert(store bank.Store, accounts ...bank.Account) {
	f.t.Helper()
	f.must("LoadAccounts", store.LoadAccounts(f.ctx, accounts))
	f.transfers.open(accounts)
}

func (f *bankFixture) finishLoad(store bank.Store) {
	f.t.Helper()
	f.must("FinishLoad", store.FinishLoad(f.ctx))
}

func (f *bankFixture) create(store bank.Store, marker workload.Marker) error {
	f.transfers = NewTransfers(nil)
	return store.Create(f.ctx, marker)
}

func (f *bankFixture) load(store bank.Store) {
	f.insert(store, accountsOf(1000, 1000, 1000)...)
	f.finishLoad(store)
}

func (f *bankFixture) write(store bank.Store, number int) {
	c := f.client(store, number)
	defer c.close()
	for range 4 {
		c.commit(f.ctx, c.next(1, 2, 7))
	}
}

func (f *bankFixture) read(store bank.Store) reading {
	return func(ctx context.Context, each func() error) error {
		return store.Read(ctx, func(bank.Account) error { return each() }, func(bank.Entry) error { return each() })
	}
}

func (f *bankFixture) check() { f.t.Helper(); f.snapshot() }

// snapshot ends the clients' sessions, and is check that returns what was read.
func (f *bankFixture) snapshot() Snapshot {
	f.t.Helper()
	f.closeClients()
	return f.transfers.Check(f.ctx, f.t, f.store)
}

func accountsOf(balances ...int64) []bank.Account {
	accounts := make([]bank.Account, len(balances))
	for i, balance := range balances {
		accounts[i] = bank.Account{ID: int64(i + 1), Balance: balance}
	}
	return accounts
}

// bankClient does transfers the way the bank's clients do; every reply is
// recorded. It is used by one goroutine and, but for commit, never ends the test
// by itself.
type bankClient struct {
	connection[bank.Session]
	transfers *Transfers
	number    int
	seq       uint64
}

func (f *bankFixture) client(store bank.Store, number int) *bankClient {
	return opened(f.fixture, &bankClient{connection: newConnection(f.fixture, store.Session), transfers: f.transfers, number: number})
}

// next returns a transfer with a fresh id.
func (c *bankClient) next(source, destination, amount int64) bank.Transfer {
	c.seq++
	return bank.Transfer{ID: bank.TransferID(c.number, c.seq), Source: source, Destination: destination, Amount: amount}
}

// do makes one attempt and records it.
func (c *bankClient) do(ctx context.Context, tr bank.Transfer) bank.Reply {
	r := c.unrecorded(ctx, tr)
	c.transfers.Record(tr, r)
	return r
}

// unrecorded makes one attempt without recording it.
func (c *bankClient) unrecorded(ctx context.Context, tr bank.Transfer) bank.Reply {
	var r bank.Reply
	what := fmt.Sprintf("transfer %+v", tr)
	r.Reply = c.attempt(ctx, what, func(session bank.Session) workload.Reply {
		r = session.Transfer(ctx, tr)
		return r.Reply
	})
	if r.Outcome == history.Committed && (r.Source.Version < 1 || r.Destination.Version < 1) {
		c.t.Errorf("%s: committed without the states it left: %+v", what, r)
	}
	return r
}

// insist repeats a transfer while it is Failed and returns the last reply.
func (c *bankClient) insist(ctx context.Context, tr bank.Transfer) (r bank.Reply) {
	retry(ctx, func() workload.Reply { r = c.do(ctx, tr); return r.Reply })
	return r
}

// repeated repeats an attempt, unrecorded, while it fails for reasons that pass.
func (c *bankClient) repeated(ctx context.Context, tr bank.Transfer) (r bank.Reply) {
	retry(ctx, func() workload.Reply { r = c.unrecorded(ctx, tr); return r.Reply })
	return r
}

// commit insists and ends the test unless the transfer is committed. It is for
// the test's own goroutine.
func (c *bankClient) commit(ctx context.Context, tr bank.Transfer) bank.Reply {
	c.t.Helper()
	r := c.insist(ctx, tr)
	if r.Outcome != history.Committed {
		c.t.Fatalf("transfer %+v: %v (%s: %v), want committed", tr, r.Outcome, r.Class, r.Err)
	}
	return r
}

// testLoadAtOnce loads more than one batch at the same time.
func (f *bankFixture) testLoadAtOnce() {
	const n = 2*bank.MaxBatch + 345
	accounts := bank.NewAccounts(n)
	marker := f.begin(n)
	loaders, ctx := errgroup.WithContext(f.ctx)
	for first := int64(1); first <= n; first += bank.MaxBatch {
		batch := accounts.Batch(first, make([]bank.Account, 0, bank.MaxBatch))
		f.transfers.open(batch)
		loaders.Go(func() error { return f.store.LoadAccounts(ctx, batch) })
	}
	f.must("LoadAccounts", loaders.Wait())
	f.mustFind(marker, n)
	f.finishLoad(f.store)
	marker.Loaded = true
	f.mustFind(marker, n)
}

func (f *bankFixture) testInterruptedLoad() {
	marker := f.begin(1000)
	f.insert(f.open(), accountsOf(1, 2, 3)...)
	f.mustFind(marker, 3)
}

// testRead loads in descending order and reads in ascending order.
func (f *bankFixture) testRead() {
	const n = 1500
	f.begin(n)
	all := bank.NewAccounts(n).Batch(1, make([]bank.Account, 0, n))
	for last := n; last > 0; last -= 500 {
		batch := slices.Clone(all[last-500 : last])
		slices.Reverse(batch)
		f.insert(f.store, batch...)
	}
	f.finishLoad(f.store)
	c := f.client(f.store, 0)
	for i := int64(0); i < 50; i++ {
		c.commit(f.ctx, c.next(n-i, 1+i, 1+i))
	}
	if read := f.snapshot(); len(read.Entries) != 50 {
		f.t.Errorf("%d rows read, want 50", len(read.Entries))
	}
}

// testUnreachable uses a port that nobody listens on.
func testUnreachable[S workload.Store](t *testing.T, h Harness[S]) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr := listener.Addr().String()
	listener.Close()
	mustNotReach(t, h, addr)
}

// mustNotReach wants opening or the first use to end by the driver's own time
// limit: the context given lasts far longer.
func mustNotReach[S workload.Store](t *testing.T, h Harness[S], addr string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	ended := make(chan error, 1)
	go func() {
		store, err := h.OpenVia(t, addr)
		if err == nil {
			_, err = store.Find(ctx)
			if closing := store.Close(); closing != nil {
				err = fmt.Errorf("close: %w, after %w", closing, err)
			}
		}
		ended <- err
	}()
	select {
	case err := <-ended:
		var unreachable *workload.UnreachableError
		if !errors.As(err, &unreachable) || ctx.Err() != nil {
			t.Errorf("first use: %v; want *workload.UnreachableError", err)
		}
	case <-ctx.Done():
		t.Error("opening and first use did not end by the driver's connect timeout")
	}
}
