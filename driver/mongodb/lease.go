package mongodb

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"assay/driver/ownership"
	"assay/store"
)

// leaseCollection holds the lease, its only document, beside the mark. It is never
// sharded.
const leaseCollection = "assay_lease"

// leaseID is the _id of the lease.
const leaseID = "assay"

// lease is a store.Lease in the database. Now is not kept: it is the server's
// clock when the document was read.
type lease struct {
	Token   string    `bson:"token"`
	Holder  string    `bson:"holder"`
	Since   time.Time `bson:"since"`
	Expires time.Time `bson:"expires"`
	Now     time.Time `bson:"now"`
}

// leases is the lease's collection, written and read with a majority.
func (s *database) leases() *mongo.Collection { return s.database.Collection(leaseCollection) }

// later is the server's clock and so long (MongoDB manual, "$$NOW": the same for
// the whole pipeline).
func later(d time.Duration) bson.D {
	return bson.D{{Key: "$add", Value: bson.A{"$$NOW", d.Milliseconds()}}}
}

func literal(v any) bson.D { return bson.D{{Key: "$literal", Value: v}} }

// ReadLease implements ownership.Place: it reads the document, with the server's clock.
func (s *database) ReadLease(ctx context.Context, _ ownership.Direct) (*ownership.Row, error) {
	cursor, err := s.leases().Aggregate(ctx, bson.A{
		bson.D{{Key: "$match", Value: byID(leaseID)}},
		bson.D{{Key: "$set", Value: bson.D{{Key: "now", Value: "$$NOW"}}}},
	})
	var found []lease
	if err == nil {
		err = cursor.All(ctx, &found)
	}
	if err != nil || len(found) == 0 {
		return nil, failed("look for a lease", err)
	}
	l := found[0]
	return &ownership.Row{Lease: *store.NewLease(l.Token, []byte(l.Holder), l.Since, l.Expires.Sub(l.Now)), End: l.Expires.UnixMilli()}, nil
}

// WriteLease implements ownership.Place: it replaces the document, makes it or deletes it, in
// one atomic step that finds it as it was read.
func (s *database) WriteLease(ctx context.Context, _ ownership.Direct, was *ownership.Row, is *store.Lease) (bool, error) {
	same := append(byID(leaseID), bson.E{Key: "token", Value: bson.D{{Key: "$exists", Value: false}}}) // which is in no document
	if was != nil {
		same = append(byID(leaseID), bson.E{Key: "token", Value: was.Token}, bson.E{Key: "expires", Value: time.UnixMilli(was.End)})
	}
	if is == nil {
		result, err := s.leases().DeleteOne(ctx, same)
		return err == nil && result.DeletedCount == 1, failed("release the lease", err)
	}
	holder, err := json.Marshal(is.Holder)
	if err != nil {
		return false, failed("write the lease", err)
	}
	since := any("$$NOW")
	if !is.Since.IsZero() {
		since = is.Since
	}
	write := bson.A{bson.D{{Key: "$replaceWith", Value: bson.D{{Key: "_id", Value: leaseID}, {Key: "token", Value: literal(is.Token)},
		{Key: "holder", Value: literal(string(holder))}, {Key: "since", Value: since}, {Key: "expires", Value: later(is.Remaining)}}}}}
	// It is repeated where a primary has just gone: if it was done, it is no more as it was read.
	for range 3 {
		err = s.leases().FindOneAndUpdate(ctx, same, write, options.FindOneAndUpdate().SetUpsert(was == nil).SetReturnDocument(options.After)).Err()
		if err == nil || classOf(err) != store.ClassNotPrimary {
			break
		}
	}
	// Of two that make the document at the same time the later one is refused.
	if mongo.IsDuplicateKeyError(err) || errors.Is(err, mongo.ErrNoDocuments) {
		return false, nil
	}
	return err == nil, failed("write the lease", err)
}
