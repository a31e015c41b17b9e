package mongodb

import (
	"context"
	"errors"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"assay/store"
)

// A lease on FerretDB 1 is made of insertions and deletions by _id, which are all that is atomic
// there. An update is two statements of the database beneath, one that reads and one that writes
// the whole document by its _id (internal/handler/common/update.go, UpdateDocument, of v1.24.2),
// so that of two updates under one condition both may find it satisfied; deleteOne finds first
// and deletes what then has the _id. It has no pipeline and no $$NOW either.
//
// So each taking is a document of its own. Its _id is the next number, for which the index of
// _id lets one of several through. Who has inserted looks again: another taking that is alive
// was there first, or its holder has renewed it meanwhile, and then the new one is taken back.
// Who renews looks again as well, and gives way to what it finds. Either has written before
// it looks, so that not both miss the other. That both give way happens where a holder
// that had let its lease expire renews it at the moment at which another takes it, or where a
// number is inserted that was read long before.
//
// The processes of one run, its agents, share a token, and each takes the lease for it. A
// document is changed by processes with its token alone. Who takes deletes what is over, which
// has lower numbers than its own, so that of two of one run not each deletes the other's; who
// gives way deletes its own, by number and token.

// taking is one document.
type taking struct {
	Number int64 `bson:"_id"`
	Of     lease `bson:",inline"`
}

// alive reports whether it keeps out whoever has none of these tokens.
func (t *taking) alive(tokens ...string) bool {
	for _, own := range tokens {
		if t.Of.Token == own {
			return false
		}
	}
	return t.Of.Expires.After(t.Of.Now)
}

// told is the taking as a store.Lease; nil stays nil.
func (t *taking) told() *store.Lease {
	if t == nil {
		return nil
	}
	return store.NewLease(t.Of.Token, []byte(t.Of.Holder), t.Of.Since, t.Of.Expires.Sub(t.Of.Now))
}

// takings are all documents in the order of their numbers, with the server's clock, which
// is that of the process of FerretDB that answers. The clock is read first: what has expired
// by it had when it was read.
func (s *database) takings(ctx context.Context) (all []taking, now time.Time, err error) {
	hello, err := s.hello(ctx)
	if err == nil {
		var cursor *mongo.Cursor
		if cursor, err = s.leases().Find(ctx, bson.D{}, options.Find().SetSort(ascending("_id"))); err == nil {
			err = cursor.All(ctx, &all)
		}
	}
	for i := range all {
		all[i].Of.Now = hello.LocalTime
	}
	return all, hello.LocalTime, failed("look for a lease", err)
}

// standing is the taking that holds: one that is alive to whoever has none of the tokens, else the
// latest; nil if there is none.
func standing(all []taking, tokens ...string) (t *taking) {
	for i := range all {
		if all[i].alive(tokens...) {
			return &all[i]
		}
		t = &all[i]
	}
	return t
}

func (s *database) insertedLease(ctx context.Context) (*store.Lease, error) {
	all, _, err := s.takings(ctx)
	if err != nil {
		return nil, err
	}
	return standing(all).told(), nil
}

// errOvertaken means that others took and gave back the lease again and again.
var errOvertaken = errors.New("others take it and give it back at the same time; try again")

// insertLease is TakeLease. A number that another was quicker to insert is looked at again.
func (s *database) insertLease(ctx context.Context, holder store.Holder, text string, ttl time.Duration, gone string) error {
	for range 10 {
		all, now, err := s.takings(ctx)
		if err != nil {
			return err
		}
		next := taking{Number: 1, Of: lease{Token: holder.Token, Holder: text, Since: now, Expires: now.Add(ttl)}}
		if t := standing(all, holder.Token, gone); t != nil {
			if t.alive(holder.Token, gone) {
				return t.told().Admit(s.title(), holder.Token)
			}
			next.Number = all[len(all)-1].Number + 1
		}
		switch _, err := s.leases().InsertOne(ctx, next); {
		case mongo.IsDuplicateKeyError(err):
			continue
		case err != nil:
			return failed("take the lease", err)
		}
		if held, err := s.keepLease(ctx, next.Number, holder.Token, gone); held || err != nil {
			return err
		}
	}
	return failed("take the lease", errOvertaken)
}

// keepLease looks again after the insertion. held is false if it came too late, by the
// server's clock, or was deleted as expired. Of several takings by one run the last one stays.
func (s *database) keepLease(ctx context.Context, number int64, token, gone string) (held bool, err error) {
	all, _, err := s.takings(ctx)
	if err != nil {
		return false, err
	}
	var over []int64
	for i := range all {
		switch t := &all[i]; {
		case t.Of.Token == token && t.Number >= number:
			held = held || t.alive()
		case t.alive(token, gone):
			if err := s.deleteTakings(ctx, bson.D{{Key: "_id", Value: number}, {Key: "token", Value: token}}); err != nil {
				return false, err
			}
			return false, t.told().Admit(s.title(), token)
		case t.Number < number, t.Of.Token == gone:
			over = append(over, t.Number)
		}
	}
	if !held || over == nil {
		return held, nil
	}
	return true, s.deleteTakings(ctx, bson.D{{Key: "_id", Value: bson.D{{Key: "$in", Value: over}}}})
}

func (s *database) deleteTakings(ctx context.Context, of bson.D) error {
	_, err := s.leases().DeleteMany(ctx, of)
	return failed("take the lease", err)
}

// renewInserted is RenewLease.
func (s *database) renewInserted(ctx context.Context, token string, ttl time.Duration) error {
	var all []taking
	hello, err := s.hello(ctx)
	if err == nil {
		_, err = s.leases().UpdateOne(ctx, bson.D{{Key: "token", Value: token}},
			bson.D{{Key: "$set", Value: bson.D{{Key: "expires", Value: hello.LocalTime.Add(ttl)}}}})
	}
	if err == nil {
		all, _, err = s.takings(ctx)
	}
	if err != nil {
		return failed("renew the lease", err)
	}
	if t := standing(all, token); t != nil && t.alive(token) {
		return t.told().MayRenew(s.title(), token)
	}
	for i := range all {
		if all[i].Of.Token == token {
			return nil
		}
	}
	return standing(all).told().MayRenew(s.title(), token)
}

// releaseInserted is ReleaseLease.
func (s *database) releaseInserted(ctx context.Context, token string) error {
	_, err := s.leases().DeleteMany(ctx, bson.D{{Key: "token", Value: token}})
	return failed("release the lease", err)
}
