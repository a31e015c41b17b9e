package drivertest

import (
	"context"
	"math"
	"sync"
	"sync/atomic"
	"time"

	"assay/history"
	"assay/workload"
	"assay/workload/availability"
)

// testInsertGet has rows seen by the session that wrote them and by another
// Store's, with keys and values that no floating-point number holds.
func (s *availabilityFixture) testInsertGet() {
	x, y := s.client(s.store, 1), s.client(s.open(), 2)
	for _, row := range []availability.Row{
		{Key: 0, Value: 0}, {Key: 1, Value: -1}, {Key: 1<<53 + 1, Value: 1<<53 + 1},
		{Key: math.MaxInt64, Value: math.MinInt64}, {Key: 7, Value: math.MaxInt64},
	} {
		if r := y.get(s.ctx, row.Key); r.Outcome != history.Committed || r.Found {
			s.t.Errorf("get %d before it was inserted: %+v, want committed and not found", row.Key, r)
		}
		x.commitRow(s.ctx, row)
		x.wantFound(s.ctx, row)
		y.wantFound(s.ctx, row)
	}
	if r := x.get(s.ctx, -1); r.Outcome != history.Committed || r.Found || r.Row != (availability.Row{}) {
		s.t.Errorf("get of a key that cannot exist: %+v, want committed and not found", r)
	}
	y.wantFound(s.ctx, x.commit(s.ctx))
	x.wantFound(s.ctx, y.commit(s.ctx))
	x.close()
	y.close()
	s.check()
}

// testDuplicate inserts a key again: it is refused, and the row is as it was,
// or it replaces the row.
func (s *availabilityFixture) testDuplicate() {
	x, y := s.client(s.store, 1), s.client(s.open(), 2)
	row := x.commit(s.ctx)
	for _, other := range []*availabilityClient{x, y} {
		again := availability.Row{Key: row.Key, Value: row.Value + 1}
		var r availability.Reply
		other.attempt(s.ctx, "insert again", func(session availability.Session) workload.Reply {
			r = session.Insert(s.ctx, again)
			return r.Reply
		})
		switch {
		case s.harness.Replaces && (r.Outcome != history.Committed || r.Duplicate):
			s.t.Errorf("insert again: %+v, want committed", r)
		case s.harness.Replaces:
			row = again
			s.book.replaced(row)
		case r.Outcome != history.Failed || !r.Duplicate || r.Class != workload.ClassDuplicate:
			s.t.Errorf("insert again: %+v, want failed, a duplicate", r)
		}
		x.wantFound(s.ctx, row)
		y.wantFound(s.ctx, other.commit(s.ctx)) // the session is as good as before
	}
	x.close()
	y.close()
	s.check()
}

// testRead reads more rows than one batch of any driver's.
func (s *availabilityFixture) testRead() {
	x := s.client(s.store, 1)
	for range 300 {
		x.commit(s.ctx)
	}
	x.close()
	s.check()
	n := 0
	if err := s.store.Read(s.ctx, func(availability.Row) error { n++; return nil }); err != nil || n != 300 {
		s.t.Errorf("%d rows were read, %v; want 300", n, err)
	}
}

// testContextOver has contexts that are over before an insert and a get, and
// that end at all moments of them.
func (s *availabilityFixture) testContextOver() {
	x := s.client(s.store, 1)
	x.commit(s.ctx)
	start := time.Now()
	row := x.commit(s.ctx)
	usual := time.Since(start)
	for _, attempt := range []func(ctx context.Context) availability.Reply{
		func(ctx context.Context) availability.Reply { return x.insert(ctx, x.next()) },
		func(ctx context.Context) availability.Reply { return x.get(ctx, row.Key) },
	} {
		over := func(ctx context.Context) {
			x.mustConnect(s.ctx)
			if r := attempt(ctx); r.Outcome == history.Committed {
				s.t.Errorf("in a context that was over: %+v", r)
			}
		}
		ending := func(ctx context.Context) {
			x.mustConnect(s.ctx)
			if r := attempt(ctx); r.Duplicate || r.Found && r.Row != row {
				s.t.Errorf("in a context that ended: %+v", r)
			}
		}
		contextsOver(s.ctx, 60, usual, over, ending)
	}
	// What was abandoned must not stand in the way for ever.
	x.wantFound(s.ctx, x.commit(s.ctx))
	x.close()
	s.check()
}

// testRace has eight clients insert and read what they inserted.
func (s *availabilityFixture) testRace() {
	var all sync.WaitGroup
	for number := range int64(8) {
		x := s.client(s.store, number)
		all.Go(func() {
			defer x.close()
			for range 40 {
				row := x.next()
				if x.insert(s.ctx, row).Outcome == history.Committed {
					x.wantFound(s.ctx, row)
				}
			}
		})
	}
	all.Wait()
	s.check()
}

// testRaceForOneKey has eight clients insert the same row: one of them gets
// it.
func (s *availabilityFixture) testRaceForOneKey() {
	for round := range int64(10) {
		row := availability.Row{Key: round, Value: -round}
		var committed, duplicates atomic.Int64
		var all sync.WaitGroup
		for number := range int64(8) {
			x := s.client(s.store, number)
			all.Go(func() {
				defer x.close()
				switch r := x.insert(s.ctx, row); {
				case r.Outcome == history.Committed:
					committed.Add(1)
				case r.Duplicate:
					duplicates.Add(1)
				}
			})
		}
		all.Wait()
		if c, d := committed.Load(), duplicates.Load(); !s.harness.Replaces && (c > 1 || c == 0 && d > 0) {
			s.t.Errorf("of eight inserts of one key %d were acknowledged and %d duplicates", c, d)
		}
	}
	s.check()
}
