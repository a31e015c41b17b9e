// Package drivertest is the conformance suite that every driver passes: what the
// workloads ask of a Store, tried on a real database, with cut, silent
// and restarted servers for those that have one.
//
// It must not know any driver: a driver's test hands it a harness.
package drivertest

import (
	"context"
	"testing"
	"time"

	"assay/workload"
	"assay/workload/bank"
)

// Bank is what a driver's test gives to have its bank.Store tried.
type Bank struct {
	// Open returns a Store on the place under test: the same server, schema
	// or file at every call. The place is empty at first, and the suite empties
	// it with Drop before and after each subtest. The suite closes the Store;
	// t is the subtest's, for whatever else is to be released. Open may be
	// called several times in one subtest.
	Open func(t *testing.T) bank.Store

	// MakeForeign puts something of another maker under the name that the
	// driver uses (a schema without the mark, holding some data), while the
	// place is empty. It registers its own removal with t.Cleanup. Nil leaves
	// the foreign subtest out.
	MakeForeign func(t *testing.T)
	// ForeignIntact fails the test unless what MakeForeign made is exactly as
	// it was.
	ForeignIntact func(t *testing.T)

	// Secret is the password that the harness connects with, empty if none. It
	// must turn up in nothing that a Store says.
	Secret string
}

// patience bounds what should be quick. It is long, because it is there to end
// a hanging test and not to measure.
const patience = 2 * time.Minute

// RunBank tries everything that bank.Store promises and that needs no network.
// Its subtests run one after the other on one place.
func RunBank(t *testing.T, h Bank) {
	subtests := []struct {
		name string
		run  func(*testing.T, Bank)
	}{
		{"Describe", func(t *testing.T, h Bank) { emptyPlace(t, h).describe() }},
		{"FindNothing", func(t *testing.T, h Bank) { emptyPlace(t, h).findNothing() }},
		{"CreateLoadFind", testCreateLoadFind},
		{"InterruptedLoad", testInterruptedLoad},
		{"CreateAgain", testCreateAgain},
		{"Drop", testDrop},
		{"Read", testRead},
		{"ReadCallbackErrors", testReadCallbackErrors},
		{"ReadNothing", testReadNothing},
		{"Size", testSize},
		{"Settle", testSettle},
		{"Transfer", testTransfer},
		{"NoFunds", testNoFunds},
		{"ExactBalance", testExactBalance},
		{"MissingAccount", testMissingAccount},
		{"RepeatedID", testRepeatedID},
		{"SessionAfterErrors", testSessionAfterErrors},
		{"ContextOverBefore", testContextOverBefore},
		{"ContextOverDuring", testContextOverDuring},
		{"RaceOfTwo", func(t *testing.T, h Bank) { testRace(t, h, 2) }},
		{"RaceOfEight", func(t *testing.T, h Bank) { testRace(t, h, 8) }},
		{"RaceForLastFunds", testRaceForLastFunds},
		{"RaceOfOneID", testRaceOfOneID},
		{"OppositeDirections", testOppositeDirections},
	}
	for _, s := range subtests {
		t.Run(s.name, func(t *testing.T) { s.run(t, h) })
	}
	runLease(t, func(t *testing.T) *hold[bank.Store] { return emptyPlace(t, h).hold },
		func(ctx context.Context, s bank.Store, run string) error { return s.Create(ctx, bankMark(run, 2)) })
	if h.MakeForeign != nil {
		t.Run("Foreign", func(t *testing.T) { testForeign(t, h) })
	}
}

// place is one subtest's hold on the place under test.
type place struct {
	*hold[bank.Store]
	ledger *Ledger
}

func emptyPlace(t *testing.T, h Bank) *place {
	t.Helper()
	return &place{hold: empty(t, harness[bank.Store]{h.Open, h.MakeForeign, h.ForeignIntact, h.Secret})}
}

// loadedPlace is an emptyPlace with accounts 1, 2, ... of these balances.
func loadedPlace(t *testing.T, h Bank, balances ...int64) *place {
	t.Helper()
	p := emptyPlace(t, h)
	p.load(p.store, balances...)
	return p
}

func (p *place) load(store bank.Store, balances ...int64) {
	p.t.Helper()
	accounts := accountsOf(balances...)
	p.ledger = NewLedger(accounts)
	if err := store.Create(p.ctx, bankMark("run-1", len(accounts))); err != nil {
		p.t.Fatalf("Create: %v", err)
	}
	if err := store.LoadAccounts(p.ctx, accounts); err != nil {
		p.t.Fatalf("LoadAccounts: %v", err)
	}
	if err := store.FinishLoad(p.ctx); err != nil {
		p.t.Fatalf("FinishLoad: %v", err)
	}
}

// check settles and compares what was answered with what is there.
func (p *place) check() Snapshot {
	p.t.Helper()
	return p.ledger.Check(p.ctx, p.t, p.store)
}

func bankMark(run string, rows int) workload.Marker { return markOf("bank", run, rows) }

// readBooks is a Store's Read, of accounts and rows alike.
func readBooks(store bank.Store) reading {
	return func(ctx context.Context, each func() error) error {
		return store.Read(ctx, func(bank.Account) error { return each() }, func(bank.Entry) error { return each() })
	}
}

func accountsOf(balances ...int64) []bank.Account {
	accounts := make([]bank.Account, len(balances))
	for i, balance := range balances {
		accounts[i] = bank.Account{ID: int64(i + 1), Balance: balance}
	}
	return accounts
}
