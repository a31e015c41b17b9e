package mem

import (
	"context"
	"unsafe"

	"assay/history"
	"assay/workload"
	"assay/workload/bulkupdate"
)

// bulkUpdateStore is a bulkupdate.Store.
type bulkUpdateStore struct {
	baseStore
	documents *table[int64, bulkupdate.Document]
	// of has the documents of each user.
	of *table[int64, []int64]
}

// OpenBulkUpdate is as OpenBank.
func OpenBulkUpdate(_ context.Context, target workload.Target) (bulkupdate.Store, error) {
	return opened(target, func(b baseStore) bulkupdate.Store {
		return &bulkUpdateStore{b, newTable[int64, bulkupdate.Document](b.d), newTable[int64, []int64](b.d)}
	})
}

func (s *bulkUpdateStore) Atomic() bool { return true }

// Waits implements bulkupdate.Store: nothing is counted.
func (s *bulkUpdateStore) Waits(context.Context) ([]bulkupdate.Wait, error) { return nil, nil }

func (s *bulkUpdateStore) Load(_ context.Context, batch []bulkupdate.Document) error {
	return s.locked(true, func() error {
		x := s.d.begin()
		defer x.end()
		for _, document := range batch {
			put(x, s.documents, document.ID, document)
			update(x, s.of, document.User, func(ids []int64) []int64 { return append(ids, document.ID) })
		}
		x.commit()
		return nil
	})
}

func (s *bulkUpdateStore) Read(ctx context.Context, document func(bulkupdate.Document) error) error {
	return s.locked(true, func() error { return s.documents.each(ctx, document) })
}

func (s *bulkUpdateStore) Size(context.Context) (workload.Size, error) {
	return s.size(func() int64 {
		return s.documents.count() * int64(unsafe.Sizeof(bulkupdate.Document{})+bulkupdate.PayloadBytes)
	}, "document")
}

// bulkUpdateSession is one client's.
type bulkUpdateSession struct{ *bulkUpdateStore }

func (s *bulkUpdateStore) Session(context.Context) (bulkupdate.Session, error) {
	return &bulkUpdateSession{s}, s.ready()
}

// Update implements bulkupdate.Session. A context that ends before it has begun
// ends it.
func (n *bulkUpdateSession) Update(ctx context.Context, user, generation int64, flag bool) (reply bulkupdate.Reply) {
	changed := int64(0)
	reply.Reply = n.d.run(ctx, "update", func(x *transaction) workload.Reply {
		ids, _ := get(x, n.of, user)
		for _, id := range ids {
			document, _ := get(x, n.documents, id)
			document.Flag, document.Generation = flag, generation
			put(x, n.documents, id, document)
		}
		changed = int64(len(ids))
		return committed()
	})
	if reply.Outcome == history.Committed {
		reply.Changed = changed
	}
	return reply
}

func (n *bulkUpdateSession) Close() {}
