//go:build foundationdb

package foundationdb

import (
	"context"
	"errors"

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

// OpenBulkUpdate connects to the cluster and returns its Store. Errors are as
// with Open.
func OpenBulkUpdate(ctx context.Context, target workload.Target) (bulkupdate.Store, error) {
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

// Load implements bulkupdate.Store. A batch of bulkupdate.MaxBatch documents with its
// conflict ranges is some 300 kB.
func (s *bulkUpdateStore) Load(ctx context.Context, batch []bulkupdate.Document) error {
	return load(ctx, s.schema, "load documents", batch, bulkupdate.MaxBatch, func(t *transaction, d bulkupdate.Document) {
		t.Set(fdb.Key(s.key(tableDocument, d.User, d.ID)), documentValue(d))
	})
}

// Read implements bulkupdate.Store. A document's generation never goes back, as
// schema.read takes for granted: an update that comes late conflicts with those
// that were done meanwhile.
func (s *bulkUpdateStore) Read(ctx context.Context, document func(bulkupdate.Document) error) error {
	return s.read(ctx, rows(tableDocument, func(key, value []byte, d *bulkupdate.Document) (err error) {
		*d, err = s.documentOf(key, value)
		return err
	}, document))
}

// bulkUpdateSession is a bulkupdate.Session.
type bulkUpdateSession struct{ session }

func (s *bulkUpdateStore) Session(ctx context.Context) (bulkupdate.Session, error) {
	n, err := s.session(ctx)
	return &bulkUpdateSession{n}, err
}

// errTooMany says that the documents of one user do not fit into a transaction.
var errTooMany = errors.New("the user has more documents than one transaction can write; use fewer --documents")

// Update implements bulkupdate.Session, by one transaction in the place of one
// statement: it reads the user's range and writes every document of it, with
// what else the document holds. What FoundationDB limits is its own to refuse:
// five seconds, and a size that some 30,000 documents of a user reach (codes
// 1007 and 2101, both proof that nothing was written). A document that another
// inserts or updates meanwhile is a conflict, since the whole range was read.
func (n *bulkUpdateSession) Update(ctx context.Context, user, generation int64, flag bool) bulkupdate.Reply {
	changed := int64(0)
	r := bulkupdate.Reply{Reply: n.transact(ctx, "update", func(t *transaction) (reply workload.Reply, err error) {
		documents, err := n.documents(t, user)
		if errors.Is(err, errTooMany) {
			return refused(classTooLarge, "update", err), nil
		}
		for i := 0; err == nil && i < len(documents); i++ {
			var d bulkupdate.Document
			if d, err = n.documentOf(documents[i].Key, documents[i].Value); err == nil {
				d.Generation, d.Flag = generation, flag
				t.Set(documents[i].Key, documentValue(d))
			}
		}
		changed = int64(len(documents))
		return committed(), err
	})}
	if r.Outcome == history.Committed {
		r.Changed = changed
	}
	return r
}

// documents reads a user's documents before any of them is written, so that the
// client need not look for its own writes in what it reads.
func (n *bulkUpdateSession) documents(t *transaction, user int64) ([]fdb.KeyValue, error) {
	var found []fdb.KeyValue
	begin, end := n.rows(tableDocument, user)
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
