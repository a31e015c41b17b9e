package drivertest

import (
	"context"
	"math/rand/v2"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"

	"assay/history"
	"assay/workload/entity"
)

func (c *cabinet) mustFindNothing() {
	c.t.Helper()
	c.findNothing()
	c.readNothing(readEntities(c.store))
}

func (c *cabinet) testCreateFindDrop() {
	c.mustFindNothing()
	c.create(c.store, "run-1")
	c.mustFind(entityMark("run-1"), 0)
	x := c.filer(c.store, 1)
	gone := x.commit(c.ctx)
	x.commit(c.ctx)
	x.close()
	c.mustFind(entityMark("run-1"), 2)
	c.check()
	second := c.open()
	c.create(second, "run-2")
	c.mustFind(entityMark("run-2"), 0)
	x = c.filer(second, 2)
	if r := x.get(c.ctx, gone.ID); r.Outcome != history.Committed || r.Found {
		c.t.Errorf("an entity of the run before: %+v", r)
	}
	x.commitThis(c.ctx, gone) // the id is free again
	x.close()
	c.check()
	c.drop()
	c.mustFindNothing()
}

// strange are entities whose fields a careless driver would spoil.
func strange() []entity.Entity {
	of := func(n int, text string, age int) entity.Entity {
		key, _ := entity.Key(9, uint64(n))
		return entity.Entity{ID: entity.IDOf(7, key), Name: text, Age: age, Description: text, Address: text, Phone: text, Email: text}
	}
	return []entity.Entity{
		of(0, `quotes ' " and \ and $1 ? :x %s {}`, 0), of(1, "Žluťoučký 馬 🐎", entity.MaxAge),
		of(2, " spaces at the ends ", 1), of(3, "two\nlines\tand a tab", 2), of(4, "<b>&amp;</b>", 3),
		of(5, strings.Repeat("Ж", entity.MaxPhone/2), 4),
	}
}

// testPutGet has entities seen by the session that wrote them and by another
// Store's.
func (c *cabinet) testPutGet() {
	c.create(c.store, "run-1")
	x, y := c.filer(c.store, 1), c.filer(c.open(), 2)
	long := x.next()
	long.Description = strings.Repeat("d", entity.MaxDescription)
	long.Address = strings.Repeat("a", entity.MaxAddress)
	for _, e := range append(strange(), long) {
		if r := y.get(c.ctx, e.ID); r.Outcome != history.Committed || r.Found {
			c.t.Errorf("get %v before it was written: %+v, want committed and not found", e.ID, r)
		}
		x.commitThis(c.ctx, e)
		x.wantFound(c.ctx, e)
		y.wantFound(c.ctx, e)
	}
	if r := x.get(c.ctx, uuid.UUID{}); r.Outcome != history.Committed || r.Found {
		c.t.Errorf("get of the nil id: %+v, want committed and not found", r)
	}
	y.wantFound(c.ctx, x.commit(c.ctx))
	x.wantFound(c.ctx, y.commit(c.ctx))
	x.close()
	y.close()
	c.check()
}

// testDuplicate writes an id again: it is refused, and the entity is as it was,
// or it is replaced.
func (c *cabinet) testDuplicate() {
	c.create(c.store, "run-1")
	x, y := c.filer(c.store, 1), c.filer(c.open(), 2)
	e := x.commit(c.ctx)
	for _, other := range []*filer{x, y} {
		again := e
		again.Name += " again"
		if err := other.connect(c.ctx); err != nil {
			c.t.Fatalf("Session: %v", err)
		}
		r := other.session.Put(c.ctx, again)
		answerOfEntity(r).inspect(c.t, c.h.Secret, func() string { return "put again" })
		switch {
		case c.h.Replaces && (r.Outcome != history.Committed || r.Duplicate):
			c.t.Errorf("put again: %+v, want committed", r)
		case c.h.Replaces:
			e = again
			c.book.replaced(e)
		case r.Outcome != history.Failed || !r.Duplicate:
			c.t.Errorf("put again: %+v, want failed, a duplicate", r)
		}
		other.replace(answerOfEntity(r))
		x.wantFound(c.ctx, e)
		y.wantFound(c.ctx, other.commit(c.ctx)) // the session is as good as before
	}
	x.close()
	y.close()
	c.check()
}

// testRead reads more than one batch of any driver's, and stops early.
func (c *cabinet) testRead() {
	c.create(c.store, "run-1")
	x := c.filer(c.store, 1)
	for range 150 {
		x.commit(c.ctx)
	}
	x.close()
	c.check()
	c.stopReading(readEntities(c.store), 1, 2, 150)
	c.check()
}

func (c *cabinet) testSize() {
	c.create(c.store, "run-1")
	x := c.filer(c.store, 1)
	for range 10 {
		x.commit(c.ctx)
	}
	x.close()
	if size, rows := c.size(); rows != 10 {
		c.t.Errorf("Size: %+v, want 10 rows", size)
	}
}

// testContextOver has contexts that are over before a call, and that end at all
// moments of it.
func (c *cabinet) testContextOver() {
	c.create(c.store, "run-1")
	x := c.filer(c.store, 1)
	e := x.commit(c.ctx)
	start := time.Now()
	x.commit(c.ctx)
	usual := time.Since(start)
	over, cancel := context.WithCancel(c.ctx)
	cancel()
	for range 3 {
		if err := x.connect(c.ctx); err != nil {
			c.t.Fatalf("Session: %v", err)
		}
		if r := x.put(over, x.next()); r.Outcome == history.Committed {
			c.t.Errorf("put in a context that was over: %+v", r)
		}
		if err := x.connect(c.ctx); err != nil {
			c.t.Fatalf("Session: %v", err)
		}
		if r := x.get(over, e.ID); r.Outcome == history.Committed {
			c.t.Errorf("get in a context that was over: %+v", r)
		}
	}
	for range 40 {
		if err := x.connect(c.ctx); err != nil {
			c.t.Fatalf("Session: %v", err)
		}
		ctx, cancel := context.WithTimeout(c.ctx, rand.N(2*usual+time.Microsecond))
		if r := x.put(ctx, x.next()); r.Duplicate {
			c.t.Errorf("a context that ended: %+v", r)
		}
		cancel()
		ctx, cancel = context.WithTimeout(c.ctx, rand.N(2*usual+time.Microsecond))
		if r := x.get(ctx, e.ID); r.Outcome == history.Committed && r.Entity != e {
			c.t.Errorf("get %v: %+v, want %+v", e.ID, r, e)
		}
		cancel()
	}
	x.wantFound(c.ctx, x.commit(c.ctx)) // what was abandoned must not stand in the way for ever
	x.close()
	c.check()
}

// testRace has eight clients write, and read what they wrote.
func (c *cabinet) testRace() {
	c.create(c.store, "run-1")
	var all sync.WaitGroup
	for number := range 8 {
		x := c.filer(c.store, number)
		all.Go(func() {
			defer x.close()
			for range 20 {
				e := x.next()
				if x.put(c.ctx, e).Outcome == history.Committed {
					x.wantFound(c.ctx, e)
				}
			}
		})
	}
	all.Wait()
	c.check()
}

func (c *cabinet) testForeign() {
	c.foreign(func(s entity.Store) error { return s.Create(c.ctx, entityMark("run-1")) })
	c.foreignUnread(readEntities(c.open()))
}
