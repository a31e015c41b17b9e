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

	"assay/internal/wait"
	"assay/store"
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
// Behind routers each of them is asked what it is doing, and through one of
// them the shards are; see noneOpen. There nothing is aborted: what clients left
// open the shards end after their lifetime limit, except for a transaction that
// all of them have prepared, which ends as its coordinator decides.
//
// While the set has no primary, Settle waits for one.
//
// What a session without a transaction sent may still be under way to the server, or wait
// there; so the sessions' client hangs up first, and the primary is asked until none of its
// connections is left, nor a write of any other to our rows. Behind routers it is they who
// have the connections, and the shards who have the writes.
func (s *database) Settle(ctx context.Context) error {
	if s.application != nil {
		if err := s.hangUp(); err != nil {
			return err
		}
		if err := lookUntil(ctx, func() (string, error) { return "look for connections", s.noneConnected(ctx) }); err != nil {
			return err
		}
	}
	return lookUntil(ctx, func() (doing string, err error) { return s.settle(ctx) })
}

// lookUntil calls look again and again until it has no error, or one that does not
// pass. At ctx's end it tells what was seen last: a look that this end has cut short
// has seen nothing.
func lookUntil(ctx context.Context, look func() (doing string, err error)) error {
	var doing string
	var seen error
	for {
		at, err := look()
		if err == nil {
			return nil
		}
		if !passing(err) {
			return failed(at, err)
		}
		if seen == nil || ctx.Err() == nil && !errors.Is(err, context.DeadlineExceeded) {
			doing, seen = at, err
		}
		if over := wait.Pause(ctx, settleInterval); over != nil {
			return fmt.Errorf("mongodb: settle: %w, and still: %s: %w", over, doing, plainly(seen))
		}
	}
}

// openError counts what is still going on.
type openError struct {
	what   string
	count  int
	oldest time.Duration // 0 if not known
}

func (e *openError) Error() string {
	text := fmt.Sprintf("%d %s", e.count, e.what)
	if e.oldest > 0 {
		text += fmt.Sprintf(", the oldest for %v", e.oldest.Round(time.Second))
	}
	return text
}

// What an openError counts.
const (
	openOnServer = "transactions are open on the server"
	busyRouter   = "statements of transactions are going on in a router"
	openRows     = "connections of this run, or writes to its rows, are open on the server"
)

// passing reports whether it makes sense to look again: transactions end, and a
// primary comes back.
func passing(err error) bool {
	if errors.As(err, new(*openError)) || mongo.IsNetworkError(err) || mongo.IsTimeout(err) {
		return true
	}
	switch classOf(err) {
	case store.ClassNotPrimary, store.ClassShutdown, store.ClassLost, store.ClassTimeout, classWriteConcern, classInterrupted, classRouting:
		return true
	default:
		return false
	}
}

func (s *database) settle(ctx context.Context) (doing string, err error) {
	s.abortAbandoned(ctx)
	if err := s.noneOpen(ctx); err != nil {
		return "look for open transactions", err
	}
	return confirming, s.confirm(ctx)
}

const confirming = "have a majority confirm the last writes"

// confirm returns when a majority has all that the primary has. A standalone server is
// all there is, and has no read concern linearizable.
func (s *database) confirm(ctx context.Context) error {
	if s.standalone {
		return nil
	}
	marks := s.marks.Clone(options.Collection().SetReadConcern(readconcern.Linearizable()))
	err := unlessMissing(marks.FindOne(ctx, byID(markID)).Err())
	if err != nil || !s.sharded {
		return err
	}
	// The mark is on one shard. A read without a filter goes to every shard that
	// has a part of the collection, and each waits for its own majority (the
	// server's jstests/sharding/linearizable_read_concern.js). What the documents
	// are is of no interest, so that the guarantee, which is of one document,
	// does not matter.
	collections, err := s.own(ctx)
	if err != nil {
		return err
	}
	for _, c := range collections {
		all := c.Clone(options.Collection().SetReadConcern(readconcern.Linearizable()))
		one := options.FindOne().SetSort(ascending("_id")).SetProjection(ascending("_id"))
		if err := unlessMissing(all.FindOne(ctx, bson.D{}, one).Err()); err != nil {
			return err
		}
	}
	return nil
}

// noneOpen returns an *openError if the server knows of open transactions of
// this workload's clients, ours or those of a run that ended before.
func (s *database) noneOpen(ctx context.Context) error {
	if s.sharded {
		// First the routers: what one of them is doing now may reach the shards
		// later.
		if err := s.atRouters(ctx, busyRouter, routerTransactions(s.of.Workload)); err != nil {
			return err
		}
	}
	pipeline := append(openTransactions(s.of.Workload), total())
	if s.sharded {
		pipeline = shardTransactions(s.of.Workload)
	}
	err := none(ctx, s.admin, openOnServer, pipeline)
	if err != nil {
		return s.blind(ctx, err)
	}
	return nil
}

// none runs a pipeline that counts (see total), and returns an *openError if that
// is not 0.
func none(ctx context.Context, admin *mongo.Database, what string, pipeline bson.A) error {
	cursor, err := admin.Aggregate(ctx, pipeline)
	if err != nil {
		return err
	}
	var found []struct {
		Count  int   `bson:"count"`
		Micros int64 `bson:"micros"`
	}
	if err := cursor.All(ctx, &found); err != nil {
		return err
	}
	if len(found) > 0 && found[0].Count > 0 {
		return &openError{what: what, count: found[0].Count, oldest: time.Duration(found[0].Micros) * time.Microsecond}
	}
	return nil
}

// blind waits, where the server does not show its transactions (some hosted
// ones have no $currentOp), for as long as one can stay open. Behind a router,
// which does not know the shards' limit, that is the default.
func (s *database) blind(ctx context.Context, err error) error {
	if !hidesOperations(err) {
		return err
	}
	lifetime := s.lifetime(ctx)
	if wait.Pause(ctx, lifetime) == nil {
		return nil
	}
	hint := ""
	if s.sharded {
		hint = "; behind a mongos that takes the right inprog, which role clusterMonitor has"
	}
	return fmt.Errorf("the server does not show open transactions (%w%s), and any is over only after %v", err, hint, lifetime)
}

// hidesOperations reports whether the error means that the server does not show
// what it is doing.
func hidesOperations(err error) bool {
	code, answered := serverCode(err)
	return answered && (code == codeUnauthorized || classOfCode(code) == store.ClassOther)
}

// lifetime is how long a transaction can stay open on the server.
func (s *database) lifetime(ctx context.Context) time.Duration {
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
