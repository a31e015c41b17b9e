package mem

import (
	"context"
	"fmt"

	"github.com/google/uuid"

	"assay/history"
	"assay/workload"
	"assay/workload/bank"
	"assay/workload/entity"
)

// Entities is one database of workload entity's. It is safe for concurrent
// use. All Stores that Entity returns share it.
type Entities struct {
	*site
	strikes []entityStrike
	// all are in the order in which they were written, at has the place of each
	// id's first in it.
	all []entity.Entity
	at  map[uuid.UUID]int
	// late is what bugs leave for later calls: entities to be written, and
	// entities to be lost.
	late []lateEntity
}

// lateEntity is something to be done with an entity at the call numbered due.
type lateEntity struct {
	entity entity.Entity
	due    uint64
	lose   bool
}

// entityStrike is a bug switched on.
type entityStrike struct {
	entityBug
	probability float64
}

// NewEntities returns an empty database of workload entity's. It returns
// *workload.OptionError for a bug that does not exist or a value out of range.
func NewEntities(o Options) (*Entities, error) {
	s, err := newSite(o, EntityBugs())
	if err != nil {
		return nil, err
	}
	d := &Entities{site: s}
	for _, bug := range entityBugs() {
		for _, armed := range s.armed {
			if armed.Name == bug.Name {
				d.strikes = append(d.strikes, entityStrike{bug, armed.probability})
			}
		}
	}
	d.reset()
	return d, nil
}

// Entity returns a Store on this database.
func (d *Entities) Entity() entity.Store { return &entityStore{d} }

// reset empties the schema. The caller holds the lock, as for all methods
// below.
func (d *Entities) reset() {
	d.all, d.at, d.late, d.calls = nil, map[uuid.UUID]int{}, nil, 0
}

func (d *Entities) put(e entity.Entity) entity.Reply {
	d.calls++
	d.pass(d.calls)
	if _, there := d.at[e.ID]; there {
		return entity.Reply{Outcome: history.Failed, Duplicate: true, Class: bank.ClassDuplicate}
	}
	if d.hits(d.timeout) {
		if d.chance.Uint64()&1 == 0 {
			d.add(e)
		}
		return entity.Reply{Class: bank.ClassTimeout}
	}
	for _, bug := range d.strikes {
		if bug.put != nil && d.hits(bug.probability) {
			return bug.put(d, e)
		}
	}
	d.add(e)
	return entity.Reply{Outcome: history.Committed}
}

func (d *Entities) get(id uuid.UUID) entity.Reply {
	d.calls++
	d.pass(d.calls)
	reply := entity.Reply{Outcome: history.Committed}
	at, there := d.at[id]
	if !there {
		return reply
	}
	reply.Entity, reply.Found = d.all[at], true
	for _, bug := range d.strikes {
		if bug.get != nil && d.hits(bug.probability) {
			return bug.get(d, reply)
		}
	}
	return reply
}

func (d *Entities) add(e entity.Entity) {
	if _, there := d.at[e.ID]; !there {
		d.at[e.ID] = len(d.all)
	}
	d.all = append(d.all, e)
}

// lose takes an entity back. The last one takes its place.
func (d *Entities) lose(id uuid.UUID) {
	at, there := d.at[id]
	if !there {
		return
	}
	last := len(d.all) - 1
	d.all[at] = d.all[last]
	if d.at[d.all[at].ID] == last {
		d.at[d.all[at].ID] = at
	}
	d.all = d.all[:last]
	delete(d.at, id)
}

// pass brings about what earlier calls left for later, up to the given call.
func (d *Entities) pass(call uint64) {
	kept := d.late[:0]
	for _, l := range d.late {
		_, there := d.at[l.entity.ID]
		switch {
		case l.due > call:
			kept = append(kept, l)
		case l.lose:
			d.lose(l.entity.ID)
		case !there:
			d.add(l.entity)
		}
	}
	d.late = kept
}

// entityStore is an entity.Store on an Entities.
type entityStore struct{ d *Entities }

// OpenEntity returns a Store on a new, empty database: two Stores opened so
// share nothing. The address and the errors are OpenBank's, with the bugs of
// EntityBugs.
func OpenEntity(_ context.Context, target workload.Target) (entity.Store, error) {
	o, err := parse(target, EntityBugs())
	if err != nil {
		return nil, err
	}
	d, err := NewEntities(o)
	if err != nil {
		return nil, err
	}
	return d.Entity(), nil
}

