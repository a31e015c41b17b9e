package mem

import (
	"context"
	"slices"
	"unsafe"

	"assay/history"
	"assay/workload"
	"assay/workload/bulkupdate"
)

// Shelves is one database of workload bulkupdate's. It is safe for concurrent
// use. All Stores that BulkUpdate returns share it.
type Shelves struct {
	*site
	strikes []shelfStrike
	// documents are in the order of loading, of has the places of each user's
	// in it.
	documents []bulkupdate.Document
	of        map[int64][]int

	// late are updates to be done at the call numbered due.
	late []lateUpdate
}

// update is what a client asks for.
type change struct {
	user, generation int64
	flag             bool
}

type lateUpdate struct {
	change
	due uint64
}

// shelfStrike is a bug switched on.
type shelfStrike struct {
	shelfBug
	probability float64
}

// NewBulkUpdate returns an empty database of workload bulkupdate's. It returns
// *workload.OptionError for a bug that does not exist or a value out of range.
func NewBulkUpdate(o Options) (*Shelves, error) {
	s, err := newSite(o, BulkUpdateBugs())
	if err != nil {
		return nil, err
	}
	d := &Shelves{site: s}
	for _, bug := range shelfBugs() {
		if p := s.odds(bug.Name); p > 0 {
			d.strikes = append(d.strikes, shelfStrike{bug, p})
		}
	}
	d.reset()
	return d, nil
}

// BulkUpdate returns a Store on this database.
func (d *Shelves) BulkUpdate() bulkupdate.Store { return &shelvesStore{newShell(d.site, d), d} }

// reset empties the schema. The caller holds the lock, as for all methods
// below.
func (d *Shelves) reset() {
	d.documents, d.of = nil, map[int64][]int{}
	d.calls, d.late = 0, nil
}

func (d *Shelves) count() int64 { return int64(len(d.documents)) }

func (d *Shelves) settle() { d.pass(d.calls + maxLate) }

// update is one update, from the order to the answer.
func (d *Shelves) update(u change) bulkupdate.Reply {
	d.calls++
	d.pass(d.calls)
	if d.hits(d.timeout) {
		if d.chance.Uint64()&1 == 0 {
			d.apply(u)
		}
		return bulkupdate.Reply{Reply: workload.Reply{Class: workload.ClassTimeout}}
	}
	for _, bug := range d.strikes {
		if bug.update != nil && d.hits(bug.probability) {
			return bug.update(d, u)
		}
	}
	return d.apply(u)
}

func (d *Shelves) apply(u change) bulkupdate.Reply { return d.applyTo(u, d.of[u.user]) }

// applyTo changes the documents at these places.
func (d *Shelves) applyTo(u change, places []int) bulkupdate.Reply {
	for _, at := range places {
		d.documents[at].Flag, d.documents[at].Generation = u.flag, u.generation
	}
	return bulkupdate.Reply{Reply: workload.Reply{Outcome: history.Committed}, Changed: int64(len(places))}
}

// pass brings about what was left for later, up to the given call.
func (d *Shelves) pass(call uint64) {
	d.late = slices.DeleteFunc(d.late, func(l lateUpdate) bool {
		if l.due <= call {
			d.apply(l.change)
		}
		return l.due <= call
	})
}

// shelvesStore is a bulkupdate.Store on Shelves.
type shelvesStore struct {
	shell
	d *Shelves
}

// OpenBulkUpdate returns a Store on a new, empty database: two Stores opened so
// share nothing. The address and the errors are OpenBank's, with the bugs of
// BulkUpdateBugs.
func OpenBulkUpdate(_ context.Context, target workload.Target) (bulkupdate.Store, error) {
	o, err := parse(target, BulkUpdateBugs())
	if err != nil {
		return nil, err
	}
	d, err := NewBulkUpdate(o)
	if err != nil {
		return nil, err
	}
	return d.BulkUpdate(), nil
}

// Atomic implements bulkupdate.Store: one call at a time is let in.
func (s *shelvesStore) Atomic() bool { return true }

// Waits implements bulkupdate.Store: nothing is counted.
func (s *shelvesStore) Waits(context.Context) ([]bulkupdate.Wait, error) { return nil, nil }

// Load implements bulkupdate.Store.
func (s *shelvesStore) Load(_ context.Context, batch []bulkupdate.Document) error {
	return s.locked(true, func() error {
		for _, document := range batch {
			s.d.of[document.User] = append(s.d.of[document.User], len(s.d.documents))
			s.d.documents = append(s.d.documents, document)
		}
		return nil
	})
}

// FinishLoad implements bulkupdate.Store.
func (s *shelvesStore) FinishLoad(context.Context) error { return s.finishLoad() }

// Read implements bulkupdate.Store. It holds up all other calls while it lasts,
// and the callback must make none.
func (s *shelvesStore) Read(ctx context.Context, document func(bulkupdate.Document) error) error {
	return s.locked(true, func() error {
		documents := s.d.documents
		for _, bug := range s.d.strikes {
			if bug.cut != nil && s.d.hits(bug.probability) {
				documents = documents[:bug.cut(s.d, len(documents))]
				break
			}
		}
		return each(ctx, documents, document)
	})
}

// Size implements bulkupdate.Store. It is memory, there being no disk.
func (s *shelvesStore) Size(context.Context) (size workload.Size, err error) {
	err = s.locked(true, func() error {
		size.Bytes = s.d.count() * int64(unsafe.Sizeof(bulkupdate.Document{})+bulkupdate.PayloadBytes)
		size.Tables, size.Rows = size.Bytes, map[string]int64{"document": s.d.count()}
		return nil
	})
	return size, err
}

// shelvesSession is one client's.
type shelvesSession struct{ d *Shelves }

// Session implements bulkupdate.Store.
func (s *shelvesStore) Session(context.Context) (bulkupdate.Session, error) {
	if err := s.ready(); err != nil {
		return nil, err
	}
	return &shelvesSession{s.d}, nil
}

// Update implements bulkupdate.Session. A context that ends before it has begun
// ends it.
func (n *shelvesSession) Update(ctx context.Context, user, generation int64, flag bool) bulkupdate.Reply {
	if no := n.d.enter(ctx, "update"); no != nil {
		return bulkupdate.Reply{Reply: *no}
	}
	defer n.d.mu.Unlock()
	return n.d.update(change{user, generation, flag})
}

// Close implements bulkupdate.Session.
func (n *shelvesSession) Close() {}
