package mem

import (
	"context"

	"github.com/google/uuid"

	"assay/history"
	"assay/workload"
	"assay/workload/entity"
)

// Entities is one database of workload entity's. It is safe for concurrent
// use. All Stores that Entity returns share it.
type Entities struct {
	*site
	strikes []entityStrike
	bag[uuid.UUID, entity.Entity]
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
	d.key = func(e entity.Entity) uuid.UUID { return e.ID }
	for _, bug := range entityBugs() {
		if p := s.odds(bug.Name); p > 0 {
			d.strikes = append(d.strikes, entityStrike{bug, p})
		}
	}
	d.reset()
	return d, nil
}

// Entity returns a Store on this database.
func (d *Entities) Entity() entity.Store { return &entityStore{newShell(d.site, d), d} }

// reset empties the schema. The caller holds the lock, as for all methods
// below.
func (d *Entities) reset() {
	d.empty()
	d.calls, d.late = 0, nil
}

func (d *Entities) count() int64 { return int64(len(d.rows)) }

func (d *Entities) settle() { d.pass(d.calls + maxLate) }

func (d *Entities) put(e entity.Entity) entity.Reply {
	d.calls++
	d.pass(d.calls)
	if d.has(e.ID) {
		return entity.Reply{Reply: workload.Reply{Outcome: history.Failed, Duplicate: true, Class: workload.ClassDuplicate}}
	}
	if d.hits(d.timeout) {
		if d.chance.Uint64()&1 == 0 {
			d.add(e)
		}
		return entity.Reply{Reply: workload.Reply{Class: workload.ClassTimeout}}
	}
	for _, bug := range d.strikes {
		if bug.put != nil && d.hits(bug.probability) {
			return bug.put(d, e)
		}
	}
	d.add(e)
	return entity.Reply{Reply: workload.Reply{Outcome: history.Committed}}
}

func (d *Entities) get(id uuid.UUID) entity.Reply {
	d.calls++
	d.pass(d.calls)
	reply := entity.Reply{Reply: workload.Reply{Outcome: history.Committed}}
	at, there := d.at[id]
	if !there {
		return reply
	}
	reply.Entity, reply.Found = d.rows[at], true
	for _, bug := range d.strikes {
		if bug.get != nil && d.hits(bug.probability) {
			return bug.get(d, reply)
		}
	}
	return reply
}

// pass brings about what earlier calls left for later, up to the given call.
func (d *Entities) pass(call uint64) {
	kept := d.late[:0]
	for _, l := range d.late {
		switch {
		case l.due > call:
			kept = append(kept, l)
		case l.lose:
			d.lose(l.entity.ID)
		case !d.has(l.entity.ID):
			d.add(l.entity)
		}
	}
	d.late = kept
}

// entityStore is an entity.Store on an Entities.
type entityStore struct {
	shell
	d *Entities
}

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

// Promise implements entity.Promising: one call at a time is let in.
func (s *entityStore) Promise() string { return entity.PromiseLinearizable }

// Read implements entity.Store. It holds up all other calls while it lasts, and
// the callback must make none.
func (s *entityStore) Read(ctx context.Context, do func(entity.Entity) error) error {
	return s.locked(true, func() error {
		all := s.d.rows
		for _, bug := range s.d.strikes {
			if bug.cut != nil && s.d.hits(bug.probability) {
				all = all[:bug.cut(s.d, len(all))]
				break
			}
		}
		return each(ctx, all, do)
	})
}

// Size implements entity.Store. It is memory, there being no disk: the fields
// and the ids.
func (s *entityStore) Size(context.Context) (size workload.Size, err error) {
	err = s.locked(true, func() error {
		for _, e := range s.d.rows {
			size.Bytes += int64(2*len(e.ID) + len(e.Name) + len(e.Description) + len(e.Address) + len(e.Phone) + len(e.Email) + 8)
		}
		size.Tables, size.Rows = size.Bytes, map[string]int64{"entity": s.d.count()}
		return nil
	})
	return size, err
}

// entitySession is one client's.
type entitySession struct{ d *Entities }

// Session implements entity.Store.
func (s *entityStore) Session(context.Context) (entity.Session, error) {
	if err := s.ready(); err != nil {
		return nil, err
	}
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

// call does something under the lock, after the latency.
func (n *entitySession) call(ctx context.Context, doing string, do func() entity.Reply) entity.Reply {
	if no := n.d.enter(ctx, doing); no != nil {
		return entity.Reply{Reply: *no}
	}
	defer n.d.mu.Unlock()
	return do()
}

// Close implements entity.Session.
func (n *entitySession) Close() {}
