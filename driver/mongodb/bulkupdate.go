package mongodb

import (
	"context"

	"go.mongodb.org/mongo-driver/v2/bson"

	"assay/history"
	"assay/workload"
	"assay/workload/bulkupdate"
)

// bulkUpdateStore is a bulkupdate.Store, in database assay_bulkupdate.
//
//	document {_id, owner, number, flag, generation, payload}
//
// Its sessions share one client.
type bulkUpdateStore struct{ *sharedClientStore }

// OpenBulkUpdate connects to the server and returns its Store. Updates have the
// write concern of the address, or majority. The library's retries are off.
// Errors are as with Open.
func OpenBulkUpdate(ctx context.Context, target workload.Target) (bulkupdate.Store, error) {
	s, err := openSharedByMajority(ctx, target, "bulkupdate",
		"none: an update of several documents is no transaction", "document")
	if err != nil {
		return nil, err
	}
	s.indexes = []ownIndex{{collection: s.rows.Name(), fields: []string{"owner"}}}
	return &bulkUpdateStore{s}, nil
}

// Atomic implements bulkupdate.Store: "the modification of each document is
// atomic, but the operation as a whole is not atomic" (MongoDB manual,
// "Atomicity and Transactions", of updateMany).
func (s *bulkUpdateStore) Atomic() bool { return false }

func (s *bulkUpdateStore) Load(ctx context.Context, batch []bulkupdate.Document) error {
	return insertAll(ctx, s.rows, documentsOf(bulkupdate.Columns(), batch))
}

func (s *bulkUpdateStore) FinishLoad(ctx context.Context) error {
	if err := s.makeIndexes(ctx, s.indexes); err != nil {
		return err
	}
	return s.sharedClientStore.FinishLoad(ctx)
}

// Read implements bulkupdate.Store, in one snapshot of what a majority has.
func (s *bulkUpdateStore) Read(ctx context.Context, document func(bulkupdate.Document) error) error {
	return readAll(ctx, s.sharedClientStore, bulkupdate.Columns(), document)
}

// bulkUpdateSession is a bulkupdate.Session. The shards of one update answer through
// one router.
type bulkUpdateSession struct{ sharedSession }

func (s *bulkUpdateStore) Session(context.Context) (bulkupdate.Session, error) {
	n, err := s.session()
	return &bulkUpdateSession{n}, err
}

// Update implements bulkupdate.Session: one updateMany, which is not atomic
// over its documents.
func (n *bulkUpdateSession) Update(ctx context.Context, user, generation int64, flag bool) bulkupdate.Reply {
	counted, sent := counting(ctx)
	result, err := n.rows.UpdateMany(counted, bson.D{{Key: "owner", Value: user}},
		set(bson.E{Key: "flag", Value: flag}, bson.E{Key: "generation", Value: generation}))
	if err == nil {
		return bulkupdate.Reply{Reply: workload.Reply{Outcome: history.Committed}, Changed: result.ModifiedCount}
	}
	return bulkupdate.Reply{Reply: judgeUpdate(err, sent.commands, n.sharded)}
}
