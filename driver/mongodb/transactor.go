package mongodb

import (
	"context"
	"errors"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
	"go.mongodb.org/mongo-driver/v2/mongo/readconcern"
	"go.mongodb.org/mongo-driver/v2/mongo/readpref"
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

// transactor does one client's transactions, one after the other. It has no
// connection of its own, but one of the pool at each command; the pool is large
// enough for all.
type transactor struct {
	db           *database
	readConcern  *readconcern.ReadConcern
	writeConcern *writeconcern.WriteConcern
	// session is the session with the server, nil until the next transaction.
	session *mongo.Session
}

// transactor makes sure that there is a primary.
func (s *database) transactor(ctx context.Context) (*transactor, error) {
	if err := s.admin.RunCommand(ctx, bson.D{{Key: "ping", Value: 1}}).Err(); err != nil {
		return nil, failed("open a session", err)
	}
	s.abortAbandoned(ctx)
	return &transactor{db: s, readConcern: s.readConcern, writeConcern: s.writeConcern}, nil
}

// Close ends the session.
func (x *transactor) Close() { x.renew() }

// renew gives up the session with the server; the next transaction begins
// another.
// The library keeps sessions for reuse, but none that had a network error.
func (x *transactor) renew() {
	if x.session != nil {
		x.session.EndSession(context.Background()) // no transaction is open: nothing is sent
		x.session = nil
	}
}

// begin starts a transaction, of which the server learns with its first
// statement.
func (x *transactor) begin() (err error) {
	if x.session == nil {
		// Causal consistency would only order a transaction after what its own
		// session has seen; on the primary that is so anyway.
		if x.session, err = x.db.client.StartSession(options.Session().SetCausalConsistency(false)); err != nil {
			return err
		}
	}
	return x.session.StartTransaction(options.Transaction().SetReadConcern(x.readConcern).
		SetWriteConcern(x.writeConcern).SetReadPreference(readpref.Primary()))
}

// steps are the statements of one transaction.
type steps struct {
	ctx  context.Context // it carries the session
	sent *sending
}

// next is the context of the next statement.
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
	if err := x.begin(); err != nil {
		return store.Reply{Outcome: history.Failed, Class: store.ClassConnect, Err: failed("begin a transaction", err), Broken: true}
	}
	sent := counting(ctx, x.session)
	sent.keeps = *x.db.options.MaxPoolSize >= maxPoolSize // of fewer the library lends one for each command
	defer sent.release()
	err := work(steps{sent, sent})
	open := sent.commands > 0
	if err == nil && open {
		return x.commit(ctx, sent)
	}
	sent.release() // the pool may have no other connection to abort by
	if err == nil {
		x.renew()
		return store.Reply{Outcome: history.Committed}
	}
	if end, is := errors.AsType[*endError](err); is {
		x.abort(ctx, nil, open)
		return end.Reply
	}
	x.abort(ctx, err, open)
	return judgeStatement(err, sent.latest)
}

// commit sends commitTransaction, once.
//
// The library's Session.CommitTransaction sends it again by itself after a
// network error or a change of primary, whatever retryWrites says (transactions
// specification, "UnknownTransactionCommitResult"). A run of assay says what
// one attempt ended as, so the command is run as any other command is: with the
// session in the context it belongs to the transaction, it goes to the same
// router, and it is not repeated. The library is then not told that the
// transaction is over; see forget.
func (x *transactor) commit(ctx context.Context, sent *sending) store.Reply {
	if err := ctx.Err(); err != nil {
		x.leave(true)
		return judgeCommit(failed("commit", err), 0, majority(x.writeConcern))
	}
	sent.commands = 0
	command := bson.D{{Key: "commitTransaction", Value: 1}, {Key: "writeConcern", Value: concern(x.writeConcern, x.db.majorityWait)}}
	err := x.db.admin.RunCommand(sent, bsonOf(command)).Err()
	if err == nil {
		forget(ctx, x.session)
		return store.Reply{Outcome: history.Committed}
	}
	r := judgeCommit(failed("commit", err), sent.commands, majority(x.writeConcern))
	if _, answered := serverCode(err); answered && r.Outcome == history.Failed {
		forget(ctx, x.session)
		x.renew()
		return r
	}
	x.leave(true)
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

// forget ends the transaction on our side alone. AbortTransaction is the
// library's only way to that; given a context that is over it looks for no server.
func forget(ctx context.Context, session *mongo.Session) {
	over, cancel := context.WithCancel(context.WithoutCancel(ctx))
	cancel()
	_ = session.AbortTransaction(counting(over, nil)) // it gives no errors that are not about the session's state
}

// abort ends the transaction, after a statement has failed if there is an error. The server has ended
// it already if it says TransientTransactionError. Where nobody answered, the
// server is not asked now, which would only take the client's time, but when
// the next session has found it.
func (x *transactor) abort(ctx context.Context, err error, open bool) {
	_, answered := serverCode(err)
	switch {
	case err != nil && !answered:
		x.leave(open)
		return
	case open && !hasLabel(err, labelTransient) && !sendAbort(ctx, x.session):
		x.leave(true)
		return
	}
	forget(ctx, x.session)
	if err != nil {
		x.renew()
	}
}

// sendAbort tells the server that the session's transaction is over, and
// reports whether the server knows. There is nothing to replicate: without a
// write concern the server would have a majority confirm what others wrote.
func sendAbort(ctx context.Context, session *mongo.Session) bool {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), abortBound)
	defer cancel()
	err := session.Client().Database("admin").RunCommand(mongo.NewSessionContext(ctx, session),
		bson.D{{Key: "abortTransaction", Value: 1}, {Key: "writeConcern", Value: bson.D{{Key: "w", Value: 1}}}}).Err()
	code, answered := serverCode(err)
	// Any refusal means that there is no such transaction, or no longer: it has
	// been aborted or committed. Only a timeout leaves that open.
	return err == nil || answered && code != codeMaxTimeMSExpired && code != codeExceededTimeLimit
}

// leave gives the session up although its transaction may be open on the
// server, which is told later. Behind routers it is not: there an abort could
// meet the commit on another way (transactions specification, "Mongos
// Pinning").
func (x *transactor) leave(open bool) {
	session := x.session
	x.session = nil
	s := x.db
	s.mu.Lock()
	kept := open && !s.sharded && len(s.abandoned) < maxAbandoned
	if kept {
		s.abandoned = append(s.abandoned, session)
	}
	s.mu.Unlock()
	if !kept {
		forget(context.Background(), session)
		session.EndSession(context.Background())
	}
}

// abortAbandoned tells the server which transactions are over, until it does
// not answer. It changes no outcome: those attempts are Failed, since they
// were never committed, or Unknown, and stay so.
func (s *database) abortAbandoned(ctx context.Context) {
	s.mu.Lock()
	sessions := s.abandoned
	s.abandoned = nil
	s.mu.Unlock()
	for i, session := range sessions {
		if !sendAbort(ctx, session) {
			s.mu.Lock()
			s.abandoned = append(s.abandoned, sessions[i:]...)
			s.mu.Unlock()
			return
		}
		forget(ctx, session)
		session.EndSession(ctx)
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
