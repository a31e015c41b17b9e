package drivertest

import (
	"context"
	"fmt"
	"testing"

	"github.com/google/uuid"

	"assay/history"
	"assay/workload"
	"assay/workload/entity"
)

// Entity is what a driver's test gives to have its entity.Store tried. The
// fields that it shares with Availability mean the same.
type Entity struct {
	Open func(t *testing.T) entity.Store

	MakeForeign   func(t *testing.T)
	ForeignIntact func(t *testing.T)

	Secret string

	// Replaces is true for a database in which a write replaces the entity of
	// the same id and is acknowledged, as in Cassandra.
	Replaces bool

	OpenVia func(t *testing.T, addr string) (entity.Store, error)
	Server  string
}

// RunEntity tries everything that entity.Store promises. Its subtests run one
// after the other on one place.
func RunEntity(t *testing.T, h Entity) {
	for _, s := range []struct {
		name string
		run  func(*cabinet)
	}{
		{"Describe", (*cabinet).describe},
		{"CreateFindDrop", (*cabinet).testCreateFindDrop},
		{"PutGet", (*cabinet).testPutGet},
		{"Duplicate", (*cabinet).testDuplicate},
		{"Read", (*cabinet).testRead},
		{"Size", (*cabinet).testSize},
		{"ContextOver", (*cabinet).testContextOver},
		{"Race", (*cabinet).testRace},
	} {
		t.Run(s.name, func(t *testing.T) { s.run(emptyCabinet(t, h)) })
	}
	runLease(t, func(t *testing.T) *hold[entity.Store] { return emptyCabinet(t, h).hold },
		func(ctx context.Context, s entity.Store, run string) error { return s.Create(ctx, entityMark(run)) })
	if h.MakeForeign != nil {
		t.Run("Foreign", func(t *testing.T) { emptyCabinet(t, h).testForeign() })
	}
	if h.OpenVia != nil {
		runKeyedNetwork(t, h.network)
	}
}

// cabinet is one subtest's hold on the place under test.
type cabinet struct {
	*hold[entity.Store]
	h    Entity
	book *Entities
}

func emptyCabinet(t *testing.T, h Entity) *cabinet {
	t.Helper()
	return &cabinet{h: h, book: NewEntities(), hold: empty(t, harness[entity.Store]{h.Open, h.MakeForeign, h.ForeignIntact, h.Secret})}
}

// create makes an empty table.
func (c *cabinet) create(store entity.Store, run string) {
	c.t.Helper()
	if err := store.Create(c.ctx, entityMark(run)); err != nil {
		c.t.Fatalf("Create: %v", err)
	}
	c.book = NewEntities()
}

// check settles and compares what was answered with what is there.
func (c *cabinet) check() { c.t.Helper(); c.book.Check(c.ctx, c.t, c.store) }

func (h Entity) network(t *testing.T) *keyedNetwork[entity.Entity] {
	t.Helper()
	c := emptyCabinet(t, h)
	c.create(c.store, "run-1")
	proxy, via := c.through(h.Server, h.OpenVia)
	return &keyedNetwork[entity.Entity]{
		t: t, ctx: c.ctx, proxy: proxy, rounds: 2, check: c.check,
		via:    func(number int) keyed[entity.Entity] { return c.filer(via, number) },
		beside: func(number int) keyed[entity.Entity] { return c.filer(c.store, number) },
	}
}

func entityMark(run string) workload.Marker { return loadedMark("entity", run) }

// readEntities is a Store's Read.
func readEntities(store entity.Store) reading {
	return func(ctx context.Context, each func() error) error {
		return store.Read(ctx, func(entity.Entity) error { return each() })
	}
}

// Entities keeps what was answered to the writes of a test, and compares it
// with what is there. It is safe for concurrent use.
type Entities struct {
	fates[uuid.UUID, entity.Entity]
}

// NewEntities returns the book of an empty table.
func NewEntities() *Entities {
	return &Entities{fates[uuid.UUID, entity.Entity]{
		key: func(e entity.Entity) uuid.UUID { return e.ID }, of: map[uuid.UUID]fate[entity.Entity]{},
	}}
}

