package mongodb

import (
	"context"
	"encoding/json"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

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

// Lease reads the document, with the server's clock.
func (s *database) Lease(ctx context.Context) (*store.Lease, error) {
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
	return store.NewLease(l.Token, []byte(l.Holder), l.Since, l.Expires.Sub(l.Now)), nil
}

// admit gives *store.HeldError if another holds the lease.
func (s *database) admit(ctx context.Context) error {
	l, err := s.Lease(ctx)
	if err != nil {
		return err
	}
	return l.Admit(s.title(), s.taken.Holder().Token)
}

// title is what the database is called in errors.
func (s *database) title() string { return "database " + s.database.Name() }

// refuse says who has the lease, which has just been found to be another's.
func (s *database) refuse(ctx context.Context) error {
	l, err := s.Lease(ctx)
	if err != nil {
		return err
	}
	return l.MayRenew(s.title(), "") // which is nobody's
}

// TakeLease replaces the document, or makes it, in one atomic step that leaves it
// as it is if another's is alive: of several that come at the same time one is
// first, and the others find its.
func (s *database) TakeLease(ctx context.Context, holder store.Holder, ttl time.Duration, gone string) error {
	text, err := json.Marshal(holder)
	if err != nil {
		return failed("take the lease", err)
	}
	if _, err := s.Marker(ctx); err != nil {
		return err
	}
	free := bson.D{{Key: "$or", Value: bson.A{
		// A field that is missing is less than any date.
		bson.D{{Key: "$lte", Value: bson.A{"$expires", "$$NOW"}}},
		bson.D{{Key: "$in", Value: bson.A{"$token", literal(bson.A{holder.Token, gone})}}},
	}}}
	taken := bson.D{{Key: "_id", Value: leaseID}, {Key: "token", Value: literal(holder.Token)}, {Key: "holder", Value: literal(string(text))},
		{Key: "since", Value: "$$NOW"}, {Key: "expires", Value: later(ttl)}}
	take := bson.A{bson.D{{Key: "$replaceWith", Value: bson.D{{Key: "$cond", Value: bson.A{free, taken, "$$ROOT"}}}}}}
	var after lease
	// Done again it does the same, so it is repeated where two made the document at the
	// same time, of which the later one is refused, and where a primary has just gone.
	for range 3 {
		err = s.leases().FindOneAndUpdate(ctx, byID(leaseID), take,
			options.FindOneAndUpdate().SetUpsert(true).SetReturnDocument(options.After)).Decode(&after)
		if !mongo.IsDuplicateKeyError(err) && (err == nil || classOf(err) != store.ClassNotPrimary) {
			break
		}
	}
	switch {
	case err != nil:
		return failed("take the lease", err)
	case after.Token != holder.Token:
		return s.refuse(ctx)
	}
	s.taken.Set(holder)
	return nil
}

// RenewLease moves the expiry on.
func (s *database) RenewLease(ctx context.Context, token string, ttl time.Duration) error {
	result, err := s.leases().UpdateOne(ctx, bson.D{{Key: "_id", Value: leaseID}, {Key: "token", Value: token}},
		bson.A{bson.D{{Key: "$set", Value: bson.D{{Key: "expires", Value: later(ttl)}}}}})
	if err == nil && result.MatchedCount == 0 {
		return s.refuse(ctx)
	}
	return failed("renew the lease", err)
}

// ReleaseLease deletes the document.
func (s *database) ReleaseLease(ctx context.Context, token string) error {
	_, err := s.leases().DeleteOne(ctx, bson.D{{Key: "_id", Value: leaseID}, {Key: "token", Value: token}})
	return failed("release the lease", err)
}
