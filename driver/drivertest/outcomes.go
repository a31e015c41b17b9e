package drivertest

import (
	"context"
	"errors"
	"slices"
	"sync/atomic"
	"time"

	"assay/history"
	"assay/store"
)

// outcomes test what the end of an attempt proves.
func outcomes(schema store.Schema) []operation {
	all := []operation{
		{"Empty", func(*fixture) {}},
		{"ContextOver", (*fixture).testContextOver},
		{"Race", (*fixture).testRace},
		{"RaceForOneKey", (*fixture).testRaceForOneKey},
	}
	switch {
	case schema.Open:
		return append(all, openOutcomes()...)
	case schema.Workload == ConformanceRecords:
		return append(all, operation{"Get", (*fixture).testGet})
	}
	return append(all, []operation{
		{"Refused", (*fixture).testRefused},
		{"Inquiry", (*fixture).testInquiry},
		{"Want", (*fixture).testWant},
		{"LeftByError", (*fixture).testLeftByError},
		{"OwnWrites", (*fixture).testOwnWrites},
		{"WorkLearnsOfTheEnd", (*fixture).testWorkLearnsOfTheEnd},
		{"OppositeDirections", (*fixture).testOppositeDirections},
		{"LostUpdates", (*fixture).testLostUpdates},
		{"Waiting", (*fixture).testWaiting},
		{"Audit", (*fixture).testAudit},
	}...)
}

func (f *fixture) times(whole int) int {
	if f.suite.brief {
		return (whole + 2) / 3
	}
	return whole
}

// testContextOver ends contexts before a write and at all moments of it. The write must happen
// as a whole or not at all, and an abandoned write must block no other client.
func (f *fixture) testContextOver() {
	for number := range 2 {
		c := f.client(f.store, number)
		c.insist(f.ctx)
		start := time.Now()
		c.insist(f.ctx)
		contextsOver(f.ctx, f.times(25), time.Since(start), func(over context.Context) {
			c.mustConnect(f.ctx)
			if _, r := c.write(over); r.Outcome == history.Committed || r.Outcome == history.Rejected || r.Duplicate {
				f.t.Errorf("a context that was over: %+v, want failed or unknown", r)
			}
		}, func(ending context.Context) {
			c.mustConnect(f.ctx)
			if _, r := c.write(ending); r.Outcome == history.Rejected || r.Duplicate {
				f.t.Errorf("a context that ended: %+v", r)
			}
		})
		c.insist(f.ctx)
	}
}

func (f *fixture) testRace() {
	together(f.connected(8), func(c *client) {
		for range f.times(15) {
			if r := c.repeat(f.ctx, c.next()); r.Outcome != history.Committed {
				f.t.Errorf("%+v, want committed, as nothing was disturbed", r)
			}
		}
	})
}

// testRaceForOneKey has eight clients insert one row; one must succeed.
func (f *fixture) testRaceForOneKey() {
	clients := f.connected(8)
	for round := range f.times(3) {
		w := f.client(f.store, 100+round).next()
		var committed, duplicates atomic.Int64
		atOnce(clients, func(c *client) {
			switch r := c.repeat(f.ctx, w); {
			case r.Outcome == history.Committed:
				committed.Add(1)
			case keyThere(r):
				duplicates.Add(1)
			default:
				f.t.Errorf("the same row from many: %+v", r)
			}
		})
		want := int64(1)
		if f.lacks[store.UniqueKeys] != "" {
			want = 8
		}
		if c := committed.Load(); c != want || c+duplicates.Load() != 8 {
			f.t.Errorf("of eight inserts of one row %d were acknowledged and %d duplicates", c, duplicates.Load())
		}
	}
}

func (f *fixture) testGet() {
	c, other := f.client(f.store, 0), f.client(f.open(), 1)
	for range 10 {
		w := c.insist(f.ctx)
		for _, reader := range []*client{c, other} {
			got, r := reader.content(f.ctx, w.ID)
			// An address may ask for acknowledgements that precede visibility.
			for until := time.Now().Add(time.Minute); f.schema.Open && len(got) == 0 && time.Now().Before(until); got, r = reader.content(f.ctx, w.ID) {
				pause(f.ctx, time.Millisecond)
			}
			if r.Outcome != history.Committed || !slices.Equal(got, []string{w.content}) {
				f.t.Errorf("read %d: %q, %+v; want %q", w.ID, got, r, w.content)
			}
		}
	}
	if got, r := c.content(f.ctx, -1); r.Outcome != history.Committed || len(got) != 0 {
		f.t.Errorf("what is not there was read: %q, %+v", got, r)
	}
	for range 10 { // an answer that is there at once is not in time
		c.mustConnect(f.ctx)
		if _, r := c.content(ended(f.ctx), -1); r.Outcome != history.Failed {
			f.t.Fatalf("a read in a context that was over: %+v, want failed: it has no effect", r)
		}
	}
}

