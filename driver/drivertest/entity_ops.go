package drivertest

import (
	"context"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"

	"assay/history"
	"assay/workload"
	"assay/workload/entity"
)

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
func (c *entityFixture) testPutGet() {
	x, y := c.client(c.store, 1), c.client(c.open(), 2)
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
func (c *entityFixture) testDuplicate() {
	x, y := c.client(c.store, 1), c.client(c.open(), 2)
	e := x.commit(c.ctx)
	for _, other := range []*entityClient{x, y} {
		again := e
		again.Name += " again"
		var r entity.Reply
		other.attempt(c.ctx, "put again", func(session entity.Session) workload.Reply {
			r = session.Put(c.ctx, again)
			return r.Reply
		})
		switch {
		case c.harness.Replaces && (r.Outcome != history.Committed || r.Duplicate):
			c.t.Errorf("put again: %+v, want committed", r)
		case c.harness.Replaces:
			e = again
			c.book.replaced(e)
		case r.Outcome != history.Failed || !r.Duplicate:
			c.t.Errorf("put again: %+v, want failed, a duplicate", r)
		}
		x.wantFound(c.ctx, e)
		y.wantFound(c.ctx, other.commit(c.ctx)) // the session is as good as before
	}
	x.close()
	y.close()
	c.check()
}

// testRead reads more than one batch of any driver's.
func (c *entityFixture) testRead() {
	x := c.client(c.store, 1)
	for range 150 {
		x.commit(c.ctx)
	}
	x.close()
	c.check()
}

// testContextOver has contexts that are over before a call, and that end at all
// moments of it.
func (c *entityFixture) testContextOver() {
	x := c.client(c.store, 1)
	e := x.commit(c.ctx)
	start := time.Now()
	x.commit(c.ctx)
	usual := time.Since(start)
	for _, attempt := range []func(ctx context.Context) entity.Reply{
		func(ctx context.Context) entity.Reply { return x.put(ctx, x.next()) },
		func(ctx context.Context) entity.Reply { return x.get(ctx, e.ID) },
	} {
		over := func(ctx context.Context) {
			x.mustConnect(c.ctx)
			if r := attempt(ctx); r.Outcome == history.Committed {
				c.t.Errorf("in a context that was over: %+v", r)
			}
		}
		ending := func(ctx context.Context) {
			x.mustConnect(c.ctx)
			if r := attempt(ctx); r.Duplicate || r.Found && r.Entity != e {
				c.t.Errorf("in a context that ended: %+v", r)
			}
		}
		contextsOver(c.ctx, 40, usual, over, ending)
	}
	x.wantFound(c.ctx, x.commit(c.ctx)) // what was abandoned must not stand in the way for ever
	x.close()
	c.check()
}

// testRace has eight clients write, and read what they wrote.
func (c *entityFixture) testRace() {
	var all sync.WaitGroup
	for number := range 8 {
		x := c.client(c.store, number)
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
