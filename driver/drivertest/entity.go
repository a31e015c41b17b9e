package drivertest

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/google/uuid"

	"assay/history"
	"assay/workload"
	"assay/workload/bank"
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
		{"Describe", (*cabinet).testDescribe},
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
	if h.MakeForeign != nil {
		t.Run("Foreign", func(t *testing.T) { emptyCabinet(t, h).testForeign() })
	}
	if h.OpenVia == nil {
		return
	}
	t.Run("CutBeforeSending", h.testCutBeforeSending)
	t.Run("CutAfterSending", h.testCutAfterSending)
	t.Run("Frozen", h.testFrozen)
}

// cabinet is one subtest's hold on the place under test.
type cabinet struct {
	t     *testing.T
	ctx   context.Context
	h     Entity
	store entity.Store
	book  *Entities
}

// emptyCabinet opens the place and empties it, now and at the end of the test.
func emptyCabinet(t *testing.T, h Entity) *cabinet {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	t.Cleanup(cancel)
	c := &cabinet{t: t, ctx: ctx, h: h, book: NewEntities()}
	c.store = c.open()
	if err := c.store.Drop(ctx); err != nil {
		t.Fatalf("Drop before the test: %v", err)
	}
	t.Cleanup(func() {
		if err := c.store.Drop(ctx); err != nil {
			t.Errorf("Drop after the test: %v", err)
		}
	})
	return c
}

func (c *cabinet) open() entity.Store {
	c.t.Helper()
	return c.closing(c.h.Open(c.t))
}

// closing closes a Store at the end of the test.
func (c *cabinet) closing(store entity.Store) entity.Store {
	c.t.Cleanup(func() {
		if err := store.Close(); err != nil {
			c.t.Errorf("Close: %v", err)
		}
	})
	return store
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

// entityMark is markOf for this workload.
func entityMark(run string) workload.Mark {
	mark := markOf(run, 0)
	mark.Workload, mark.Loaded = "entity", true
	return mark
}

// Entities keeps what was answered to the writes of a test, and compares it
// with what is there. It is safe for concurrent use.
type Entities struct {
	mu    sync.Mutex
	fates map[uuid.UUID]entityFate
}

type entityFate struct {
	entity  entity.Entity
	outcome history.Outcome
}

// NewEntities returns the book of an empty table.
func NewEntities() *Entities { return &Entities{fates: map[uuid.UUID]entityFate{}} }

func (b *Entities) record(e entity.Entity, outcome history.Outcome) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if f, again := b.fates[e.ID]; again {
		outcome = f.outcome.Then(outcome)
	}
	b.fates[e.ID] = entityFate{e, outcome}
}

// Check settles and reads everything, and fails the test for an entity that is
// missing, altered, doubled or there although it must not be.
func (b *Entities) Check(ctx context.Context, t testing.TB, store entity.Store) {
	t.Helper()
	if err := store.Settle(ctx); err != nil {
		t.Fatalf("Settle: %v", err)
	}
	there := map[uuid.UUID]bool{}
	b.mu.Lock()
	defer b.mu.Unlock()
	err := store.Read(ctx, func(e entity.Entity) error {
		f, known := b.fates[e.ID]
		switch {
		case !known:
			t.Errorf("%+v is there, which nobody wrote", e)
		case there[e.ID]:
			t.Errorf("%+v is there twice", e)
		case f.outcome == history.Failed:
			t.Errorf("%+v is there, though its write failed", e)
		case f.entity != e:
			t.Errorf("%+v is there, want %+v", e, f.entity)
		}
		there[e.ID] = true
		return nil
	})
	if err != nil {
		t.Fatalf("Read: %v", err)
	}
	for id, f := range b.fates {
		if f.outcome == history.Committed && !there[id] {
			t.Errorf("%v was acknowledged and is not there", id)
		}
	}
}

// filer is one client: it replaces its session when it must, and every answer
// goes into the book. It is used by one goroutine and never ends the test by
// itself.
type filer struct {
	t       *testing.T
	h       Entity
	store   entity.Store
	book    *Entities
	number  int
	made    uint64
	session entity.Session
}

func (c *cabinet) filer(store entity.Store, number int) *filer {
	x := &filer{t: c.t, h: c.h, store: store, book: c.book, number: number}
	c.t.Cleanup(x.close)
	return x
}

func (x *filer) close() {
	if x.session != nil {
		x.session.Close()
		x.session = nil
	}
}

func (x *filer) connect(ctx context.Context) (err error) {
	if x.session == nil {
		x.session, err = x.store.Session(ctx)
	}
	if err != nil {
		x.session = nil
	}
	return err
}

// next returns an entity with a fresh id.
func (x *filer) next() entity.Entity {
	x.made++
	key, _ := entity.Key(x.number, x.made)
	return entity.Make(1, key)
}

// put makes one attempt and records it.
func (x *filer) put(ctx context.Context, e entity.Entity) entity.Reply {
	reply := entity.Reply{Outcome: history.Failed, Class: bank.ClassConnect, Broken: true}
	if reply.Err = x.connect(ctx); reply.Err == nil {
		reply = x.session.Put(ctx, e)
	}
	x.inspect(fmt.Sprintf("put %v", e.ID), reply)
	switch {
	case reply.Duplicate && (reply.Outcome != history.Failed || x.h.Replaces):
		x.t.Errorf("put %v: %v and a duplicate", e.ID, reply.Outcome)
	case reply.Outcome == history.Rejected:
		x.t.Errorf("put %v: rejected, for which there is no rule", e.ID)
	}
	x.book.record(e, reply.Outcome)
	x.replace(reply)
	return reply
}

// get makes one attempt to read.
func (x *filer) get(ctx context.Context, id uuid.UUID) entity.Reply {
	reply := entity.Reply{Outcome: history.Committed, Class: bank.ClassConnect, Broken: true}
	if reply.Err = x.connect(ctx); reply.Err == nil {
		reply = x.session.Get(ctx, id)
	} else {
		reply.Outcome = history.Failed
	}
	x.inspect(fmt.Sprintf("get %v", id), reply)
	if reply.Found && reply.Outcome != history.Committed || reply.Outcome == history.Unknown {
		x.t.Errorf("get %v: %v, found is %v", id, reply.Outcome, reply.Found)
	}
	x.replace(reply)
	return reply
}

func (x *filer) replace(r entity.Reply) {
	if r.Broken || r.Outcome == history.Unknown {
		x.close()
	}
}

// inspect fails the test for a reply that contradicts itself.
func (x *filer) inspect(doing string, r entity.Reply) {
	x.t.Helper()
	switch {
	case !r.Outcome.Valid():
		x.t.Errorf("%s: %v", doing, r.Outcome)
	case r.Outcome == history.Committed && (r.Class != "" || r.Err != nil):
		x.t.Errorf("%s: committed with an error: %q %v", doing, r.Class, r.Err)
	case r.Outcome != history.Committed && r.Class == "":
		x.t.Errorf("%s: %v without a class: %v", doing, r.Outcome, r.Err)
	}
	if s := x.h.Secret; s != "" && (strings.Contains(r.Class, s) || r.Err != nil && strings.Contains(r.Err.Error(), s)) {
		x.t.Errorf("%s: the reply tells the password", doing)
	}
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