// Check settles and reads everything, and fails the test for an entity that is
// missing, altered, doubled or there although it must not be.
func (b *Entities) Check(ctx context.Context, t testing.TB, store entity.Store) {
	t.Helper()
	b.check(ctx, t, store.Settle, store.Read)
}

// filer is one client: it replaces its session when it must, and every answer
// goes into the book. It is used by one goroutine and never ends the test by
// itself.
type filer struct {
	line[entity.Session]
	t      *testing.T
	h      Entity
	book   *Entities
	number int
	made   uint64
}

func (c *cabinet) filer(store entity.Store, number int) *filer {
	x := &filer{line: line[entity.Session]{dial: store.Session}, t: c.t, h: c.h, book: c.book, number: number}
	c.t.Cleanup(x.close)
	return x
}

// next returns an entity with a fresh id.
func (x *filer) next() entity.Entity {
	x.made++
	key, _ := entity.Key(x.number, x.made)
	return entity.Make(1, key)
}

// put makes one attempt and records it.
func (x *filer) put(ctx context.Context, e entity.Entity) entity.Reply {
	reply := entity.Reply{Reply: workload.Reply{Outcome: history.Failed, Class: workload.ClassConnect, Broken: true}}
	if reply.Err = x.connect(ctx); reply.Err == nil {
		reply = x.session.Put(ctx, e)
	}
	answerOfEntity(reply).inspect(x.t, x.h.Secret, func() string { return fmt.Sprintf("put %v", e.ID) })
	switch {
	case reply.Duplicate && (reply.Outcome != history.Failed || x.h.Replaces):
		x.t.Errorf("put %v: %v and a duplicate", e.ID, reply.Outcome)
	case reply.Outcome == history.Rejected:
		x.t.Errorf("put %v: rejected, for which there is no rule", e.ID)
	}
	x.book.record(e, reply.Outcome)
	x.replace(answerOfEntity(reply))
	return reply
}

// get makes one attempt to read.
func (x *filer) get(ctx context.Context, id uuid.UUID) entity.Reply {
	reply := entity.Reply{Reply: workload.Reply{Outcome: history.Committed, Class: workload.ClassConnect, Broken: true}}
	if reply.Err = x.connect(ctx); reply.Err == nil {
		reply = x.session.Get(ctx, id)
	} else {
		reply.Outcome = history.Failed
	}
	answerOfEntity(reply).inspect(x.t, x.h.Secret, func() string { return fmt.Sprintf("get %v", id) })
	if reply.Found && reply.Outcome != history.Committed || reply.Outcome == history.Unknown {
		x.t.Errorf("get %v: %v, found is %v", id, reply.Outcome, reply.Found)
	}
	x.replace(answerOfEntity(reply))
	return reply
}

func answerOfEntity(r entity.Reply) answer {
	return answer{outcome: r.Outcome, class: r.Class, err: r.Err, broken: r.Broken, duplicate: r.Duplicate, found: r.Found}
}

func (x *filer) write(ctx context.Context, e entity.Entity) answer {
	return answerOfEntity(x.put(ctx, e))
}

func (x *filer) look(ctx context.Context, e entity.Entity) answer {
	return answerOfEntity(x.get(ctx, e.ID))
}

// commit repeats a fresh entity's write while it fails, and ends the test
// unless it is acknowledged. It is for the test's own goroutine.
func (x *filer) commit(ctx context.Context) entity.Entity {
	x.t.Helper()
	e := x.next()
	x.commitThis(ctx, e)
	return e
}

func (x *filer) commitThis(ctx context.Context, e entity.Entity) {
	x.t.Helper()
	var r entity.Reply
	for range tries {
		if r = x.put(ctx, e); r.Outcome != history.Failed || r.Duplicate || ctx.Err() != nil {
			break
		}
	}
	if r.Outcome != history.Committed {
		x.t.Fatalf("put %v: %v (%s: %v), want committed", e.ID, r.Outcome, r.Class, r.Err)
	}
}

// wantFound fails the test unless the id is read as this entity.
func (x *filer) wantFound(ctx context.Context, e entity.Entity) {
	x.t.Helper()
	if r := x.get(ctx, e.ID); r.Outcome != history.Committed || !r.Found || r.Entity != e {
		x.t.Errorf("get %v: %+v, want %+v", e.ID, r, e)
	}
}
