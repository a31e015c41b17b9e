package bugs

import (
	"context"

	"assay/history"
	"assay/workload"
	"assay/workload/bulkupdate"
)

// An update that a later one of the same user has replaced is seen no more; so
// what a bug does in the rounds before the last is passing.
func bulkUpdateBugs() []bugOf[callKinds] {
	const documents, counts = bulkupdate.CheckDocuments, bulkupdate.CheckCounts
	return []bugOf[callKinds]{
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
		{late("update done"), inUpdate},
	}
}

// bulkUpdateStore is a bulkupdate.Store with bugs.
type bulkUpdateStore struct {
	*rowStore[bulkupdate.Session, int64, bulkupdate.Document]
	inner bulkupdate.Store
}

func newBulkUpdate(inner bulkupdate.Store, seeded []Seeded, seed uint64) *bulkUpdateStore {
	s := &bulkUpdateStore{inner: inner}
	t := newTrial(inner, inner.Create, bulkUpdateBugs(), seeded, seed)
	s.rowStore = newRowStore(t, rowAccess[bulkupdate.Session, int64, bulkupdate.Document]{
		session: inner.Session, read: inner.Read,
		wrap: func(session bulkupdate.Session) bulkupdate.Session { return &bulkUpdateSession{session, s} },
		key:  func(d bulkupdate.Document) int64 { return d.ID },
		altered: func(d bulkupdate.Document) bulkupdate.Document {
			d.Payload = "altered"
			return d
		},
		foreign: func(d bulkupdate.Document) bulkupdate.Document {
			d.ID, d.Payload = foreignID+int64(t.calls), ""
			return d
		},
	})
	return s
}

func (s *bulkUpdateStore) Load(ctx context.Context, batch []bulkupdate.Document) error {
	return s.inner.Load(ctx, batch)
}

func (s *bulkUpdateStore) FinishLoad(ctx context.Context) error { return s.inner.FinishLoad(ctx) }

func (s *bulkUpdateStore) Waits(ctx context.Context) ([]bulkupdate.Wait, error) {
	return s.inner.Waits(ctx)
}

func (s *bulkUpdateStore) Atomic() bool { return s.inner.Atomic() }

// bulkUpdateSession is one client's.
type bulkUpdateSession struct {
	bulkupdate.Session
	s *bulkUpdateStore
}

func (n *bulkUpdateSession) Update(ctx context.Context, user, generation int64, flag bool) (reply bulkupdate.Reply) {
	s := n.s
	var before []bulkupdate.Document
	send := func(ctx context.Context, session bulkupdate.Session, bug string) workload.Reply {
		if bug != "" && bug != lateApply {
			before = s.documents(ctx, user)
		}
		answer := session.Update(ctx, user, generation, flag)
		if answer.Outcome == history.Committed {
			s.follow(user, generation, flag)
		}
		if bug != lateApply { // which is sent when this call has long returned
			reply = answer
		}
		return answer.Reply
	}
	reply.Reply = s.write(ctx, inUpdate, n.Session, send, func(b *active[callKinds]) workload.Reply {
		if len(before) < 2 {
			b.strikes--
			return reply.Reply
		}
		if b.Name == "wrong-count" {
			reply.Changed--
		}
		return s.spoilUpdate(b.Name, before, generation, flag)
	})
	if reply.Outcome != history.Committed {
		reply.Changed = 0
	}
	return reply
}

// documents are those of one user, as they are shown; none if they cannot be read.
func (s *bulkUpdateStore) documents(ctx context.Context, user int64) (found []bulkupdate.Document) {
	err := s.stored(ctx, func(d bulkupdate.Document) error {
		if d.User == user {
			found = append(found, d)
		}
		return nil
	})
	if err != nil {
		return nil
	}
	return found
}

// follow has documents that are shown otherwise follow an update.
func (s *bulkUpdateStore) follow(user, generation int64, flag bool) {
	for _, rows := range s.shown {
		for i := range rows {
			if rows[i].User == user {
				rows[i].Generation, rows[i].Flag = generation, flag
			}
		}
	}
}

// spoilUpdate does what a bug does to an update of documents that is done.
func (s *bulkUpdateStore) spoilUpdate(bug string, before []bulkupdate.Document, generation int64, flag bool) workload.Reply {
	first := 0
	switch bug {
	case "partial-update", "torn-update": // at least one is changed, and not all
		first = 1 + s.chance.IntN(len(before)-1)
		fallthrough
	case "lost-ack":
		for _, d := range before[first:] {
			s.show(d.ID, d)
		}
		if bug == "torn-update" {
			return unknown()
		}
		return committed()
	}
	one := before[s.chance.IntN(len(before))]
	one.Generation, one.Flag = generation, flag
	if bug == "flag-left" {
		one.Flag = !flag
		s.show(one.ID, one)
	}
	return s.spoil(bug, one)
}
