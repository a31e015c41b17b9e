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

// RunEntity tests everything that entity.Store promises. Its subtests run one
// after the other on one schema.
func RunEntity(t *testing.T, h Entity) {
	on := func(t *testing.T) *entityFixture {
		return &entityFixture{book: NewEntities(), fixture: newFixture(t, h)}
	}
	runLifecycle(t, h, func(t *testing.T) schema[entity.Store] { return on(t) })
	for _, s := range []struct {
		name string
		run  func(*entityFixture)
	}{
		{"PutGet", (*entityFixture).testPutGet},
		{"Duplicate", (*entityFixture).testDuplicate},
		{"Read", (*entityFixture).testRead},
		{"ContextOver", (*entityFixture).testContextOver},
		{"Race", (*entityFixture).testRace},
	} {
		t.Run(s.name, func(t *testing.T) {
			f := on(t)
			f.mustCreate()
			s.run(f)
		})
	}
	if h.OpenVia != nil {
		runKeyedNetwork(t, func(t *testing.T) *keyedNetwork[entity.Entity] { return on(t).network() })
	}
}

// entityFixture is a fixture with what was answered to writes.
type entityFixture struct {
	*fixture[entity.Store]
	book *Entities
}

// mustCreate makes an empty table.
func (f *entityFixture) mustCreate() {
	f.t.Helper()
	if err := f.create(f.store, f.marker("run-1")); err != nil {
		f.t.Fatalf("Create: %v", err)
	}
}

func (f *entityFixture) marker(run string) workload.Marker { return loadedMarker("entity", run) }

func (f *entityFixture) create(store entity.Store, marker workload.Marker) error {
	f.book = NewEntities()
	return store.Create(f.ctx, marker)
}

func (f *entityFixture) load(entity.Store) {}

func (f *entityFixture) write(store entity.Store, number int) {
	x := f.client(store, number)
	defer x.close()
	e := x.next()
	if r := x.get(f.ctx, e.ID); r.Outcome != history.Committed || r.Found {
		f.t.Errorf("get %v before it was written: %+v, want committed and not found", e.ID, r)
	}
	x.commitThis(f.ctx, e)
	x.wantFound(f.ctx, e)
	x.commit(f.ctx)
}

func (f *entityFixture) read(store entity.Store) reading {
	return func(ctx context.Context, each func() error) error {
		return store.Read(ctx, func(entity.Entity) error { return each() })
	}
}

// check settles and compares what was answered with what is there.
func (f *entityFixture) check() { f.t.Helper(); f.book.Check(f.ctx, f.t, f.store) }

func (f *entityFixture) found() int64 { return 2 }

func (f *entityFixture) tables() []int64 { return []int64{2} }

func (f *entityFixture) network() *keyedNetwork[entity.Entity] {
	f.t.Helper()
	f.mustCreate()
	proxy, via := f.openProxied()
	return &keyedNetwork[entity.Entity]{
		t: f.t, ctx: f.ctx, proxy: proxy, rounds: 2, check: f.check,
		via:    func(number int) keyed[entity.Entity] { return f.client(via, number) },
		beside: func(number int) keyed[entity.Entity] { return f.client(f.store, number) },
	}
}

// Entities keeps what was answered to the writes of a test, and compares it
// with what is there. It is safe for concurrent use.
type Entities struct {
	writes[uuid.UUID, entity.Entity]
}

// NewEntities returns the book of an empty table.
func NewEntities() *Entities {
	return &Entities{writes[uuid.UUID, entity.Entity]{
		key: func(e entity.Entity) uuid.UUID { return e.ID }, of: map[uuid.UUID]written[entity.Entity]{},
	}}
}

// Check settles and reads everything, and fails the test for an entity that is
// missing, altered, doubled or there although it must not be.
func (b *Entities) Check(ctx context.Context, t testing.TB, store entity.Store) {
	t.Helper()
	b.check(ctx, t, store.Settle, store.Read)
}

// entityClient is one client, every answer to which is recorded. It is used by
// one goroutine.
type entityClient struct {
	connection[entity.Session]
	replaces bool
	book     *Entities
	number   int
	made     uint64
}

func (f *entityFixture) client(store entity.Store, number int) *entityClient {
	x := &entityClient{connection: newConnection(f.fixture, store.Session), replaces: f.harness.Replaces, book: f.book, number: number}
	f.t.Cleanup(x.close)
	return x
}

// next returns an entity with a fresh id.
func (x *entityClient) next() entity.Entity {
	x.made++
	key, _ := entity.Key(x.number, x.made)
	return entity.Make(1, key)
}

// put makes one attempt and records it.
func (x *entityClient) put(ctx context.Context, e entity.Entity) entity.Reply {
	var reply entity.Reply
	what := fmt.Sprintf("put %v", e.ID)
	reply.Reply = x.attempt(ctx, what, func(session entity.Session) workload.Reply {
		reply = session.Put(ctx, e)
		return reply.Reply
	})
	if reply.Duplicate && x.replaces || reply.Outcome == history.Rejected {
		x.t.Errorf("%s: %+v", what, reply)
	}
	x.book.record(e, reply.Outcome)
	return reply
}

// get makes one attempt to read.
func (x *entityClient) get(ctx context.Context, id uuid.UUID) entity.Reply {
	var reply entity.Reply
	what := fmt.Sprintf("get %v", id)
	reply.Reply = x.attempt(ctx, what, func(session entity.Session) workload.Reply {
		reply = session.Get(ctx, id)
		return reply.Reply
	})
	if reply.Found && reply.Outcome != history.Committed || reply.Outcome == history.Unknown {
		x.t.Errorf("%s: %v, found is %v", what, reply.Outcome, reply.Found)
	}
	return reply
}

func answerOfEntity(r entity.Reply) answer { return answer{Reply: r.Reply, found: r.Found} }

func (x *entityClient) write(ctx context.Context, e entity.Entity) answer {
	return answerOfEntity(x.put(ctx, e))
}

func (x *entityClient) look(ctx context.Context, e entity.Entity) answer {
	return answerOfEntity(x.get(ctx, e.ID))
}

// commit repeats a fresh entity's write while it fails, and ends the test
// unless it is acknowledged. It is for the test's own goroutine.
func (x *entityClient) commit(ctx context.Context) entity.Entity {
	x.t.Helper()
	e := x.next()
	x.commitThis(ctx, e)
	return e
}

func (x *entityClient) commitThis(ctx context.Context, e entity.Entity) {
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
func (x *entityClient) wantFound(ctx context.Context, e entity.Entity) {
	x.t.Helper()
	if r := x.get(ctx, e.ID); r.Outcome != history.Committed || !r.Found || r.Entity != e {
		x.t.Errorf("get %v: %+v, want %+v", e.ID, r, e)
	}
}
