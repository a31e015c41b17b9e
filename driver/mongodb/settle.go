package mongodb

import (
	"context"
	"errors"
	"fmt"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
	"go.mongodb.org/mongo-driver/v2/mongo/readconcern"

	"assay/workload/bank"
)

// settleInterval is the pause between two looks at the open transactions.
const settleInterval = 100 * time.Millisecond

// defaultLifetime is how long a transaction may stay open, the default of
// transactionLifetimeLimitSeconds.
const defaultLifetime = 60 * time.Second

// Settle waits until nothing that a session of this workload did can take
// effect any more. A transaction can as long as it is open on the primary; so
// Settle aborts what clients had to leave open, and waits until the server shows no open transaction of any
// client of this workload ($currentOp, which a user may ask about his own
// sessions). What nobody aborts, the server does after its parameter
// transactionLifetimeLimitSeconds, a minute by default.
//
// A transaction can also be committed on the primary and not yet on a majority,
// and then appear, or vanish, later. So the end is a read with read concern
// linearizable, which returns when a majority has all that the primary has.
//
// While the set has no primary, Settle waits for one.
func (s *place) Settle(ctx context.Context) error {
	for {
		doing, err := s.settle(ctx)
		if err == nil {
			return nil
		}
		if !passing(err) {
			return failed(doing, err)
		}
		timer := time.NewTimer(settleInterval)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return fmt.Errorf("mongodb: settle: %w, and still: %s: %w", ctx.Err(), doing, err)
		}
	}
}

// openError counts the transactions that are still open.
type openError struct {
	count  int
	oldest time.Duration
}

func (e *openError) Error() string {
	return fmt.Sprintf("%d transactions are open on the server, the oldest for %v", e.count, e.oldest.Round(time.Second))
}

// passing reports whether it makes sense to look again: transactions end, and a
// primary comes back.
func passing(err error) bool {
	if errors.As(err, new(*openError)) || mongo.IsNetworkError(err) || mongo.IsTimeout(err) {
		return true
	}
	switch classOf(err) {
	case bank.ClassNotPrimary, bank.ClassShutdown, bank.ClassLost, bank.ClassTimeout, classWriteConcern, classInterrupted:
		return true
	default:
		return false
	}
}

func (s *place) settle(ctx context.Context) (doing string, err error) {
	s.abortAbandoned(ctx)
	if err := s.noneOpen(ctx); err != nil {
		return "look for open transactions", err
	}
	return confirming, s.confirm(ctx)
}

const confirming = "have a majority confirm the last writes"

// confirm returns when a majority has all that the primary has.
func (s *place) confirm(ctx context.Context) error {
	marks := s.marks.Clone(options.Collection().SetReadConcern(readconcern.Linearizable()))
	err := marks.FindOne(ctx, bson.D{{Key: "_id", Value: markID}}).Err()
	if errors.Is(err, mongo.ErrNoDocuments) {
		return nil
	}
	return err
}

// noneOpen returns an *openError if the server knows of open transactions of
// this workload's clients, ours or those of a run that ended before.
func (s *place) noneOpen(ctx context.Context) error {
	cursor, err := s.admin.Aggregate(ctx, bson.A{
		bson.D{{Key: "$currentOp", Value: bson.D{{Key: "allUsers", Value: false}, {Key: "idleSessions", Value: true}}}},
		bson.D{{Key: "$match", Value: bson.D{
			{Key: "appName", Value: bson.D{{Key: "$regex", Value: "^" + appNamePrefix(s.workload)}}},
			{Key: "transaction.parameters.autocommit", Value: false},
		}}},
		bson.D{{Key: "$group", Value: bson.D{
			{Key: "_id", Value: nil},
			{Key: "count", Value: bson.D{{Key: "$sum", Value: 1}}},
			{Key: "micros", Value: bson.D{{Key: "$max", Value: "$transaction.timeOpenMicros"}}},
		}}},
	})
	if err != nil {
		return s.blind(ctx, err)
	}
	var found []struct {
		Count  int   `bson:"count"`
		Micros int64 `bson:"micros"`
	}
	if err := cursor.All(ctx, &found); err != nil {
		return err
	}
	if len(found) > 0 && found[0].Count > 0 {
		return &openError{count: found[0].Count, oldest: time.Duration(found[0].Micros) * time.Microsecond}
	}
	return nil
}

// blind waits, where the server does not show its transactions (some hosted
// ones have no $currentOp), for as long as one can stay open.
func (s *place) blind(ctx context.Context, err error) error {
	if code, answered := serverCode(err); !answered || classOfCode(code) != bank.ClassOther && code != codeUnauthorized {
		return err
	}
	lifetime := s.lifetime(ctx)
	timer := time.NewTimer(lifetime)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("the server does not show open transactions (%w), and any is over only after %v", err, lifetime)
	}
}

// lifetime is how long a transaction can stay open on the server.
func (s *place) lifetime(ctx context.Context) time.Duration {
	const name = "transactionLifetimeLimitSeconds"
	var reply struct {
		Seconds int64 `bson:"transactionLifetimeLimitSeconds"`
	}
	err := s.admin.RunCommand(ctx, bson.D{{Key: "getParameter", Value: 1}, {Key: name, Value: 1}}).Decode(&reply)
	if err != nil || reply.Seconds <= 0 {
		return defaultLifetime
	}
	return time.Duration(reply.Seconds) * time.Second
}
