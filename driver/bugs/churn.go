package bugs

import (
	"context"
	"slices"

	"assay/history"
	"assay/workload"
	"assay/workload/churn"
)

func churnBugs() []definition[place] {
	const check = churn.CheckRows
	return []definition[place]{
		{Bug{Name: "lost-ack", Check: check, Kinds: []string{"lost"}, Passing: true,
			Doc: "one row of an insert that is acknowledged is not there"}, inInsert},
		{Bug{Name: "undeleted", Check: check, Kinds: []string{"undeleted"}, Passing: true,
			Doc: "a deletion is acknowledged and leaves one of its rows"}, inDelete},
		{Bug{Name: "failed-but-applied", Check: check, Kinds: []string{"failed", "lost"}, Passing: true,
			Doc: "failed is answered to an insert or a deletion that is done"}, inInsert | inDelete},
		{Bug{Name: "altered-row", Check: check, Kinds: []string{"altered"}, Passing: true,
			Doc: "one row of an insert has another payload"}, inInsert},
		{Bug{Name: "duplicate-row", Check: check, Kinds: []string{"doubled", "undeleted"},
			Doc: "one row of an insert is there twice, and the second is never deleted"}, inInsert},
		{Bug{Name: "extra-row", Check: check, Kinds: []string{"foreign"},
			Doc: "a row that nobody inserted is there beside those of an insert"}, inInsert},
		{Bug{Name: "truncated-read", Check: check, Kinds: []string{"lost"},
			Doc: "a read of everything ends early and without an error"}, inRead},
		{Bug{Name: "late-apply",
			Doc: "unknown is answered and the insert or deletion done up to 64 calls later, at the latest before Settle returns; that is allowed and must be found valid"},
			inInsert | inDelete},
	}
}

// churnStore is a churn.Store with bugs.
type churnStore struct {
	*rowStore[int64, churn.Row]
	inner churn.Store
}

func newChurn(inner churn.Store, seeded []Seeded, seed uint64) *churnStore {
	t := newTrial(inner, churnBugs(), seeded, seed)
	return &churnStore{newRowStore(t, func(r churn.Row) int64 { return r.ID }, inner.Read), inner}
}

// Create implements churn.Store.
func (s *churnStore) Create(ctx context.Context, marker workload.Marker) error {
	return s.anew(ctx, func() error { return s.inner.Create(ctx, marker) })
}

// Repairs implements churn.Store.
func (s *churnStore) Repairs() []string { return s.inner.Repairs() }

// Repair implements churn.Store.
func (s *churnStore) Repair(ctx context.Context, name string) error { return s.inner.Repair(ctx, name) }

// churnSession is one client's.
type churnSession struct {
	churn.Session
	s *churnStore
}

// Session implements churn.Store.
func (s *churnStore) Session(ctx context.Context) (churn.Session, error) {
	session, err := s.inner.Session(ctx)
	if err != nil {
		return nil, err
	}
	return &churnSession{session, s}, nil
}

// Insert implements churn.Session.
func (n *churnSession) Insert(ctx context.Context, rows []churn.Row) churn.Reply {
	s := n.s
	if err := s.begin(ctx); err != nil {
		return unsent(err)
	}
	defer s.done()
	b := drawn(s.trial, inInsert)
	if b == nil || len(rows) == 0 {
		return n.Session.Insert(ctx, rows)
	}
	rows = slices.Clone(rows)
	one := s.chance.IntN(len(rows))
	row := rows[one]
	switch b.Name {
	case "late-apply":
		return s.postpone(func(ctx context.Context) workload.Reply {
			return through(ctx, s.inner.Session, func(n churn.Session) workload.Reply { return n.Insert(ctx, rows) })
		})
	case "lost-ack":
		if rows = slices.Delete(rows, one, one+1); len(rows) == 0 {
			return churn.Reply{Outcome: history.Committed}
		}
	case "altered-row":
		rows[one].Payload = "?" + row.Payload[min(1, len(row.Payload)):]
	}
	reply := n.Session.Insert(ctx, rows)
	switch {
	case reply.Outcome != history.Committed:
		b.strikes--
	case b.Name == "failed-but-applied":
		return unacknowledged(reply)
	case b.Name == "duplicate-row":
		s.beside(row)
	case b.Name == "extra-row":
		s.beside(churn.Row{ID: 1<<40 + int64(s.calls), Payload: row.Payload})
	}
	return reply
}

// Delete implements churn.Session.
func (n *churnSession) Delete(ctx context.Context, ids []int64) churn.Reply {
	s := n.s
	if err := s.begin(ctx); err != nil {
		return unsent(err)
	}
	defer s.done()
	b := drawn(s.trial, inDelete)
	if b == nil || len(ids) == 0 {
		return n.Session.Delete(ctx, ids)
	}
	ids = slices.Clone(ids)
	switch b.Name {
	case "late-apply":
		return s.postpone(func(ctx context.Context) workload.Reply {
			return through(ctx, s.inner.Session, func(n churn.Session) workload.Reply { return n.Delete(ctx, ids) })
		})
	case "undeleted":
		one := s.chance.IntN(len(ids))
		if ids = slices.Delete(ids, one, one+1); len(ids) == 0 {
			return churn.Reply{Outcome: history.Committed}
		}
	}
	reply := n.Session.Delete(ctx, ids)
	if b.Name == "failed-but-applied" {
		return unacknowledged(reply)
	}
	return reply
}
