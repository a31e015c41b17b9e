//go:build foundationdb

package foundationdb

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/apple/foundationdb/bindings/go/src/fdb"

	"assay/history"
	"assay/workload"
	"assay/workload/bulkupdate"
)

// bulkUpdateStore is a bulkupdate.Store, under ("assay", "bulkupdate"):
//
//	("document", user, id) = number, flag, generation; payload
//
// the value as appendRecord makes it. The documents of one user are one range
// of keys, so that there is no index to build: FoundationDB's own order of keys
// is it.
type bulkUpdateStore struct{ *schema }

var _ bulkupdate.Store = (*bulkUpdateStore)(nil)

// OpenBulkUpdate connects to the cluster and returns its Store. Errors are as
// with OpenBank.
func OpenBulkUpdate(ctx context.Context, target workload.Target) (bulkupdate.Store, error) {
	if err := primaryOnly(target); err != nil {
		return nil, err
	}
	p, err := openSchema(ctx, target, "bulkupdate", tableDocument)
	if err != nil {
		return nil, err
	}
	return &bulkUpdateStore{p}, nil
}

// Atomic implements bulkupdate.Store: "Transactions group operations into a
// unit with the properties of atomicity, isolation, and durability" (Go
// binding, Transaction).
func (s *bulkUpdateStore) Atomic() bool { return true }

// Waits implements bulkupdate.Store. FoundationDB has no locks that a
// transaction could wait for: it commits or it is refused as a conflict.
func (s *bulkUpdateStore) Waits(context.Context) ([]bulkupdate.Wait, error) { return nil, nil }

// Load implements bulkupdate.Store. A batch of bulkupdate.MaxBatch documents
// with its conflict ranges is some 300 kB; see LoadAccounts for the limits.
func (s *bulkUpdateStore) Load(ctx context.Context, batch []bulkupdate.Document) error {
	for part := range slices.Chunk(batch, bulkupdate.MaxBatch) {
		_, err := s.change(ctx, "load documents", func(t *transaction) error {
			if _, err := s.ours(t); err != nil {
				return err
			}
			for _, d := range part {
				t.Set(fdb.Key(s.key(tableDocument, d.User, d.ID)), documentValue(d))
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// FinishLoad implements bulkupdate.Store. There is nothing to build.
func (s *bulkUpdateStore) FinishLoad(ctx context.Context) error { return s.finishLoad(ctx) }

// Read implements bulkupdate.Store. A document's generation never goes back, as
// schema.read takes for granted: an update that comes late conflicts with those
// that were done meanwhile.
func (s *bulkUpdateStore) Read(ctx context.Context, document func(bulkupdate.Document) error) error {
	return s.read(ctx, span{tableDocument, func(key, value []byte) error {
		d, err := s.documentOf(key, value)
		if err != nil {
			return fmt.Errorf("foundationdb: read: %w", err)
		}
		return document(d)
	}})
}

// bulkUpdateSession is a bulkupdate.Session.
type bulkUpdateSession struct{ store *bulkUpdateStore }

func (s *bulkUpdateStore) Session(ctx context.Context) (bulkupdate.Session, error) {
	if _, err := s.look(ctx, "open a session", s.ours); err != nil {
		return nil, err
	}
	return &bulkUpdateSession{s}, nil
}

func (n *bulkUpdateSession) Close() {}

// maxTransaction is the most bytes that a transaction may affect: what it
// writes, with the keys and ranges that it reads and writes (manual, "Known
// Limitations": "Transaction size cannot exceed 10,000,000 bytes of affected
// data").
const maxTransaction = 10_000_000

// errTooMany says that the documents of one user do not fit into a transaction.
var errTooMany = errors.New("the user has more documents than one transaction can write; use fewer --documents")

// Update implements bulkupdate.Session, by one transaction in the place of one
// statement: it reads the user's range and writes every document of it, with
// what else the document holds. What FoundationDB limits is its own to refuse:
// five seconds, and a size that some 30,000 documents of a user reach (codes
// 1007 and 2101, both proof that nothing was written). A document that another
// inserts or updates meanwhile is a conflict, since the whole range was read.
func (n *bulkUpdateSession) Update(ctx context.Context, user, generation int64, flag bool) bulkupdate.Reply {
	t, err := begin(ctx, n.store.db)
	if err != nil {
		return bulkupdate.Reply{Reply: notBegun(ctx, err)}
	}
	defer t.end()
	documents, err := n.documents(t, user)
	if errors.Is(err, errTooMany) {
		return bulkupdate.Reply{Reply: workload.Reply{Outcome: history.Failed, Class: classTooLarge, Err: fmt.Errorf("foundationdb: update: %w", err)}}
	}
	if err != nil {
		return bulkupdate.Reply{Reply: t.failure("update", err)}
	}
	for _, kv := range documents {
		d, err := n.store.documentOf(kv.Key, kv.Value)
		if err != nil {
			return bulkupdate.Reply{Reply: t.failure("update", err)}
		}
		d.Generation, d.Flag = generation, flag
		t.Set(kv.Key, documentValue(d))
	}
	if err := t.commit(); err != nil {
		return bulkupdate.Reply{Reply: t.failure("commit an update", err)}
	}
	return bulkupdate.Reply{Reply: workload.Reply{Outcome: history.Committed}, Changed: int64(len(documents))}
}

// documents reads a user's documents before any of them is written, so that the
// client need not look for its own writes in what it reads.
func (n *bulkUpdateSession) documents(t *transaction, user int64) ([]fdb.KeyValue, error) {
	if err := t.guard(n.store.mark()); err != nil {
		return nil, err
	}
	var found []fdb.KeyValue
	begin, end := n.store.rows(tableDocument, user)
	rows, bytes := t.GetRange(keyRange(begin, end), fdb.RangeOptions{Mode: fdb.StreamingModeWantAll}).Iterator(), 0
	for rows.Advance() {
		kv, err := rows.Get()
		if err != nil {
			return nil, err
		}
		if bytes += len(kv.Key) + len(kv.Value); bytes > maxTransaction {
			return nil, errTooMany
		}
		found = append(found, kv)
	}
	return found, nil
}
