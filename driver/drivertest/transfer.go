package drivertest

import (
	"context"
	"math/rand/v2"
	"time"

	"assay/history"
	"assay/workload"
	"assay/workload/bank"
)

func (f *bankFixture) testTransfer() {
	f.loaded(1000, 1000, 1000)
	c := f.client(f.store, 0)
	steps := []struct {
		source, destination, amount int64
		wantSource, wantDestination bank.State
	}{
		{source: 1, destination: 2, amount: 100, wantSource: bank.State{Balance: 900, Version: 1}, wantDestination: bank.State{Balance: 1100, Version: 1}},
		{source: 2, destination: 1, amount: 50, wantSource: bank.State{Balance: 1050, Version: 2}, wantDestination: bank.State{Balance: 950, Version: 2}},
		{source: 3, destination: 1, amount: 1, wantSource: bank.State{Balance: 999, Version: 1}, wantDestination: bank.State{Balance: 951, Version: 3}},
		{source: 1, destination: 3, amount: 1, wantSource: bank.State{Balance: 950, Version: 4}, wantDestination: bank.State{Balance: 1000, Version: 2}},
	}
	var last bank.Transfer
	for i, s := range steps {
		last = c.next(s.source, s.destination, s.amount)
		r := c.commit(f.ctx, last)
		if r.Source != s.wantSource || r.Destination != s.wantDestination {
			f.t.Errorf("step %d: acknowledged %+v and %+v, want %+v and %+v", i, r.Source, r.Destination, s.wantSource, s.wantDestination)
		}
	}
	read := f.snapshot()
	want := bank.Entry{Transfer: last, SourceVersion: 4, DestinationVersion: 2}
	if e, _ := read.Entry(last.ID); e != want {
		f.t.Errorf("the last row is %+v, want %+v", e, want)
	}
	for id, want := range map[int64]bank.Account{1: {ID: 1, Balance: 950, Version: 4}, 2: {ID: 2, Balance: 1050, Version: 2}, 3: {ID: 3, Balance: 1000, Version: 2}} {
		if got := read.Account(id); got != want {
			f.t.Errorf("account %+v, want %+v", got, want)
		}
	}
}

// settleFor repeats a transfer while it fails for reasons that pass, as a
// database may refuse anything under its own load, and wants this end.
func (c *bankClient) settleFor(ctx context.Context, tr bank.Transfer, want history.Outcome, class string) {
	c.t.Helper()
	if r := c.insist(ctx, tr); r.Outcome != want || class != "" && r.Class != class || r.Duplicate {
		c.t.Errorf("transfer %+v: %v (%q: %v), want %v (%q)", tr, r.Outcome, r.Class, r.Err, want, class)
	}
}

func (f *bankFixture) testNoFunds() {
	f.loaded(100, 100, 0)
	c := f.client(f.store, 0)
	c.settleFor(f.ctx, c.next(1, 2, 101), history.Rejected, bank.ClassNoFunds)
	c.settleFor(f.ctx, c.next(3, 1, 1), history.Rejected, bank.ClassNoFunds)
	f.unchanged(100, 100, 0)
	// The id of a rejected transfer is free: it left nothing.
	again := c.next(3, 2, 40)
	c.settleFor(f.ctx, again, history.Rejected, bank.ClassNoFunds)
	c.commit(f.ctx, c.next(1, 3, 50))
	c.commit(f.ctx, again)
}

func (f *bankFixture) testExactBalance() {
	f.loaded(100, 0)
	c := f.client(f.store, 0)
	if r := c.commit(f.ctx, c.next(1, 2, 100)); r.Source.Balance != 0 || r.Destination.Balance != 100 {
		f.t.Errorf("all of the balance moved: %+v", r)
	}
	c.settleFor(f.ctx, c.next(1, 2, 1), history.Rejected, bank.ClassNoFunds)
}

func (f *bankFixture) testMissingAccount() {
	f.loaded(100, 100)
	c := f.client(f.store, 0)
	c.settleFor(f.ctx, c.next(1, 3, 10), history.Rejected, bank.ClassNoAccount)
	c.settleFor(f.ctx, c.next(3, 1, 10), history.Rejected, bank.ClassNoAccount)
	c.settleFor(f.ctx, c.next(8, 9, 10), history.Rejected, bank.ClassNoAccount)
	f.unchanged(100, 100)
	c.commit(f.ctx, c.next(1, 2, 10))
}

// unchanged wants the accounts as loaded and an empty journal.
func (f *bankFixture) unchanged(balances ...int64) {
	f.t.Helper()
	read := f.snapshot()
	if len(read.Entries) != 0 {
		f.t.Errorf("the journal has %d rows, want none", len(read.Entries))
	}
	for _, want := range accountsOf(balances...) {
		if got := read.Account(want.ID); got != want {
			f.t.Errorf("account %+v, want %+v", got, want)
		}
	}
}

