package bugs

import (
	"context"
	"slices"

	"assay/workload"
	"assay/workload/churn"
)

func churnBugs() []bugOf[callKinds] {
	const check = churn.CheckRows
	return []bugOf[callKinds]{
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
		{late("insert or deletion done"), inInsert | inDelete},
	}
}

// churnStore is a churn.Store with bugs.
type churnStore struct {
	*rowStore[churn.Session, int64, churn.Row]
	inner churn.Store
}

func newChurn(inner churn.Store, seeded []Seeded, seed uint64) *churnStore {
	s := &churnStore{inner: inner}
	t := newTrial(inner, inner.Create, churnBugs(), seeded, seed)
	s.rowStore = newRowStore(t, rowAccess[churn.Session, int64, churn.Row]{
		session: inner.Session, read: inner.Read,
		wrap: func(session churn.Session) churn.Session { return &churnSession{session, s} },
		key:  func(r churn.Row) int64 { return r.ID },
		altered: func(r churn.Row) churn.Row {
			r.Payload = "?" + r.Payload[min(1, len(r.Payload)):]
			return r
		},
		foreign: func(r churn.Row) churn.Row { return churn.Row{ID: foreignID + int64(t.calls), Payload: r.Payload} },
	})
	return s
}

func (s *churnStore) Repairs() []string { return s.inner.Repairs() }

func (s *churnStore) Repair(ctx context.Context, name string) error { return s.inner.Repair(ctx, name) }

// churnSession is one client's.
type churnSession struct {
	churn.Session
	s *churnStore
}

func (n *churnSession) Insert(ctx context.Context, rows []churn.Row) churn.Reply {
	rows = slices.Clone(rows)
	return n.s.write(ctx, inInsert, n.Session, func(ctx context.Context, session churn.Session, _ string) workload.Reply {
		return session.Insert(ctx, rows)
	}, func(b *active[callKinds]) workload.Reply {
		return n.s.spoil(b.Name, rows[n.s.chance.IntN(len(rows))])
	})
}

func (n *churnSession) Delete(ctx context.Context, ids []int64) churn.Reply {
	ids = slices.Clone(ids)
	return n.s.write(ctx, inDelete, n.Session, func(ctx context.Context, session churn.Session, bug string) workload.Reply {
		if bug == "undeleted" {
			one := n.s.chance.IntN(len(ids))
			if ids = slices.Delete(ids, one, one+1); len(ids) == 0 {
				return committed()
			}
		}
		return session.Delete(ctx, ids)
	}, func(b *active[callKinds]) workload.Reply {
		return n.s.spoil(b.Name, churn.Row{})
	})
}
