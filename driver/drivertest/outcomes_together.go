package drivertest

import (
	"context"
	"errors"
	"sync"
	"time"

	"assay/history"
	"assay/store"
	"assay/workload/isolation"
)

// testOppositeDirections changes two rows in both orders at once, which deadlocks in databases
// that lock rows in the order of the statements.
func (f *fixture) testOppositeDirections() {
	together(f.connected(4), func(c *client) {
		for range 4 {
			w := c.next()
			w.asAsked = true
			w.Source, w.Destination = 1+c.number/2%2, 2-c.number/2%2
			if r := c.repeat(f.ctx, w); r.Outcome != history.Committed {
				f.t.Errorf("transfer %+v: %+v, want committed", w.entry, r)
			}
		}
	})
}

// testLostUpdates has clients increment a value that they read. No update may be lost if the
// read locks, or at a level that promises it.
func (f *fixture) testLostUpdates() {
	may, err := isolation.AllowsLostUpdates(f.store.Promises().Model)
	f.must("the promise", err)
	price := selecting("goods", "price", store.Where("shop", "item")...)
	set := updating("goods", "", store.Where("shop", "item"), store.Set("price", store.Parameter(3)))
	insert := f.session(f.store, inserting("goods", 2))
	if r := insert.Run(f.ctx, store.Call{Statement: 0, Parameters: with(2, 1, 0, "", false, 2, 2, 0, "", false)}); r.Outcome != history.Committed {
		f.t.Fatalf("insert: %+v", r)
	}
	const clients = 4
	each := f.times(10)
	var sessions []store.Session
	for range clients {
		sessions = append(sessions, f.session(f.store, price, locking(price), set))
	}
	together(f.connected(clients), func(c *client) {
		session := sessions[int(c.number)-f.firstClient]
		for n := range 2 * each {
			item := 1 + n%2
			r := retryReply(f.ctx, func() store.Reply {
				return session.Transaction(f.ctx, true, func(ctx context.Context, tx store.Transaction) error {
					var before int64
					_, err := tx.Do(ctx, item-1, func(r store.Row) error { return r.Scan(&before) }, with(2, item)...)
					if err == nil {
						_, err = tx.Do(ctx, 2, nil, with(2, item, before+1)...)
					}
					return err
				})
			})
			if r.Outcome != history.Committed {
				f.t.Errorf("%+v, want committed", r)
			}
		}
	})
	reading := f.session(f.store, price)
	for item, exact := range map[int]bool{1: !may, 2: true} {
		var left int64
		reading.Run(f.ctx, store.Call{Statement: 0, Parameters: with(2, item), Row: func(r store.Row) error { return r.Scan(&left) }})
		if left > int64(clients*each) || exact && left != int64(clients*each) {
			f.t.Errorf("%d after %d times one more (of rows that are locked: %v)", left, clients*each, item == 2)
		}
	}
}

// testWaiting wants Waiting to report a session that waits for another's lock.
func (f *fixture) testWaiting() {
	holder, waiter := f.session(f.store, f.clientStatements()...), f.session(f.store, f.clientStatements()...)
	limited, cancel := context.WithTimeout(f.ctx, patience/2)
	defer cancel()
	add := func(session store.Session, then func()) store.Reply {
		return session.Transaction(limited, true, func(ctx context.Context, tx store.Transaction) error {
			_, err := tx.Do(ctx, moveStatement, func(store.Row) error { return nil }, with(1, 0)...)
			if err == nil && then != nil {
				then()
			}
			return errors.Join(err, store.ErrRollback)
		})
	}
	var waited chan store.Reply
	defer func() { <-waited }()
	add(holder, func() {
		waited = make(chan store.Reply, 1)
		go func() { waited <- add(waiter, nil) }()
		for limited.Err() == nil {
			waiting, known, err := waiter.Waiting(limited)
			if err != nil {
				f.t.Errorf("Waiting: %v", err)
			}
			if waiting || !known || err != nil {
				break
			}
			select {
			case r := <-waited: // it was refused and did not wait
				waited <- r
				return
			case <-time.After(5 * time.Millisecond):
			}
		}
		if limited.Err() != nil {
			f.t.Error("a session neither waits nor ends that changes what another has changed")
		}
	})
}

// testAudit audits while clients write. The audit must show a state between two commits, where
// the entries explain every balance.
func (f *fixture) testAudit() {
	if !f.has(f.t, store.Snapshots) {
		return
	}
	ctx, stop := context.WithCancel(f.ctx)
	var movers sync.WaitGroup
	for _, c := range f.connected(3) {
		movers.Go(func() {
			defer c.Close()
			for ctx.Err() == nil {
				c.write(f.ctx)
			}
		})
	}
	// A locking reader may find no gap between writers on a busy machine.
	const mostRefused = 5
	seen, refused := 0, 0
	for n := 0; (n < f.times(25) || seen < 5) && f.ctx.Err() == nil && !f.t.Failed(); n++ {
		s, err := f.readAll(f.ctx, f.store.Audit, func() error { return nil })
		if err != nil && refused < mostRefused && f.ctx.Err() == nil {
			refused++
			continue
		}
		if err != nil {
			f.t.Errorf("Audit: %v", err)
			break
		}
		between := newLedger()
		between.holds(accounts)
		for _, e := range s.entries {
			w := sentWrite{entry: e, outcome: history.Unknown}
			w.SourceVersion, w.DestinationVersion = 0, 0
			between.record(w)
		}
		if problems := between.problems(s); len(problems) > 0 {
			f.t.Errorf("a half state was seen: %v", problems)
		}
		seen = len(s.entries)
	}
	stop()
	movers.Wait()
}