func (f *bankFixture) testRepeatedID() {
	f.loaded(100, 100, 100)
	c := f.client(f.store, 0)
	first, second := c.next(1, 2, 60), c.next(2, 3, 1)
	c.commit(f.ctx, first) // leaves 40: a repetition would lack funds
	c.commit(f.ctx, second)
	repetitions := []bank.Transfer{
		first,
		second,
		{ID: first.ID, Source: 1, Destination: 2, Amount: 5},
		{ID: first.ID, Source: 3, Destination: 1, Amount: 60},
		{ID: second.ID, Source: 2, Destination: 1, Amount: 1_000_000},
	}
	others := []*bankClient{c, f.client(f.store, 1), f.client(f.open(), 2)}
	for _, other := range others {
		for _, tr := range repetitions {
			if r := other.repeated(f.ctx, tr); r.Outcome != history.Failed || !r.Duplicate || r.Class != workload.ClassDuplicate {
				f.t.Errorf("repetition %+v: %+v, want a duplicate", tr, r)
			}
		}
	}
}

func (f *bankFixture) testSessionAfterErrors() {
	f.loaded(1000, 1000)
	c := f.client(f.store, 0)
	good := c.next(1, 2, 1)
	c.commit(f.ctx, good)
	errors := map[string]func(){
		"no funds":        func() { c.do(f.ctx, c.next(1, 2, 5000)) },
		"missing account": func() { c.do(f.ctx, c.next(1, 9, 1)) },
		"missing source":  func() { c.do(f.ctx, c.next(9, 1, 1)) },
		"repeated id":     func() { c.do(f.ctx, good) },
		"context over": func() {
			c.do(ended(f.ctx), c.next(1, 2, 1))
		},
	}
	for name, provoke := range errors {
		for range 2 {
			provoke()
			if r := c.insist(f.ctx, c.next(1, 2, 1)); r.Outcome != history.Committed {
				f.t.Errorf("after %s: %v (%s: %v), want committed", name, r.Outcome, r.Class, r.Err)
			}
		}
	}
}

// testContextOver has contexts that are over before a transfer, and that end at
// all moments of it.
func (f *bankFixture) testContextOver() {
	f.loaded(100_000, 100_000)
	c := f.client(f.store, 0)
	c.commit(f.ctx, c.next(1, 2, 1))
	start := time.Now()
	c.commit(f.ctx, c.next(1, 2, 1))
	ended := func(ctx context.Context) {
		c.mustConnect(f.ctx)
		if r := c.do(ctx, c.next(1, 2, 1)); r.Outcome == history.Rejected || r.Duplicate {
			f.t.Errorf("a context that ended: %+v, want failed or unknown", r)
		}
	}
	contextsOver(f.ctx, 60, time.Since(start), ended, ended)
	// What was abandoned must not stand in the way for ever.
	c.commit(f.ctx, c.next(1, 2, 1))
}

// testRace has clients fight for four accounts.
func (f *bankFixture) testRace(n int) {
	f.loaded(500, 500, 500, 500)
	const each = 25
	together(connected(f.fixture, n, f.client), func(c *bankClient) {
		for range each {
			source := rand.Int64N(4)
			tr := c.next(1+source, 1+(source+1+rand.Int64N(3))%4, 1+rand.Int64N(200))
			if r := c.insist(f.ctx, tr); r.Outcome != history.Committed && r.Outcome != history.Rejected {
				f.t.Errorf("transfer %+v: %v (%s: %v) though nothing was disturbed", tr, r.Outcome, r.Class, r.Err)
			}
		}
	})
	f.check()
	if f.transfers.Count(history.Committed) == 0 {
		f.t.Error("nothing was committed")
	}
}

// testRaceForLastFunds has more takers than there is money.
func (f *bankFixture) testRaceForLastFunds() {
	const funds = 5
	f.loaded(funds, 0, 0)
	together(connected(f.fixture, 8, f.client), func(c *bankClient) {
		for range 3 {
			c.insist(f.ctx, c.next(1, 2+int64(c.number%2), 1))
		}
	})
	f.check()
	if n, refused := f.transfers.Count(history.Committed), f.transfers.Count(history.Rejected); n != funds || refused != 8*3-funds {
		f.t.Errorf("%d committed and %d rejected, want %d and %d", n, refused, funds, 8*3-funds)
	}
}

// testRaceOfOneID has all clients send one transfer: one of them does it.
func (f *bankFixture) testRaceOfOneID() {
	f.loaded(1000, 1000)
	clients := connected(f.fixture, 8, f.client)
	for round := range uint64(5) {
		tr := bank.Transfer{ID: bank.TransferID(99, round), Source: 1, Destination: 2, Amount: 10}
		replies := make(chan bank.Reply, len(clients))
		together(clients, func(c *bankClient) { replies <- c.repeated(f.ctx, tr) })
		close(replies)
		committed := 0
		for r := range replies {
			switch {
			case r.Outcome == history.Committed:
				committed++
				f.transfers.Record(tr, r)
			case !r.Duplicate:
				f.t.Errorf("the same id from many: %v (%s: %v)", r.Outcome, r.Class, r.Err)
			}
		}
		if committed != 1 {
			f.t.Errorf("the same id was committed %d times", committed)
		}
	}
}

// testOppositeDirections takes the two accounts in both orders at once, which
// deadlocks whoever locks in the order of asking and does not look for it.
func (f *bankFixture) testOppositeDirections() {
	f.loaded(1000, 1000)
	together(connected(f.fixture, 8, f.client), func(c *bankClient) {
		source := 1 + int64(c.number%2)
		for range 15 {
			tr := c.next(source, 3-source, 1)
			if r := c.insist(f.ctx, tr); r.Outcome != history.Committed {
				f.t.Errorf("transfer %+v: %v (%s: %v), want committed", tr, r.Outcome, r.Class, r.Err)
			}
		}
	})
}
