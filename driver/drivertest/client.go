package drivertest

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"assay/history"
	"assay/workload"
	"assay/workload/bank"
)

// client does transfers the way the bank's clients do: it replaces its session
// when it must, and every reply goes into the ledger. It is used by one
// goroutine and never ends the test by itself.
type client struct {
	line[bank.Session]
	t      *testing.T
	ledger *Ledger
	number int
	secret string
	seq    uint64
}

func (p *place) client(store bank.Store, number int) *client {
	c := &client{line: line[bank.Session]{dial: store.Session}, t: p.t, ledger: p.ledger, number: number, secret: p.harness.secret}
	p.t.Cleanup(c.close)
	return c
}

// next returns a transfer with a fresh id.
func (c *client) next(source, destination, amount int64) bank.Transfer {
	c.seq++
	return bank.Transfer{ID: bank.TransferID(c.number, c.seq), Source: source, Destination: destination, Amount: amount}
}

// do makes one attempt and records it.
func (c *client) do(ctx context.Context, tr bank.Transfer) bank.Reply {
	r := c.attempt(ctx, tr)
	c.ledger.Record(tr, r)
	return r
}

// attempt makes one attempt without recording it.
func (c *client) attempt(ctx context.Context, tr bank.Transfer) bank.Reply {
	r := bank.Reply{Reply: workload.Reply{Outcome: history.Failed, Class: workload.ClassConnect, Broken: true}}
	if r.Err = c.connect(ctx); r.Err == nil {
		r = c.session.Transfer(ctx, tr)
	}
	a := answer{outcome: r.Outcome, class: r.Class, err: r.Err, broken: r.Broken}
	a.inspect(c.t, c.secret, func() string { return fmt.Sprintf("transfer %+v", tr) })
	switch {
	case r.Outcome == history.Committed && (r.Source.Version < 1 || r.Destination.Version < 1):
		c.t.Errorf("transfer %+v: committed without the states it left: %+v", tr, r)
	case r.Duplicate && r.Outcome != history.Failed:
		c.t.Errorf("transfer %+v: a duplicate answered as %v", tr, r.Outcome)
	}
	c.replace(a)
	return r
}

// insist repeats a transfer while it is Failed, up to tries times, and returns
// the last reply.
func (c *client) insist(ctx context.Context, tr bank.Transfer) bank.Reply {
	var r bank.Reply
	for try := range tries {
		r = c.do(ctx, tr)
		if r.Outcome != history.Failed || r.Duplicate || ctx.Err() != nil {
			return r
		}
		pause(ctx, time.Duration(rand.Int64N(int64(min(try+1, 20))*int64(time.Millisecond))))
	}
	return r
}

// commit insists and ends the test unless the transfer is committed. It is for
// the test's own goroutine.
func (c *client) commit(ctx context.Context, tr bank.Transfer) bank.Reply {
	c.t.Helper()
	r := c.insist(ctx, tr)
	if r.Outcome != history.Committed {
		c.t.Fatalf("transfer %+v: %v (%s: %v), want committed", tr, r.Outcome, r.Class, r.Err)
	}
	return r
}
