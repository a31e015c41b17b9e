package drivertest

import (
	"math/rand/v2"

	"assay/history"
	"assay/workload/bank"
)

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
