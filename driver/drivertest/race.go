package drivertest

import (
	"context"
	"math/rand/v2"
	"sync"
	"testing"

	"assay/history"
	"assay/workload"
	"assay/workload/bank"
)

// racer is a client of any workload.
type racer interface {
	connect(ctx context.Context) error
	close()
}

// racers returns n clients over two Stores, each with a session.
func racers[S workload.Store, C racer](o *hold[S], n int, client func(store S, number int) C) []C {
	o.t.Helper()
	stores := []S{o.store, o.open()}
	clients := make([]C, n)
	for i := range clients {
		clients[i] = client(stores[i%len(stores)], i)
		if err := clients[i].connect(o.ctx); err != nil {
			o.t.Fatalf("Session: %v", err)
		}
	}
	return clients
}

// together runs the same for all clients at once and closes their sessions.
func together[C racer](clients []C, run func(c C)) {
	start := make(chan struct{})
	var all sync.WaitGroup
	for _, c := range clients {
		all.Go(func() {
			<-start
			run(c)
			c.close()
		})
	}
	close(start)
	all.Wait()
}

func (p *place) racers(n int) []*client {
	p.t.Helper()
	return racers(p.hold, n, p.client)
}

// testRace has clients fight for four accounts.
func testRace(t *testing.T, h Bank, n int) {
	p := loadedPlace(t, h, 500, 500, 500, 500)
	const each = 25
	together(p.racers(n), func(c *client) {
		for range each {
			source := rand.Int64N(4)
			tr := c.next(1+source, 1+(source+1+rand.Int64N(3))%4, 1+rand.Int64N(200))
			if r := c.insist(p.ctx, tr); r.Outcome != history.Committed && r.Outcome != history.Rejected {
				t.Errorf("transfer %+v: %v (%s: %v) though nothing was disturbed", tr, r.Outcome, r.Class, r.Err)
			}
		}
	})
	p.check()
	if p.ledger.Count(history.Committed) == 0 {
		t.Error("nothing was committed")
	}
}

// testRaceForLastFunds has more takers than there is money.
func testRaceForLastFunds(t *testing.T, h Bank) {
	const funds = 5
	p := loadedPlace(t, h, funds, 0, 0)
	together(p.racers(8), func(c *client) {
		for range 3 {
			c.insist(p.ctx, c.next(1, 2+int64(c.number%2), 1))
		}
	})
	p.check()
	if n, refused := p.ledger.Count(history.Committed), p.ledger.Count(history.Rejected); n != funds || refused != 8*3-funds {
		t.Errorf("%d committed and %d rejected, want %d and %d", n, refused, funds, 8*3-funds)
	}
}

// testRaceOfOneID has all clients send one transfer: one of them does it.
func testRaceOfOneID(t *testing.T, h Bank) {
	p := loadedPlace(t, h, 1000, 1000)
	clients := p.racers(8)
	for round := range uint64(5) {
		tr := bank.Transfer{ID: bank.TransferID(99, round), Source: 1, Destination: 2, Amount: 10}
		replies := make(chan bank.Reply, len(clients))
		together(clients, func(c *client) { replies <- c.duplicate(p.ctx, tr) })
		close(replies)
		committed := 0
		for r := range replies {
			switch {
			case r.Outcome == history.Committed:
				committed++
				p.ledger.Record(tr, r)
			case !r.Duplicate:
				t.Errorf("the same id from many: %v (%s: %v)", r.Outcome, r.Class, r.Err)
			}
		}
		if committed != 1 {
			t.Errorf("the same id was committed %d times", committed)
		}
	}
	p.check()
}

// testOppositeDirections takes the two accounts in both orders at once, which
// deadlocks whoever locks in the order of asking and does not look for it.
func testOppositeDirections(t *testing.T, h Bank) {
	p := loadedPlace(t, h, 1000, 1000)
	together(p.racers(8), func(c *client) {
		source := 1 + int64(c.number%2)
		for range 15 {
			tr := c.next(source, 3-source, 1)
			if r := c.insist(p.ctx, tr); r.Outcome != history.Committed {
				t.Errorf("transfer %+v: %v (%s: %v), want committed", tr, r.Outcome, r.Class, r.Err)
			}
		}
	})
	p.check()
}