// testRefused has each kind of constraint refuse a batch and a transaction. Both must have no
// effect, and the session must stay usable.
func (f *fixture) testRefused() {
	for number := range 2 {
		c := f.client(f.store, number)
		done := c.insist(f.ctx)
		beyond, nobody, nowhere := c.next(), c.next(), c.next()
		beyond.Amount, nobody.Source, nowhere.Destination = 2*opening, accounts+5, accounts+6
		again := c.next()
		again.ID = done.ID
		for _, refused := range []struct {
			w  sentWrite
			by store.Violation
		}{{beyond, store.Floor}, {nobody, store.Absent}, {nowhere, store.Absent}} {
			if number == 1 && refused.by == store.Absent {
				continue // there is nothing in a transaction that refers to a row
			}
			if r := c.repeat(f.ctx, refused.w); r.Outcome != history.Failed || r.Violated != refused.by || r.Broken || r.Inserted().Duplicate {
				f.t.Errorf("%+v: %+v, want it refused (%d)", refused.w, r, refused.by)
			}
			c.insist(f.ctx)
		}
		session, err := c.Session(f.ctx)
		f.must("Session", err)
		r := retryReply(f.ctx, func() (r store.Reply) {
			if number == 0 {
				r, _ = c.batch(f.ctx, session, again)
			} else {
				r, _ = c.transaction(f.ctx, session, again)
			}
			return r
		})
		if r.Outcome != history.Failed || r.Violated != store.Unique || r.Broken {
			f.t.Errorf("the same id again: %+v, want a duplicate", r)
		}
		c.insist(f.ctx)
	}
}

func (f *fixture) testInquiry() {
	c := f.client(f.store, 0)
	c.mustConnect(f.ctx)
	session, err := c.Session(f.ctx)
	f.must("Session", err)
	balance := f.balanceOf(session, 2)
	for _, source := range []int64{2, accounts + 3} {
		var told []int64
		var moves [2]left
		r := retryReply(f.ctx, func() store.Reply {
			told = nil
			return session.Batch(f.ctx, &store.Batch{Calls: []store.Call{
				{Statement: moveStatement, Parameters: with(source, -2*opening), Row: moved(&moves[0])},
				{Statement: moveStatement, Parameters: with(3, 2*opening), Row: moved(&moves[1])},
				{Statement: enterStatement, Parameters: with(9, source, 3, 2*opening)},
			}, Inquiry: &store.Call{Statement: balanceStatement, Parameters: with(source), Row: func(row store.Row) error {
				var balance int64
				err := row.Scan(&balance)
				told = append(told, balance)
				return err
			}}})
		})
		violated, want := store.Floor, []int64{balance}
		if source > accounts {
			violated, want = store.Absent, nil
		}
		if r.Outcome != history.Failed || r.Violated != violated || !slices.Equal(told, want) {
			f.t.Errorf("from account %d: %+v, and the inquiry told %v; want %d and %v", source, r, told, violated, want)
		}
	}
}

// testWant wants a call to fail if it gives another count of rows than Want, and its batch not
// to be committed.
func (f *fixture) testWant() {
	set := updating("goods", "price", store.Where("shop", "item"), store.Set("price", store.Number(7)))
	one := store.Statement{Name: "one", Verb: store.Read, Table: "goods", Columns: []string{"price"}, Where: store.Where("shop", "item")}
	session := f.session(f.store, inserting("goods", 1), set, one)
	var price int64
	into := func(r store.Row) error { return r.Scan(&price) }
	r := session.Batch(f.ctx, &store.Batch{Calls: []store.Call{
		{Statement: 0, Parameters: with(1, 1, 5, "", false)},
		{Statement: 1, Parameters: with(1, 1), Row: into, Want: 1},
		{Statement: 1, Parameters: with(1, 2), Row: into, Want: 1},
	}})
	if r.Outcome == history.Committed || r.Class == "" || r.Err == nil {
		f.t.Errorf("one of two rows came: %+v", r)
	}
	r = session.Run(f.ctx, store.Call{Statement: 2, Parameters: with(9, 9), Row: into, Want: 1})
	if r.Outcome != history.Failed || r.Class == "" || r.Err == nil {
		f.t.Errorf("no row of one came: %+v", r)
	}
}

