package postgres

import (
	"context"
	"net/url"
	"sync/atomic"
	"testing"
	"time"

	"assay/driver/drivertest"
	"assay/history"
	"assay/internal/expect"
	engine "assay/load"
	"assay/store"
	"assay/workload"
	"assay/workload/bank"
)

type teller struct {
	store.Connection[*bank.Session]
	number int
	// committed counts correct commits, ended all attempts.
	committed, ended atomic.Int64
}

func (c *teller) Attempt(ctx context.Context, seq uint64, _ int) engine.Answer {
	defer c.ended.Add(1)
	session, err := c.Session(ctx)
	if err != nil {
		unsent := store.Unsent(err)
		return unsent.Answer(bank.KindTransfer)
	}
	r := session.Transfer(ctx, bank.Transfer{ID: workload.OperationID(c.number, seq), Source: int64(1 + c.number%2), Destination: int64(3 + seq%2), Amount: 1})
	if r.Outcome == history.Committed || r.Outcome == history.Rejected {
		c.committed.Add(1)
	}
	c.After(r.Outcome, r.Broken)
	return r.Answer(bank.KindTransfer)
}

type nowhere struct{}

func (nowhere) Reserve(history.Reservation) error { return nil }
func (nowhere) Record(*history.Op) error          { return nil }
func (nowhere) Mark(history.Event) error          { return nil }

// TestClientsInALoop: one of sixteen clients loses its server in each way, and all wait for a lock
// at the end of the run.
func TestClientsInALoop(t *testing.T) {
	ctx := expect.Patiently(t)
	s := setScene(t, target(t))
	u, err := url.Parse(server.Address())
	expect.NoError(t, err)
	proxy := drivertest.NewProxy(t, u.Host)
	via := openBank(t, target(t, host(proxy.Addr())))
	defer via.Close()
	plan := engine.Plan{Clients: 16, Arrivals: engine.Closed, Duration: expect.Patience, Timeout: time.Second, Retry: engine.RetryNone, Sequential: true}
	var clients []engine.Client
	tellers := make([]*teller, plan.Clients)
	for i := range tellers {
		from := s.store
		if i == 0 {
			from = via
		}
		connection, err := store.Connect(ctx, from.Session)
		expect.NoError(t, err)
		tellers[i] = &teller{Connection: connection, number: i}
		clients = append(clients, tellers[i])
	}
	working, end := context.WithCancel(ctx)
	ended := make(chan engine.Stats, 1)
	go func() {
		start := time.Now()
		stats, err := engine.Run(working, plan, clients, nowhere{}, func() int64 { return int64(time.Since(start)) })
		if err != nil {
			t.Error(err)
		}
		ended <- stats
	}()
	goOn := func(of ...*teller) {
		t.Helper()
		for _, c := range of {
			for until := c.committed.Load() + 5; c.committed.Load() < until && ctx.Err() == nil; {
				time.Sleep(time.Millisecond)
			}
		}
	}
	for _, fault := range []func(){proxy.Freeze, proxy.Swallow, proxy.Cut} {
		goOn(tellers...)
		before := tellers[0].ended.Load()
		fault()
		goOn(tellers[1:]...)
		for tellers[0].ended.Load() < before+2 && ctx.Err() == nil { // what was under way, and one without a session
			time.Sleep(time.Millisecond)
		}
		goOn(tellers[1:]...)
		proxy.Pass()
	}
	goOn(tellers...)
	locker := admin(t)
	exec(t, locker, `BEGIN`)
	exec(t, locker, `LOCK TABLE assay_bank.account`)
	awaitWait(t, ctx, admin(t), bankSessionName, "Lock", "relation")
	end()
	stats := <-ended
	exec(t, locker, `ROLLBACK`)
	if stats.Hung != 0 || !stats.Cut || ctx.Err() != nil {
		t.Errorf("%+v, %v", stats, ctx.Err())
	}
}
