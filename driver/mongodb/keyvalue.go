package mongodb

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"
	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
	"go.mongodb.org/mongo-driver/v2/mongo/readpref"

	"assay/workload"
	"assay/workload/keyvalue"
)

// keyValueStore is a keyvalue.Store, in database assay_ and the workload's name.
// A record is a document whose _id is the key.
type keyValueStore struct {
	*sharedClientStore
	table keyvalue.Table
}

// OpenKeyValue connects to the server and returns the Store of a table; see
// openShared.
func OpenKeyValue(ctx context.Context, target workload.Target, table keyvalue.Table) (keyvalue.Store, error) {
	s, err := openShared(ctx, target, table.Workload, table.Name,
		"none: inserts and reads of single documents are no transactions; the address's readConcernLevel and w choose")
	if err != nil {
		return nil, err
	}
	return &keyValueStore{s, table}, nil
}

// Promise implements keyvalue.Promising. Read concern linearizable returns
// "data that reflects all successful majority-acknowledged writes that completed
// prior to the start of the read operation" (MongoDB manual, "Read Concern
// linearizable"), on the primary, of one document. No other read concern says
// so.
func (s *keyValueStore) Promise() string {
	c := s.application.ReadConcern
	if c == nil || c.Level != "linearizable" || s.preference.Mode() != readpref.PrimaryMode {
		return ""
	}
	if w := s.application.WriteConcern; w == nil || w.W == nil || majority(w) {
		return keyvalue.PromiseLinearizable
	}
	return ""
}

// everywhereBound is how long the members may take to have the collection.
const everywhereBound = 30 * time.Second

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

// everywhere returns when every member that can be reached has what was written with a
// majority until now.
func (s *keyValueStore) everywhere(ctx context.Context) error {
	members := &bankStore{schema: s.schema}
	replicas, _, err := members.Replicas(ctx)
	if err != nil {
		return err
	}
	bounded, cancel := context.WithTimeout(ctx, everywhereBound)
	defer cancel()
	for _, replica := range replicas {
		if err := members.CatchUp(bounded, replica); err != nil {
			return err
		}
	}
	return nil
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

// subtypeUUID is BSON's for UUIDs (BSON specification, version 1.1).
const subtypeUUID = 0x04

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
