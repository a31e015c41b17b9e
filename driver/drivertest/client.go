package drivertest

import (
	"context"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"assay/history"
	"assay/workload/bank"
)

// client does transfers the way the bank's clients do: it replaces its session
// when it must, and every reply goes into the ledger. It is used by one
// goroutine and never ends the test by itself.
type client struct {
	t       *testing.T
	store   bank.Store
	ledger  *Ledger
	number  int
	secret  string
	seq     uint64
	session bank.Session
}

func (p *place) client(store bank.Store, number int) *client {
	c := &client{t: p.t, store: store, ledger: p.ledger, number: number, secret: p.secret}
	p.t.Cleanup(c.close)
	return c
}

func (c *client) close() {
	if c.session != nil {
		c.session.Close()
		c.session = nil
	}
}

// next returns a transfer with a fresh id.
func (c *client) next(source, destination, amount int64) bank.Transfer {
	c.seq++
	return bank.Transfer{ID: bank.TransferID(c.number, c.seq), Source: source, Destination: destination, Amount: amount}
}

// connect makes sure that there is a session.
func (c *client) connect(ctx context.Context) error {
	if c.session != nil {
		return nil
	}
	session, err := c.store.Session(ctx)
	if err != nil {
		return err
	}
	c.session = session
	return nil
}

// do makes one attempt and records it.
func (c *client) do(ctx context.Context, tr bank.Transfer) bank.Reply {
	r := c.attempt(ctx, tr)
	c.ledger.Record(tr, r)
	return r
}

// attempt makes one attempt without recording it.
func (c *client) attempt(ctx context.Context, tr bank.Transfer) bank.Reply {
	if err := c.connect(ctx); err != nil {
		c.inspect(tr, bank.Reply{Outcome: history.Failed, Class: bank.ClassConnect, Err: err})
		return bank.Reply{Outcome: history.Failed, Class: bank.ClassConnect, Err: err, Broken: true}
	}
	r := c.session.Transfer(ctx, tr)
	c.inspect(tr, r)
	if r.Broken || r.Outcome == history.Unknown {
		c.close()
	}
	return r
}

// inspect fails the test for a reply that contradicts itself.
func (c *client) inspect(tr bank.Transfer, r bank.Reply) {
	switch {
	case !r.Outcome.Valid():
		c.t.Errorf("transfer %+v: %v", tr, r.Outcome)
	case r.Outcome == history.Committed && (r.Source.Version < 1 || r.Destination.Version < 1):
		c.t.Errorf("transfer %+v: committed without the states it left: %+v", tr, r)
	case r.Outcome == history.Committed && (r.Class != "" || r.Err != nil):
		c.t.Errorf("transfer %+v: committed with an error: %q %v", tr, r.Class, r.Err)
	case r.Outcome != history.Committed && r.Class == "":
		c.t.Errorf("transfer %+v: %v without a class: %v", tr, r.Outcome, r.Err)
	case r.Duplicate && r.Outcome != history.Failed:
		c.t.Errorf("transfer %+v: a duplicate answered as %v", tr, r.Outcome)
	case r.Broken && r.Outcome == history.Committed:
		// Legal: the commit was acknowledged and the connection is gone.
	}
	if c.secret != "" && (strings.Contains(r.Class, c.secret) || r.Err != nil && strings.Contains(r.Err.Error(), c.secret)) {
		c.t.Errorf("transfer %+v: the reply tells the password", tr)
	}
}

// tries bounds how often a transfer is repeated after Failed. Databases that
// refuse conflicts instead of waiting need many when eight clients race.
const tries = 300

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

func pause(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	}
}
