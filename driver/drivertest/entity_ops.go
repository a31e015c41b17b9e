package drivertest

import (
	"context"
	"encoding/json"
	"errors"
	"math/rand/v2"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"

	"assay/history"
	"assay/workload"
	"assay/workload/entity"
)

func (c *cabinet) testDescribe() {
	product, err := c.store.Describe(c.ctx)
	if err != nil {
		c.t.Fatalf("Describe: %v", err)
	}
	if product.Name == "" || product.Version == "" || len(product.Settings) == 0 {
		c.t.Errorf("Describe gave %+v; name, version and settings are due", product)
	}
	for _, set := range product.Settings {
		if set.Name == "" || set.Value == "" {
			c.t.Errorf("setting %+v is not complete", set)
		}
	}
	text, err := json.Marshal(product)
	if err != nil {
		c.t.Fatal(err)
	}
	if c.h.Secret != "" && strings.Contains(string(text), c.h.Secret) {
		c.t.Error("Describe tells the password")
	}
}

// mustFind looks with the cabinet's Store and with a new one.
func (c *cabinet) mustFind(mark workload.Mark, rows int64) {
	c.t.Helper()
	for _, store := range []entity.Store{c.store, c.open()} {
		remains, err := store.Find(c.ctx)
		if err != nil || remains == nil {
			c.t.Fatalf("Find: %+v, %v; want %+v", remains, err, mark)
		}
		got := remains.Mark
		if _, offset := got.Created.Zone(); offset != 0 || !got.Created.Equal(mark.Created) {
			c.t.Errorf("Find: created %v, want %v", got.Created, mark.Created)
		}
		got.Created = mark.Created
		if got != mark || remains.Rows != rows {
			c.t.Errorf("Find: %+v with %d rows, want %+v with %d", got, remains.Rows, mark, rows)
		}
	}
}

func (c *cabinet) mustFindNothing() {
	c.t.Helper()
	for range 2 { // looking must not make anything that the second look finds
		if remains, err := c.store.Find(c.ctx); remains != nil || err != nil {
			c.t.Fatalf("Find on nothing: %+v, %v; want nil", remains, err)
		}
	}
	calls := 0
	err := c.store.Read(c.ctx, func(entity.Entity) error { calls++; return nil })
	var missing *workload.NoSchemaError
	if !errors.As(err, &missing) || calls != 0 {
		c.t.Errorf("Read on nothing: %d calls, %v; want *workload.NoSchemaError", calls, err)
	}
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
	for range 2 {
		if err := c.store.Drop(c.ctx); err != nil {
			c.t.Fatalf("Drop: %v", err)
		}
	}
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
		other.inspect("put again", r)
		switch {
		case c.h.Replaces && (r.Outcome != history.Committed || r.Duplicate):
			c.t.Errorf("put again: %+v, want committed", r)
		case c.h.Replaces:
			e = again
			c.book.fates[e.ID] = entityFate{e, history.Committed}
		case r.Outcome != history.Failed || !r.Duplicate:
			c.t.Errorf("put again: %+v, want failed, a duplicate", r)
		}
		other.replace(r)
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
	sentinel := errors.New("the reader has had enough")
	for _, stop := range []int{1, 2, 150} {
		calls := 0
		err := c.store.Read(c.ctx, func(entity.Entity) error {
			if calls++; calls == stop {
				return sentinel
			}
			return nil
		})
		if !errors.Is(err, sentinel) || calls != stop {
			c.t.Errorf("the callback failed at call %d: Read made %d calls and returned %v", stop, calls, err)
		}
	}
	c.check()
}

func (c *cabinet) testSize() {
	c.create(c.store, "run-1")
	x := c.filer(c.store, 1)
	for range 10 {
		x.commit(c.ctx)
	}
	x.close()
	size, err := c.store.Size(c.ctx)
	if err != nil {
		c.t.Fatalf("Size: %v", err)
	}
	total := int64(0)
	for _, n := range size.Rows {
		total += n
	}
	if total != 10 || size.Bytes < 0 || size.Tables+size.Indexes > 0 && size.Bytes != size.Tables+size.Indexes {
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
	c.h.MakeForeign(c.t)
	for name, attempt := range map[string]func(entity.Store) error{
		"Find":   func(s entity.Store) error { _, err := s.Find(c.ctx); return err },
		"Create": func(s entity.Store) error { return s.Create(c.ctx, entityMark("run-1")) },
		"Drop":   func(s entity.Store) error { return s.Drop(c.ctx) },
	} {
		err := attempt(c.open())
		var foreign *workload.ForeignError
		if !errors.As(err, &foreign) {
			c.t.Errorf("%s on what is not ours: %v; want *workload.ForeignError", name, err)
		} else if foreign.Name == "" || foreign.Hint == "" {
			c.t.Errorf("%s: %+v says too little", name, foreign)
		}
		c.h.ForeignIntact(c.t)
	}
	if err := c.open().Read(c.ctx, func(entity.Entity) error { return nil }); err == nil {
		c.t.Error("Read of what is not ours gave no error")
	}
	c.h.ForeignIntact(c.t)
}
