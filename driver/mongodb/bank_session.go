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

	"assay/history"
	"assay/workload/bank"
)

// abortBound is how long telling the server that a transaction is over may
// take. Until it knows, the transaction's accounts are closed to all others.
const abortBound = time.Second

// maxAbandoned bounds bankStore.abandoned. What does not fit is aborted by the
// server after transactionLifetimeLimitSeconds.
const maxAbandoned = 4096

// bankSession is a bank.Session. It has no connection of its own, but one of
// the pool at each command; the pool is large enough for all.
type bankSession struct {
	store *bankStore
	// session is the session with the server, nil until the next transfer.
	session *mongo.Session
}

// Session implements bank.Store. It makes sure that there is a primary.
func (s *bankStore) Session(ctx context.Context) (bank.Session, error) {
	if err := s.admin.RunCommand(ctx, bson.D{{Key: "ping", Value: 1}}).Err(); err != nil {
		return nil, failed("open a session", err)
	}
	s.abortAbandoned(ctx)
	return &bankSession{store: s}, nil
}

// Close implements bank.Session.
func (b *bankSession) Close() { b.renew() }

// renew gives up the session with the server; the next transfer begins another.
// The library keeps sessions for reuse, but none that had a network error.
func (b *bankSession) renew() {
	if b.session != nil {
		b.session.EndSession(context.Background()) // no transaction is open: nothing is sent
		b.session = nil
	}
}

// Transfer implements bank.Session: the two accounts in ascending order of id,
// then the journal, then the commit.
func (b *bankSession) Transfer(ctx context.Context, t bank.Transfer) bank.Reply {
	if err := ctx.Err(); err != nil {
		return bank.Reply{Outcome: history.Failed, Class: classOf(err), Err: err}
	}
	if err := b.begin(); err != nil {
		return bank.Reply{Outcome: history.Failed, Class: bank.ClassConnect, Err: failed("begin a transaction", err), Broken: true}
	}
	counted, sent := counting(ctx)
	a := &attempt{store: b.store, sent: sent, transfer: t}
	if ended := a.statements(mongo.NewSessionContext(counted, b.session)); ended != nil {
		b.abort(ctx, *ended, sent.commands > 0)
		return b.confirmed(ctx, t, *ended)
	}
	r := b.commit(ctx)
	if r.Outcome == history.Committed {
		r.Source, r.Destination = a.source, a.destination
	}
	return r
}

// begin starts a transaction, of which the server learns with its first
// statement.
func (b *bankSession) begin() (err error) {
	if b.session == nil {
		// Causal consistency would only order a transaction after what its own
		// session has seen; on the primary that is so anyway.
		if b.session, err = b.store.client.StartSession(options.Session().SetCausalConsistency(false)); err != nil {
			return err
		}
	}
	return b.session.StartTransaction(options.Transaction().SetReadConcern(b.store.readConcern).
		SetWriteConcern(b.store.writeConcern).SetReadPreference(readpref.Primary()))
}

// attempt is one transfer up to its commit.
type attempt struct {
	store    *bankStore
	transfer bank.Transfer
	// sent counts the commands of the whole transaction.
	sent *sending
	// source and destination are the states that the transaction leaves.
	source, destination bank.State
}

// statements does everything but the commit. A reply means that the transfer
// has ended without it. ctx carries the session.
func (a *attempt) statements(ctx context.Context) (ended *bank.Reply) {
	t := a.transfer
	debit := func() error { return a.change(ctx, t.Source, -t.Amount, &a.source) }
	credit := func() error { return a.change(ctx, t.Destination, t.Amount, &a.destination) }
	order := []func() error{debit, credit}
	if t.Destination < t.Source {
		order = []func() error{credit, debit}
	}
	for _, change := range order {
		err := change()
		if errors.Is(err, mongo.ErrNoDocuments) {
			return a.explain(ctx)
		}
		if err != nil {
			return a.lost("change an account", err)
		}
	}
	a.sent.latest = false
	_, err := a.store.transfers.InsertOne(ctx, bson.D{
		{Key: "_id", Value: t.ID}, {Key: "source", Value: t.Source}, {Key: "destination", Value: t.Destination},
		{Key: "amount", Value: t.Amount}, {Key: "source_version", Value: a.source.Version},
		{Key: "destination_version", Value: a.destination.Version},
	})
	if err != nil {
		return a.lost("write the journal", err)
	}
	return nil
}

// lost is the reply when a statement has failed.
func (a *attempt) lost(doing string, err error) *bank.Reply {
	r := judgeStatement(failed(doing, err), a.sent.latest)
	return &r
}

// change adds to an account's balance, if that does not make it negative, and
// to its version, and gives the state that this leaves. mongo.ErrNoDocuments
// means that no account has the id, or that it has too little.
func (a *attempt) change(ctx context.Context, id, amount int64, left *bank.State) error {
	a.sent.latest = false
	filter := bson.D{{Key: "_id", Value: id}}
	if amount < 0 {
		filter = append(filter, bson.E{Key: "balance", Value: bson.D{{Key: "$gte", Value: -amount}}})
	}
	update := bson.D{{Key: "$inc", Value: bson.D{{Key: "balance", Value: amount}, {Key: "version", Value: int64(1)}}}}
	document, err := a.store.accounts.FindOneAndUpdate(ctx, filter, update,
		options.FindOneAndUpdate().SetReturnDocument(options.After)).Raw()
	if err != nil {
		return err
	}
	account, err := accountOf(document)
	left.Balance, left.Version = account.Balance, account.Version
	return err
}

