package mongodb

import (
	"context"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"assay/history"
	"assay/workload"
	"assay/workload/keyvalue"
)

var _ keyvalue.Mutable = (*keyValueStore)(nil)

func (s *keyValueStore) LoadRecords(ctx context.Context, records []keyvalue.Record) error {
	documents := make([]bson.D, len(records))
	for i, record := range records {
		documents[i] = s.document(record)
	}
	return insertAll(ctx, s.rows, documents)
}

// FinishLoad implements keyvalue.Mutable. Every member that can be reached is waited
// for, so that reads find what was loaded wherever they go.
func (s *keyValueStore) FinishLoad(ctx context.Context) error {
	if err := s.sharedClientStore.FinishLoad(ctx); err != nil {
		return err
	}
	return s.everywhere(ctx)
}

// Scans implements keyvalue.Mutable. Nothing is promised: read concern linearizable is
// for reads of one document, and a cursor is no snapshot (MongoDB manual, "Read
// Concern linearizable"; "Read Isolation, Consistency, and Recency").
func (s *keyValueStore) Scans() (promise string, err error) { return "", nil }

func (s *keyValueStore) MutableSession(context.Context) (keyvalue.MutableSession, error) {
	n, err := s.session()
	return &keyValueSession{n, s}, err
}

// Update implements keyvalue.MutableSession by $set of all fields, which is atomic
// (MongoDB manual, "Atomicity and Transactions": "a write operation is atomic on the
// level of a single document").
func (n *keyValueSession) Update(ctx context.Context, record keyvalue.Record) keyvalue.Reply {
	counted, sent := counting(ctx)
	document := n.store.document(record)
	result, err := n.rows.UpdateOne(counted, document[:1], bson.D{{Key: "$set", Value: document[1:]}})
	if err != nil {
		return keyvalue.Reply{Reply: judgeUpdate(err, sent.commands, n.sharded)}
	}
	return keyvalue.Reply{Reply: workload.Reply{Outcome: history.Committed}, Found: result.MatchedCount > 0}
}

// Scan implements keyvalue.MutableSession, in one batch if the answer fits into one.
func (n *keyValueSession) Scan(ctx context.Context, from keyvalue.Value, limit int) ([]keyvalue.Record, keyvalue.Reply) {
	counted, sent := counting(ctx)
	var found []keyvalue.Record
	var documents []bson.Raw
	filter := bson.D{{Key: "_id", Value: bson.D{{Key: "$gte", Value: encoded(n.store.table.Key, from)}}}}
	how := options.Find().SetSort(bson.D{{Key: "_id", Value: 1}}).SetLimit(int64(limit)).SetBatchSize(int32(limit) + 1)
	cursor, err := n.rows.Find(counted, filter, how)
	if err == nil {
		err = cursor.All(counted, &documents)
	}
	for _, document := range documents {
		var record keyvalue.Record
		if record, err = n.store.record(document); err != nil {
			break
		}
		found = append(found, record)
	}
	if err != nil {
		return nil, keyvalue.Reply{Reply: withoutEffect("scan", err, sent.commands)}
	}
	return found, keyvalue.Reply{Reply: workload.Reply{Outcome: history.Committed}}
}