// Describe implements entity.Store.
func (s *entityStore) Describe(context.Context) (workload.Product, error) { return s.d.describe(), nil }

// Promise implements entity.Promising: one call at a time is let in.
func (s *entityStore) Promise() string { return entity.PromiseLinearizable }

// Find implements entity.Store.
func (s *entityStore) Find(context.Context) (*workload.Remains, error) {
	if err := s.d.guard(false); err != nil {
		return nil, err
	}
	defer s.d.mu.Unlock()
	if s.d.mark == nil {
		return nil, nil
	}
	return &workload.Remains{Mark: *s.d.mark, Rows: int64(len(s.d.all))}, nil
}

// Create implements entity.Store.
func (s *entityStore) Create(_ context.Context, mark workload.Mark) error {
	if err := s.d.guard(false); err != nil {
		return err
	}
	defer s.d.mu.Unlock()
	s.d.reset()
	s.d.mark = &mark
	return nil
}

// Settle implements entity.Store: what was to happen later happens now.
func (s *entityStore) Settle(context.Context) error {
	s.d.mu.Lock()
	defer s.d.mu.Unlock()
	if s.d.mark != nil {
		s.d.pass(s.d.calls + maxLate)
	}
	return nil
}

// Read implements entity.Store. It holds up all other calls while it lasts, and
// the callback must make none.
func (s *entityStore) Read(ctx context.Context, each func(entity.Entity) error) error {
	if err := s.d.guard(true); err != nil {
		return err
	}
	defer s.d.mu.Unlock()
	all := s.d.all
	for _, bug := range s.d.strikes {
		if bug.cut != nil && s.d.hits(bug.probability) {
			all = all[:bug.cut(s.d, len(all))]
			break
		}
	}
	for i, e := range all {
		if err := interrupted(ctx, int64(i)); err != nil {
			return err
		}
		if err := each(e); err != nil {
			return err
		}
	}
	return nil
}

// Size implements entity.Store. It is memory, there being no disk: the fields
// and the ids.
func (s *entityStore) Size(context.Context) (workload.Size, error) {
	if err := s.d.guard(true); err != nil {
		return workload.Size{}, err
	}
	defer s.d.mu.Unlock()
	var bytes int64
	for _, e := range s.d.all {
		bytes += int64(2*len(e.ID) + len(e.Name) + len(e.Description) + len(e.Address) + len(e.Phone) + len(e.Email) + 8)
	}
	return workload.Size{Bytes: bytes, Tables: bytes, Rows: map[string]int64{"entity": int64(len(s.d.all))}}, nil
}

// Drop implements entity.Store.
func (s *entityStore) Drop(context.Context) error {
	if err := s.d.guard(false); err != nil {
		return err
	}
	defer s.d.mu.Unlock()
	s.d.reset()
	s.d.mark = nil
	return nil
}

// Close implements entity.Store.
func (s *entityStore) Close() error { return nil }

// entitySession is one client's.
type entitySession struct{ d *Entities }

// Session implements entity.Store.
func (s *entityStore) Session(context.Context) (entity.Session, error) {
	if err := s.d.guard(true); err != nil {
		return nil, err
	}
	defer s.d.mu.Unlock()
	return &entitySession{s.d}, nil
}

// Put implements entity.Session.
func (n *entitySession) Put(ctx context.Context, e entity.Entity) entity.Reply {
	return n.call(ctx, "put", func() entity.Reply { return n.d.put(e) })
}

// Get implements entity.Session.
func (n *entitySession) Get(ctx context.Context, id uuid.UUID) entity.Reply {
	return n.call(ctx, "get", func() entity.Reply { return n.d.get(id) })
}

// call does something under the lock, after the latency. A context that ends
// before it has begun ends it.
func (n *entitySession) call(ctx context.Context, doing string, do func() entity.Reply) entity.Reply {
	if err := rest(ctx, n.d.latency); err != nil {
		return entity.Reply{Outcome: history.Failed, Class: bank.ClassTimeout, Err: fmt.Errorf("mem: %s: %w", doing, err)}
	}
	n.d.mu.Lock()
	defer n.d.mu.Unlock()
	if n.d.mark == nil {
		return entity.Reply{Outcome: history.Failed, Class: bank.ClassOther, Err: &workload.NoSchemaError{Name: name}, Broken: true}
	}
	return do()
}

// Close implements entity.Session.
func (n *entitySession) Close() {}
