package drivertest

import (
	"context"
	"math"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"assay/history"
	"assay/workload"
	"assay/workload/availability"
)

func (s *shelf) testCreateFind() {
	s.create(s.store, "run-1")
	s.mustFind(availabilityMark("run-1"), 0)
	x := s.hand(s.store, 1)
	x.commit(s.ctx)
	x.commit(s.ctx)
	x.close()
	s.mustFind(availabilityMark("run-1"), 2)
	s.check()
}

func (s *shelf) testCreateAgain() {
	s.create(s.store, "run-1")
	x := s.hand(s.store, 1)
	gone := x.commit(s.ctx)
	x.close()
	second := s.open()
	s.create(second, "run-2")
	s.mustFind(availabilityMark("run-2"), 0)
	s.check()
	x = s.hand(second, 2)
	if r := x.get(s.ctx, gone.Key); r.Found {
		s.t.Errorf("a row of the run before: %+v", r)
	}
	x.commitRow(s.ctx, gone) // the key is free again
	x.close()
	s.check()
}

func (s *shelf) testDrop() {
	s.create(s.store, "run-1")
	x := s.hand(s.store, 1)
	x.commit(s.ctx)
	x.close()
	s.drop()
	s.create(s.store, "run-2")
	s.check()
}

func (s *shelf) testReadNothing() { s.readNothing(readRows(s.store)) }

// testInsertGet has rows seen by the session that wrote them and by another
// Store's, with keys and values that no floating-point number holds.
func (s *shelf) testInsertGet() {
	s.create(s.store, "run-1")
	x, y := s.hand(s.store, 1), s.hand(s.open(), 2)
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
func (s *shelf) testDuplicate() {
	s.create(s.store, "run-1")
	x, y := s.hand(s.store, 1), s.hand(s.open(), 2)
	row := x.commit(s.ctx)
	for _, other := range []*hand{x, y} {
		again := availability.Row{Key: row.Key, Value: row.Value + 1}
		if err := other.connect(s.ctx); err != nil {
			s.t.Fatalf("Session: %v", err)
		}
		r := other.session.Insert(s.ctx, again)
		answerOfRow(r).inspect(s.t, s.h.Secret, func() string { return "insert again" })
		switch {
		case s.h.Replaces && (r.Outcome != history.Committed || r.Duplicate):
			s.t.Errorf("insert again: %+v, want committed", r)
		case s.h.Replaces:
			row = again
			s.book.replaced(row)
		case r.Outcome != history.Failed || !r.Duplicate || r.Class != workload.ClassDuplicate:
			s.t.Errorf("insert again: %+v, want failed, a duplicate", r)
		}
		other.replace(answerOfRow(r))
		x.wantFound(s.ctx, row)
		y.wantFound(s.ctx, other.commit(s.ctx)) // the session is as good as before
	}
	x.close()
	y.close()
	s.check()
}

// testRead reads more rows than one batch of any driver's.
func (s *shelf) testRead() {
	s.create(s.store, "run-1")
	x := s.hand(s.store, 1)
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

func (s *shelf) testReadCallbackErrors() {
	s.create(s.store, "run-1")
	x := s.hand(s.store, 1)
	for range 3 {
		x.commit(s.ctx)
	}
	x.close()
	s.stopReading(readRows(s.store), 1, 2, 3)
	s.check()
}

func (s *shelf) testSize() {
	s.create(s.store, "run-1")
	x := s.hand(s.store, 1)
	for range 7 {
		x.commit(s.ctx)
	}
	x.close()
	size, _ := s.size()
	if size.Bytes == 0 {
		s.t.Errorf("Size: %+v", size)
	}
	for table, rows := range size.Rows {
		if len(size.Rows) != 1 || rows != 7 {
			s.t.Errorf("Size: %d rows of %s, want 7 of the only table", rows, table)
		}
	}
}

func (s *shelf) testSettle() {
	s.create(s.store, "run-1")
	for number := range int64(3) {
		x := s.hand(s.store, number)
		x.commit(s.ctx)
		x.close()
		if err := s.store.Settle(s.ctx); err != nil {
			s.t.Fatalf("Settle when idle: %v", err)
		}
	}
	s.check()
}

func (s *shelf) testContextOverBefore() {
	s.create(s.store, "run-1")
	x := s.hand(s.store, 1)
	row := x.commit(s.ctx)
	over, cancel := context.WithCancel(s.ctx)
	cancel()
	for range 5 {
		if err := x.connect(s.ctx); err != nil {
			s.t.Fatalf("Session: %v", err)
		}
		if r := x.insert(over, x.next()); r.Outcome == history.Committed || r.Duplicate {
			s.t.Errorf("insert in a context that was over: %+v", r)
		}
		if err := x.connect(s.ctx); err != nil {
			s.t.Fatalf("Session: %v", err)
		}
		if r := x.get(over, row.Key); r.Outcome == history.Committed {
			s.t.Errorf("get in a context that was over: %+v", r)
		}
	}
	x.wantFound(s.ctx, x.commit(s.ctx))
	x.close()
	s.check()
}

// testContextOverDuring ends contexts at all moments of an insert and of a
// get.
func (s *shelf) testContextOverDuring() {
	s.create(s.store, "run-1")
	x := s.hand(s.store, 1)
	x.commit(s.ctx)
	start := time.Now()
	row := x.commit(s.ctx)
	usual := time.Since(start)
	for range 60 {
		if err := x.connect(s.ctx); err != nil {
			s.t.Fatalf("Session: %v", err)
		}
		ctx, cancel := context.WithTimeout(s.ctx, rand.N(2*usual+time.Microsecond))
		if r := x.insert(ctx, x.next()); r.Duplicate {
			s.t.Errorf("a context that ended: %+v", r)
		}
		cancel()
		ctx, cancel = context.WithTimeout(s.ctx, rand.N(2*usual+time.Microsecond))
		if r := x.get(ctx, row.Key); r.Outcome == history.Committed && r.Row != row {
			s.t.Errorf("get %d: %+v, want %+v", row.Key, r, row)
		}
		cancel()
	}
	// What was abandoned must not stand in the way for ever.
	x.wantFound(s.ctx, x.commit(s.ctx))
	x.close()
	s.check()
}

// testRace has eight clients insert and read what they inserted.
func (s *shelf) testRace() {
	s.create(s.store, "run-1")
	var all sync.WaitGroup
	for number := range int64(8) {
		x := s.hand(s.store, number)
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
func (s *shelf) testRaceForOneKey() {
	s.create(s.store, "run-1")
	for round := range int64(10) {
		row := availability.Row{Key: round, Value: -round}
		var committed, duplicates atomic.Int64
		var all sync.WaitGroup
		for number := range int64(8) {
			x := s.hand(s.store, number)
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
		if c, d := committed.Load(), duplicates.Load(); !s.h.Replaces && (c > 1 || c == 0 && d > 0) {
			s.t.Errorf("of eight inserts of one key %d were acknowledged and %d duplicates", c, d)
		}
	}
	s.check()
}

func (s *shelf) testForeign() {
	s.foreign(func(a availability.Store) error { return a.Create(s.ctx, availabilityMark("run-1")) })
	s.foreignUnread(readRows(s.open()))
}
