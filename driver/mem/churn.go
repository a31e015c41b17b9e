package mem

import (
	"context"
	"fmt"

	"assay/workload"
	"assay/workload/churn"
)

// churnStore is a churn.Store.
type churnStore struct {
	baseStore
	rows *table[int64, churn.Row]
	*disk
}

// disk is what the rows of workload churn take: how many there is space for, which
// compaction gives back, and the length of the longest payload.
type disk struct {
	reserved int64
	longest  int
}

// OpenChurn is as OpenBank.
func OpenChurn(_ context.Context, target workload.Target) (churn.Store, error) {
	return opened(target, func(b baseStore) churn.Store { return &churnStore{b, newTable[int64, churn.Row](b.d), &disk{}} })
}

func (s *churnStore) Repairs() []string { return []string{compaction} }

func (s *churnStore) Repair(_ context.Context, name string) error {
	if name != compaction {
		return fmt.Errorf("mem: there is no repair %q", name)
	}
	return s.locked(true, func() error { s.reserved = s.rows.count(); return nil })
}

func (s *churnStore) Create(ctx context.Context, marker workload.Marker) error {
	s.d.mu.Lock()
	*s.disk = disk{}
	s.d.mu.Unlock()
	return s.baseStore.Create(ctx, marker)
}

func (s *churnStore) Read(ctx context.Context, row func(churn.Row) error) error {
	return s.locked(true, func() error { return s.rows.each(ctx, row) })
}

// Size implements churn.Store: the space that rows have taken and no compaction has
// given back, of the longest row.
func (s *churnStore) Size(context.Context) (workload.Size, error) {
	return s.size(func() int64 { return max(s.reserved, s.rows.count()) * int64(s.longest+8) }, "row")
}

// churnSession is one client's.
type churnSession struct{ *churnStore }

func (s *churnStore) Session(context.Context) (churn.Session, error) {
	return &churnSession{s}, s.ready()
}

func (n *churnSession) Insert(ctx context.Context, rows []churn.Row) churn.Reply {
	return n.d.run(ctx, "insert", func(x *transaction) workload.Reply {
		n.reserved = max(n.reserved, n.rows.count()+int64(len(rows)))
		for _, r := range rows {
			if _, there := get(x, n.rows, r.ID); there {
				return duplicate()
			}
			n.longest = max(n.longest, len(r.Payload))
			put(x, n.rows, r.ID, r)
		}
		return committed()
	})
}

func (n *churnSession) Delete(ctx context.Context, ids []int64) churn.Reply {
	return n.d.run(ctx, "delete", func(x *transaction) workload.Reply {
		n.reserved = max(n.reserved, n.rows.count())
		for _, id := range ids {
			if _, there := get(x, n.rows, id); there {
				remove(x, n.rows, id)
			}
		}
		return committed()
	})
}

func (n *churnSession) Close() {}
