package bugs

import (
	"context"

	"assay/history"
	"assay/workload"
	"assay/workload/bulkupdate"
)

// An update that a later one of the same user has replaced is seen no more; so
// what a bug does in the rounds before the last is passing.
func bulkUpdateBugs() []definition[place] {
	const documents, counts = bulkupdate.CheckDocuments, bulkupdate.CheckCounts
	return []definition[place]{
		{Bug{Name: "partial-update", Check: documents, Kinds: []string{"partial"}, Passing: true,
			Doc: "an update is acknowledged as whole and has changed some of the documents only"}, inUpdate},
		{Bug{Name: "torn-update", Check: documents, Kinds: []string{"partial"}, Passing: true,
			Doc: "unknown is answered, and the update has changed some of the documents only"}, inUpdate},
		{Bug{Name: "lost-ack", Check: documents, Kinds: []string{"lost"}, Passing: true,
			Doc: "an update is acknowledged and nothing is changed"}, inUpdate},
		{Bug{Name: "failed-but-applied", Check: documents, Kinds: []string{"failed"}, Passing: true,
			Doc: "an update is done, and failed is answered"}, inUpdate},
		{Bug{Name: "wrong-count", Check: counts, Kinds: []string{"count"},
			Doc: "an update is said to have changed one document less than it has"}, inUpdate},
		{Bug{Name: "altered-row", Check: documents, Kinds: []string{"altered"},
			Doc: "an update changes the payload of one document as well"}, inUpdate},
		{Bug{Name: "flag-left", Check: documents, Kinds: []string{"altered"}, Passing: true,
			Doc: "an update leaves the boolean of one document as it was"}, inUpdate},
		{Bug{Name: "extra-row", Check: documents, Kinds: []string{"foreign"},
			Doc: "a document that nobody loaded is there beside"}, inUpdate},
		{Bug{Name: "duplicate-row", Check: documents, Kinds: []string{"doubled"},
			Doc: "a document is there twice after an update"}, inUpdate},
		{Bug{Name: "truncated-read", Check: documents, Kinds: []string{"missing"},
			Doc: "a read of everything ends early and without an error"}, inRead},
		{Bug{Name: "late-apply",
			Doc: "unknown is answered and the update done up to 64 calls later, at the latest before Settle returns; that is allowed and must be found valid"}, inUpdate},
	}
}

// bulkUpdateStore is a bulkupdate.Store with bugs.
type bulkUpdateStore struct {
	*rowStore[int64, bulkupdate.Document]
	inner bulkupdate.Store
}

func newBulkUpdate(inner bulkupdate.Store, seeded []Seeded, seed uint64) *bulkUpdateStore {
	t := newTrial(inner, bulkUpdateBugs(), seeded, seed)
	return &bulkUpdateStore{newRowStore(t, func(d bulkupdate.Document) int64 { return d.ID }, inner.Read), inner}
}

// Create implements bulkupdate.Store.
func (s *bulkUpdateStore) Create(ctx context.Context, marker workload.Marker) error {
	return s.anew(ctx, func() error { return s.inner.Create(ctx, marker) })
}

// Load implements bulkupdate.Store.
func (s *bulkUpdateStore) Load(ctx context.Context, batch []bulkupdate.Document) error {
	return s.inner.Load(ctx, batch)
}

// FinishLoad implements bulkupdate.Store.
func (s *bulkUpdateStore) FinishLoad(ctx context.Context) error { return s.inner.FinishLoad(ctx) }

// Waits implements bulkupdate.Store.
func (s *bulkUpdateStore) Waits(ctx context.Context) ([]bulkupdate.Wait, error) {
	return s.inner.Waits(ctx)
}

// Atomic implements bulkupdate.Store.
func (s *bulkUpdateStore) Atomic() bool { return s.inner.Atomic() }

// bulkUpdateSession is one client's.
type bulkUpdateSession struct {
	bulkupdate.Session
	s *bulkUpdateStore
}

// Session implements bulkupdate.Store.
func (s *bulkUpdateStore) Session(ctx context.Context) (bulkupdate.Session, error) {
	session, err := s.inner.Session(ctx)
	if err != nil {
		return nil, err
	}
	return &bulkUpdateSession{session, s}, nil
}

// documents are those of one user, as they are shown.
func (s *bulkUpdateStore) documents(ctx context.Context, user int64) (found []bulkupdate.Document, err error) {
	err = s.stored(ctx, func(d bulkupdate.Document) error {
		if d.User == user {
			found = append(found, d)
		}
		return nil
	})
	return found, err
}

// foreignDocuments is the first id that no run has.
const foreignDocuments = 1 << 40

// Update implements bulkupdate.Session.
func (n *bulkUpdateSession) Update(ctx context.Context, user, generation int64, flag bool) bulkupdate.Reply {
	s := n.s
	if err := s.begin(ctx); err != nil {
		return bulkupdate.Reply{Reply: unsent(err)}
	}
	defer s.done()
	b := drawn(s.trial, inUpdate)
	var before []bulkupdate.Document
	var err error
	if b != nil {
		before, err = s.documents(ctx, user)
	}
	if b == nil || err != nil || len(before) < 2 {
		return s.updated(n.Session.Update(ctx, user, generation, flag), user, generation, flag)
	}
	switch b.Name {
	case "lost-ack":
		return bulkupdate.Reply{Reply: workload.Reply{Outcome: history.Committed}, Changed: int64(len(before))}
	case "late-apply":
		return bulkupdate.Reply{Reply: s.postpone(func(ctx context.Context) workload.Reply {
			return through(ctx, s.inner.Session, func(n bulkupdate.Session) workload.Reply {
				return s.updated(n.Update(ctx, user, generation, flag), user, generation, flag).Reply
			})
		})}
	}
	reply := s.updated(n.Session.Update(ctx, user, generation, flag), user, generation, flag)
	if reply.Outcome != history.Committed {
		b.strikes--
		return reply
	}
	return s.spoil(b.Name, reply, before, generation, flag)
}

// updated has documents that are shown otherwise follow an update.
func (s *bulkUpdateStore) updated(reply bulkupdate.Reply, user, generation int64, flag bool) bulkupdate.Reply {
	if reply.Outcome != history.Committed {
		return reply
	}
	for _, rows := range s.shown {
		for i := range rows {
			if rows[i].User == user {
				rows[i].Generation, rows[i].Flag = generation, flag
			}
		}
	}
	return reply
}

// spoil does what a bug does to an update that is done.
func (s *bulkUpdateStore) spoil(bug string, reply bulkupdate.Reply, before []bulkupdate.Document, generation int64, flag bool) bulkupdate.Reply {
	one := before[s.chance.IntN(len(before))]
	one.Generation, one.Flag = generation, flag
	switch bug {
	case "partial-update", "torn-update":
		// At least one is changed, and not all.
		for _, d := range before[1+s.chance.IntN(len(before)-1):] {
			s.show(d.ID, d)
		}
		if bug == "torn-update" {
			return bulkupdate.Reply{Reply: workload.Reply{Class: workload.ClassTimeout}}
		}
	case "failed-but-applied":
		return bulkupdate.Reply{Reply: made()}
	case "wrong-count":
		reply.Changed--
	case "altered-row":
		one.Payload = "altered"
		s.show(one.ID, one)
	case "flag-left":
		one.Flag = !flag
		s.show(one.ID, one)
	case "extra-row":
		s.beside(bulkupdate.Document{ID: foreignDocuments + int64(s.calls), User: one.User, Generation: generation, Flag: flag})
	case "duplicate-row":
		s.beside(one)
	}
	return reply
}