// testLeftByError: a transaction whose work returns an error has no effect, and the session
// stays usable after ErrRollback.
func (f *fixture) testLeftByError() {
	c := f.client(f.store, 1)
	session, err := c.Session(f.ctx)
	f.must("Session", err)
	ours := errors.New("the work has had enough")
	for _, leave := range []error{ours, store.ErrRollback} {
		for range 2 {
			r := retryReply(f.ctx, func() store.Reply {
				return session.Transaction(f.ctx, true, func(ctx context.Context, tx store.Transaction) error {
					var a left
					_, err := tx.Do(ctx, moveStatement, moved(&a), with(1, -5)...)
					if err == nil && a.version == 0 {
						f.t.Error("the update gave nothing")
					}
					return errors.Join(err, leave)
				})
			})
			if r.Outcome != history.Failed || !errors.Is(r.Err, leave) || r.Violated != store.NoViolation || leave == store.ErrRollback && r.Broken {
				f.t.Errorf("left with %q: %+v; want failed, with that error", leave, r)
			}
			if r.Broken {
				session = f.session(f.store, f.clientStatements()...)
			}
		}
	}
	if r := session.Transaction(f.ctx, true, func(context.Context, store.Transaction) error { return nil }); r.Outcome != history.Committed {
		f.t.Errorf("a transaction of nothing: %+v", r)
	}
}

func (f *fixture) balanceOf(session store.Session, account int64) (balance int64) {
	f.t.Helper()
	r := retryReply(f.ctx, func() store.Reply {
		return session.Run(f.ctx, store.Call{Statement: balanceStatement, Parameters: with(account), Row: func(r store.Row) error { return r.Scan(&balance) }})
	})
	f.must("read a balance", r.Err)
	return balance
}

// testOwnWrites: a transaction sees its own writes; a reading one sees committed ones only.
func (f *fixture) testOwnWrites() {
	session := f.session(f.store, f.clientStatements()...)
	before := f.balanceOf(session, 1)
	balance := func(ctx context.Context, tx store.Transaction) (b int64, err error) {
		_, err = tx.Do(ctx, balanceStatement, func(r store.Row) error { return r.Scan(&b) }, with(1)...)
		return b, err
	}
	var seen []int64
	r := retryReply(f.ctx, func() store.Reply {
		seen = nil
		return session.Transaction(f.ctx, true, func(ctx context.Context, tx store.Transaction) error {
			for _, by := range []int64{0, -7, 3, 4} {
				_, err := tx.Do(ctx, moveStatement, func(store.Row) error { return nil }, with(1, by)...)
				b, err2 := balance(ctx, tx)
				if err := errors.Join(err, err2); err != nil {
					return err
				}
				seen = append(seen, b-before)
			}
			return store.ErrRollback
		})
	})
	if want := []int64{0, -7, -4, 0}; !slices.Equal(seen, want) || r.Outcome != history.Failed {
		f.t.Errorf("a transaction saw %v of its own, want %v; %+v", seen, want, r)
	}
	var committed int64
	r = retryReply(f.ctx, func() store.Reply {
		return session.Transaction(f.ctx, false, func(ctx context.Context, tx store.Transaction) (err error) {
			committed, err = balance(ctx, tx)
			return err
		})
	})
	if r.Outcome != history.Committed || committed != before {
		f.t.Errorf("a transaction that only reads: %+v, it saw %d", r, committed)
	}
}

// testWorkLearnsOfTheEnd: the context of a transaction's work ends with the attempt.
func (f *fixture) testWorkLearnsOfTheEnd() {
	session := f.session(f.store, f.clientStatements()...)
	attempt, end := context.WithCancel(f.ctx)
	defer end()
	learned := make(chan error, 1)
	r := session.Transaction(attempt, true, func(ctx context.Context, tx store.Transaction) error {
		_, err := tx.Do(ctx, moveStatement, func(store.Row) error { return nil }, with(1, -5)...)
		end()
		select {
		case <-ctx.Done():
		case <-time.After(time.Minute):
			err = errors.New("the work was not told")
		}
		learned <- err
		return ctx.Err()
	})
	if r.Outcome == history.Committed || r.Class == "" {
		f.t.Errorf("a transaction whose attempt ended meanwhile: %+v", r)
	}
	f.wantNoError("the work", <-learned)
}
