package mongodb

import (
	"context"
	"errors"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
	"go.mongodb.org/mongo-driver/v2/mongo/readconcern"
	"go.mongodb.org/mongo-driver/v2/mongo/writeconcern"

	"assay/history"
	"assay/store"
)

// abortBound is how long telling the server that a transaction is over may
// take. Until it knows, what the transaction has written is closed to all others.
const abortBound = time.Second

// maxAbandoned bounds database.abandoned. What does not fit is aborted by the
// server after transactionLifetimeLimitSeconds.
const maxAbandoned = 4096

// transactor does one client's transactions, one after the other.
type transactor struct {
	db           *database
	readConcern  *readconcern.ReadConcern
	writeConcern *writeconcern.WriteConcern
	// of is the transaction under way or the latest. Its session is nil until the next.
	of serverTransaction
}

// transactor makes sure that there is a primary.
func (s *database) transactor(ctx context.Context) (*transactor, error) {
	if err := s.admin.RunCommand(ctx, bson.D{{Key: "ping", Value: 1}}).Err(); err != nil {
		return nil, failed("open a session", err)
	}
	s.abortAbandoned(ctx)
	return s.transacting(s.readConcern, s.writeConcern), nil
}

func (s *database) transacting(reads *readconcern.ReadConcern, writes *writeconcern.WriteConcern) *transactor {
	return &transactor{db: s, readConcern: reads, writeConcern: writes, of: serverTransaction{deployment: s.deployment, readConcern: reads,
		keeps: *s.options.MaxPoolSize >= maxPoolSize}} // of fewer each command takes one
}

// Close gives the session back. No transaction is open.
func (x *transactor) Close() {
	x.of.release()
	if x.of.session != nil {
		x.db.giveSession(x.of.session)
		x.of.session = nil
	}
}

// begin starts a transaction, of which the server learns with its first statement.
func (x *transactor) begin(ctx context.Context) steps {
	t := &x.of
	now := time.Now()
	if t.session == nil || now.Sub(t.session.begun) > sessionLife {
		t.session = x.db.takeSession(now)
	}
	t.leave() // who is the primary is asked for each
	t.session.number++
	t.session.begun, t.open = now, false
	sent := counting(ctx, nil)
	return steps{sent, sent, t}
}

// steps are the statements of one transaction.
type steps struct {
	ctx  context.Context // it carries the library's session, if there is one
	sent *sending
	// of is nil outside of transactions.
	of *serverTransaction
}

// outside are statements that are in no transaction, and not counted.
func outside(ctx context.Context) steps { return steps{ctx, new(sending), nil} }

// next is the context of the next statement that the library sends.
func (s steps) next() context.Context {
	s.sent.latest = false
	return s.ctx
}

// endError ends a transaction with a reply and without a commit, though no statement has
// failed.
type endError struct{ store.Reply }

func (e *endError) Error() string {
	if e.Err != nil {
		return e.Err.Error()
	}
	return "the transaction was ended: " + e.Class
}

func (e *endError) Unwrap() error { return e.Err }

// ended is an endError, because of an error if there is one.
func ended(outcome history.Outcome, class string, because ...error) error {
	return &endError{store.Reply{Outcome: outcome, Class: class, Err: errors.Join(because...)}}
}

// transact does one transaction: work, and the commit. An error of work means that it has
// ended without one: an *endError with its reply, any other because the latest statement
// has failed. A transaction without a statement is committed: the server does not know of
// it.
func (x *transactor) transact(ctx context.Context, work func(steps) error) store.Reply {
	if err := ctx.Err(); err != nil {
		return store.Reply{Outcome: history.Failed, Class: classOf(err), Err: err}
	}
	steps := x.begin(ctx)
	defer x.of.release()
	err := work(steps)
	switch end, is := errors.AsType[*endError](err); {
	case err == nil && !x.of.open:
		return store.Reply{Outcome: history.Committed}
	case err == nil:
		return x.commit(ctx, steps.sent)
	case is:
		x.abort(ctx, nil)
		return end.Reply
	}
	x.abort(ctx, err)
	return judgeStatement(err, steps.sent.latest)
}

// commit sends commitTransaction, once: what a run of assay says is what one attempt ended as. (The library's would send
// it again by itself after a network error or a change of primary, whatever retryWrites says: transactions
// specification, "UnknownTransactionCommitResult".)
func (x *transactor) commit(ctx context.Context, sent *sending) store.Reply {
	sent.commands = 0
	err := ctx.Err()
	if err == nil {
		_, err = x.of.run(sent, "admin", bson.D{{Key: "commitTransaction", Value: 1}, {Key: "writeConcern", Value: concern(x.writeConcern, x.db.majorityWait)}})
	}
	if err == nil {
		return store.Reply{Outcome: history.Committed}
	}
	r := judgeCommit(failed("commit", err), sent.commands, majority(x.writeConcern))
	if _, answered := serverCode(err); !answered || r.Outcome != history.Failed {
		x.leave(true)
	}
	return r
}