// explain finds out, in the same transaction, why an account could not be
// changed: the journal has the transfer already, there is no such account, or
// it has too little.
func (a *attempt) explain(ctx context.Context) *bank.Reply {
	repeated, err := a.has(ctx, a.store.transfers, a.transfer.ID)
	if err == nil && repeated {
		return &bank.Reply{Outcome: history.Failed, Class: bank.ClassDuplicate}
	}
	class := bank.ClassNoFunds
	for _, id := range []int64{a.transfer.Source, a.transfer.Destination} {
		var there bool
		if err != nil {
			break
		}
		if there, err = a.has(ctx, a.store.accounts, id); !there {
			class = bank.ClassNoAccount
		}
	}
	if err != nil {
		return a.lost("look for the account", err)
	}
	return &bank.Reply{Outcome: history.Rejected, Class: class}
}

func (a *attempt) has(ctx context.Context, c *mongo.Collection, id int64) (bool, error) {
	a.sent.latest = false
	err := c.FindOne(ctx, bson.D{{Key: "_id", Value: id}}, options.FindOne().SetProjection(bson.D{{Key: "_id", Value: 1}})).Err()
	if errors.Is(err, mongo.ErrNoDocuments) {
		return false, nil
	}
	return err == nil, err
}

// confirmed completes the reply to a transfer whose id the journal has. That
// row may be one that a failover will take back, so it is no proof that the
// earlier attempt is committed: it is looked for again with read concern
// linearizable, which waits until a majority has confirmed it (MongoDB manual,
// "Read Concern linearizable"). With w:1 a commit is acknowledged on no better
// ground either.
func (b *bankSession) confirmed(ctx context.Context, t bank.Transfer, r bank.Reply) bank.Reply {
	if r.Class != bank.ClassDuplicate {
		return r
	}
	r.Duplicate = true
	if b.store.writeConcern.W == 1 {
		return r
	}
	transfers := b.store.transfers.Clone(options.Collection().SetReadConcern(readconcern.Linearizable()))
	if err := transfers.FindOne(ctx, bson.D{{Key: "_id", Value: t.ID}}).Err(); err != nil {
		r.Duplicate, r.Class, r.Err = false, classUnconfirmed, failed("confirm the earlier attempt", err)
	}
	return r
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
func (b *bankSession) commit(ctx context.Context) bank.Reply {
	if err := ctx.Err(); err != nil {
		b.leave(true)
		return judgeCommit(failed("commit", err), 0, b.store.majority())
	}
	counted, sent := counting(ctx)
	command := bson.D{{Key: "commitTransaction", Value: 1}, {Key: "writeConcern", Value: b.store.concern()}}
	err := b.store.admin.RunCommand(mongo.NewSessionContext(counted, b.session), command).Err()
	if err == nil {
		forget(ctx, b.session)
		return bank.Reply{Outcome: history.Committed}
	}
	r := judgeCommit(failed("commit", err), sent.commands, b.store.majority())
	if _, answered := serverCode(err); answered && r.Outcome == history.Failed {
		forget(ctx, b.session)
		b.renew()
		return r
	}
	b.leave(true)
	return r
}

// concern is the write concern as a command takes it.
func (s *settings) concern() bson.D {
	concern := bson.D{{Key: "w", Value: s.writeConcern.W}}
	if j := s.writeConcern.Journal; j != nil {
		concern = append(concern, bson.E{Key: "j", Value: *j})
	}
	return concern
}

// forget ends the transaction on our side alone. AbortTransaction is the
// library's only way to that; given a context that is over it sends nothing.
func forget(ctx context.Context, session *mongo.Session) {
	over, cancel := context.WithCancel(context.WithoutCancel(ctx))
	cancel()
	_ = session.AbortTransaction(over) // it gives no errors that are not about the session's state
}

// abort ends the transaction after a statement has failed. The server has ended
// it already if it says TransientTransactionError. Where nobody answered, the
// server is not asked now, which would only take the client's time, but when
// the next session has found it.
func (b *bankSession) abort(ctx context.Context, r bank.Reply, open bool) {
	_, answered := serverCode(r.Err)
	switch {
	case r.Err != nil && !answered:
		b.leave(open)
		return
	case open && !serverSaid(r.Err, labelTransient) && !sendAbort(ctx, b.session):
		b.leave(true)
		return
	}
	forget(ctx, b.session)
	if r.Err != nil {
		b.renew()
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
func (b *bankSession) leave(open bool) {
	session := b.session
	b.session = nil
	s := b.store
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
// not answer. It changes no outcome: those transfers are Failed, since they
// were never committed, or Unknown, and stay so.
func (s *bankStore) abortAbandoned(ctx context.Context) {
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
