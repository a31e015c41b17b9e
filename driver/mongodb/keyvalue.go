package mongodb

import (
	"context"
	"errors"
	"fmt"

	"github.com/google/uuid"
	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"assay/history"
	"assay/workload"
	"assay/workload/keyvalue"
)

// keyValueStore is a keyvalue.Store, in database assay_ and the workload's name.
// A record is a document whose _id is the key.
type keyValueStore struct {
	*sharedClientStore
	table keyvalue.Table
}

var _ keyvalue.Mutable = (*keyValueStore)(nil)

// OpenKeyValue connects to the server and returns the Store of a table; see
// openShared.
func OpenKeyValue(ctx context.Context, target workload.Target, table keyvalue.Table) (keyvalue.Store, error) {
	s, err := openShared(ctx, target, table.Workload,
		"none: inserts and reads of single documents are no transactions; the address's readConcernLevel and w choose", table.Name)
	return &keyValueStore{s, table}, err
}

// Promise implements keyvalue.Promising.
func (s *keyValueStore) Promise() string {
	return s.promiseReads()
}

// Create implements keyvalue.Store. The schema is written with a majority; then
// every member that can be reached is waited for, so that reads find the
// collection wherever they go. Without it they would find no row, which is no
// error.
func (s *keyValueStore) Create(ctx context.Context, m workload.Marker) error {
	if err := s.schema.Create(ctx, m); err != nil {
		return err
	}
	return s.everywhere(ctx)
}

// Read implements keyvalue.Store, in one snapshot of what a majority has.
func (s *keyValueStore) Read(ctx context.Context, use func(keyvalue.Record) error) error {
	return s.view(ctx, func(ctx context.Context) error {
		return each(ctx, s.rows, options.Find(), func(document bson.Raw) error {
			record, err := s.record(document)
			if err != nil {
				return err
			}
			return use(record)
		})
	})
}

// encoded is a value in BSON.
func encoded(c keyvalue.Column, v keyvalue.Value) any {
	switch x := v.(type) {
	case uuid.UUID:
		return bson.Binary{Subtype: subtypeUUID, Data: x[:]}
	case int64:
		if c.Type == keyvalue.Integer {
			return int32(x)
		}
	}
	return v
}

// document is a record in BSON.
func (s *keyValueStore) document(r keyvalue.Record) bson.D {
	d := bson.D{{Key: "_id", Value: encoded(s.table.Key, r.Key)}}
	for i, c := range s.table.Columns {
		d = append(d, bson.E{Key: c.Name, Value: encoded(c, r.Values[i])})
	}
	return d
}

// record is the inverse of document.
func (s *keyValueStore) record(document bson.Raw) (r keyvalue.Record, err error) {
	if r.Key, err = s.value("_id", s.table.Key.Type, document.Lookup("_id")); err != nil {
		return keyvalue.Record{}, err
	}
	r.Values = make([]keyvalue.Value, len(s.table.Columns))
	for i, c := range s.table.Columns {
		if r.Values[i], err = s.value(c.Name, c.Type, document.Lookup(c.Name)); err != nil {
			return keyvalue.Record{}, err
		}
	}
	return r, nil
}

// value reads a field, which must be there with its own type of BSON; a float is
// no whole number, whatever its value.
func (s *keyValueStore) value(name string, kind keyvalue.Type, raw bson.RawValue) (keyvalue.Value, error) {
	switch kind {
	case keyvalue.Text:
		if text, ok := raw.StringValueOK(); ok {
			return text, nil
		}
	case keyvalue.UUID:
		if subtype, data, ok := raw.BinaryOK(); ok && subtype == subtypeUUID && len(data) == 16 {
			return uuid.UUID(data), nil
		}
	default:
		var n int64
		if integer(raw, &n) {
			return n, nil
		}
	}
	return nil, fmt.Errorf("mongodb: collection %s: field %s of a document is missing or of another type", s.rows.Name(), name)
}

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

type keyValueSession struct {
	sharedSession
	store *keyValueStore
}

func (s *keyValueStore) Session(context.Context) (keyvalue.Session, error) {
	n, err := s.session()
	return &keyValueSession{n, s}, err
}

func (s *keyValueStore) MutableSession(context.Context) (keyvalue.MutableSession, error) {
	n, err := s.session()
	return &keyValueSession{n, s}, err
}

// Insert implements keyvalue.Session; see judgeInsert for how it ends.
func (n *keyValueSession) Insert(ctx context.Context, record keyvalue.Record) keyvalue.Reply {
	counted, sent := counting(ctx)
	_, err := n.rows.InsertOne(counted, n.store.document(record))
	return keyvalue.Reply{Reply: judgeInsert(err, sent.commands)}
}

func (n *keyValueSession) Get(ctx context.Context, key keyvalue.Value) keyvalue.Reply {
	counted, sent := counting(ctx)
	document, err := n.rows.FindOne(counted, byID(encoded(n.store.table.Key, key))).Raw()
	if errors.Is(err, mongo.ErrNoDocuments) {
		return keyvalue.Reply{Reply: workload.Reply{Outcome: history.Committed}}
	}
	r := keyvalue.Reply{Reply: workload.Reply{Outcome: history.Committed}, Found: true}
	if err == nil {
		r.Record, err = n.store.record(document)
	}
	if err == nil {
		return r
	}
	return keyvalue.Reply{Reply: withoutEffect("get", err, sent.commands)}
}

// Update implements keyvalue.MutableSession by $set of all fields, which is atomic
// (MongoDB manual, "Atomicity and Transactions": "a write operation is atomic on the
// level of a single document").
func (n *keyValueSession) Update(ctx context.Context, record keyvalue.Record) keyvalue.Reply {
	counted, sent := counting(ctx)
	document := n.store.document(record)
	result, err := n.rows.UpdateOne(counted, document[:1], set(document[1:]...))
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
	filter := byID(bson.D{{Key: "$gte", Value: encoded(n.store.table.Key, from)}})
	how := options.Find().SetSort(ascending("_id")).SetLimit(int64(limit)).SetBatchSize(int32(limit) + 1)
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