// concern is a write concern as a command takes it, with the limit to the wait for it.
func concern(w *writeconcern.WriteConcern, wait time.Duration) bson.D {
	var d bson.D
	if w.W != nil {
		d = append(d, bson.E{Key: "w", Value: w.W})
	}
	if w.Journal != nil {
		d = append(d, bson.E{Key: "j", Value: *w.Journal})
	}
	if wait > 0 {
		d = append(d, bson.E{Key: "wtimeout", Value: wait.Milliseconds()})
	}
	return d
}

// abort ends the transaction, after a statement has failed if there is an error. The server has ended
// it already if it says TransientTransactionError. Where nobody answered, the
// server is not asked now, which would only take the client's time, but when
// the next session has found it.
func (x *transactor) abort(ctx context.Context, err error) {
	_, answered := serverCode(err)
	switch {
	case err != nil && !answered:
		x.leave(x.of.open)
	case x.of.open && !hasLabel(err, labelTransient) && !x.of.abort(ctx):
		x.leave(true)
	}
}

// leave gives the session up although its transaction may be open on the
// server, which is told later. Behind routers it is not: there an abort could
// meet the commit on another way (transactions specification, "Mongos
// Pinning").
func (x *transactor) leave(open bool) {
	session, s := x.of.session, x.db
	x.of.session = nil
	x.of.release()
	if !open {
		s.giveSession(session)
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.sharded && len(s.abandoned) < maxAbandoned {
		s.abandoned = append(s.abandoned, session)
	}
}

// abortAbandoned tells the server which transactions are over, until it does
// not answer. It changes no outcome: those attempts are Failed, since they
// were never committed, or Unknown, and stay so. The sessions are not used again.
func (s *database) abortAbandoned(ctx context.Context) {
	s.mu.Lock()
	sessions := s.abandoned
	s.abandoned = nil
	s.mu.Unlock()
	x := s.transacting(s.readConcern, s.writeConcern)
	defer x.of.release()
	x.of.open = true
	for i, session := range sessions {
		x.of.session = session
		if !x.of.abort(ctx) {
			s.mu.Lock()
			s.abandoned = append(s.abandoned, sessions[i:]...)
			s.mu.Unlock()
			return
		}
	}
}

// confirmed completes the reply to an attempt whose id a collection has: the filter finds
// it by a unique key. That row may be one that a failover will take back, so it is no proof that the
// earlier attempt is committed: it is looked for again with read concern
// linearizable, which waits until a majority has confirmed it (MongoDB manual 6.0,
// "Read Concern linearizable"). With another write concern than majority nothing is
// confirmed by that.
func (x *transactor) confirmed(ctx context.Context, rows *mongo.Collection, filter bson.D, r store.Reply) store.Reply {
	if r.Class != store.ClassDuplicate || r.Outcome != history.Failed {
		return r
	}
	r.Duplicate = true
	if !majority(x.writeConcern) {
		return r
	}
	rows = rows.Clone(options.Collection().SetReadConcern(readconcern.Linearizable()))
	if err := rows.FindOne(ctx, filter).Err(); err != nil {
		r.Duplicate, r.Class, r.Err = false, classUnconfirmed, failed("confirm the earlier attempt", err)
	}
	r.Confirmed = r.Duplicate
	return r
}

// preferSnapshot has transactions read with read concern snapshot, the strongest that
// there is, unless the address names another.
func (s *settings) preferSnapshot() {
	if !s.namedReadConcern {
		s.readConcern = readconcern.Snapshot()
	}
}

// promise is the consistency model that MongoDB promises of transactions with these
// concerns, by what its manual says of them ("Transactions", "Transactions and Read Concern",
// "Transactions and Write Concern"):
//
//   - Read concern snapshot "returns data from a snapshot of majority committed
//     data if the transaction commits with write concern majority", and of two
//     transactions that write the same document one is aborted ("Production
//     Considerations", "In-progress Transactions and Write Conflicts"). That is
//     snapshot isolation, and MongoDB calls it so.
//   - Read concern majority returns, on the same condition, "data that has been
//     acknowledged by a majority of the replica set members and can't be rolled
//     back"; for a view that is one "use snapshot". That is read committed. (On a
//     replica set one "might observe stronger read isolation", says the page on
//     read concern local. What might be is no promise.)
//   - Read concern local returns data that "can be rolled back", and a
//     transaction that commits with less than majority "can be rolled back if
//     there is a failover", with "no guarantees" for what others read under
//     whatever read concern. So what was read may never have been, and what is
//     left is that nothing shows "until a transaction commits" and that writes
//     do not overtake one another: read uncommitted.
//
// The Jepsen report on MongoDB 4.2.6 found the weaker combinations to allow
// lost writes and dirty reads, and anomalies at the strongest one too, read
// skew, cyclic information flow and duplicate writes, which MongoDB took for a
// bug (fixed in 4.2.8): the promise is as above, and it is worth holding.
func (s *settings) promise() string {
	switch {
	case s.majority() && s.readConcern.Level == snapshotLevel:
		return "snapshot-isolation"
	case s.majority() && s.readConcern.Level == "majority":
		return "read-committed"
	default:
		return "read-uncommitted"
	}
}
